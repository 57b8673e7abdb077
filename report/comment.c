/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments of jobs. */
#include "config.h"
#include "report/comment.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/alloc.h"
#include "util/text.h"

#define MARK "pmm: "

enum { EXCESS_MAX_NS = 1000000000 };

static const char *const kind_names[] = {
    [FINDING_HOST_END] = "host",
    [FINDING_SWITCH_LINK] = "link",
    [FINDING_SWITCH] = "switch",
    [FINDING_ROUTE] = "route",
    [FINDING_NODE] = "node",
};

/* Copy the first len bytes of a name, cut to size; bytes that are not allowed
 * become '_'.
 */
static void set_name (char name[COMMENT_NAME_MAX], const char *s, size_t len)
{
    static const char allowed[]
        = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
          "-_.:/";
    size_t i;

    for (i = 0; i < len && i < COMMENT_NAME_MAX - 1 && s[i]; i++)
        name[i] = strchr (allowed, s[i]) ? s[i] : '_';
    name[i] = '\0';
}

static void set_text (char text[COMMENT_TEXT_MAX], const char *s, size_t len)
{
    snprintf (text, COMMENT_TEXT_MAX, "%.*s", (int)len, s);
    text_clean (text);
    for (char *p = text; *p; p++)
        if (*p == ';' || *p == '|') /* our separator and that of sacct */
            *p = ',';
}

/* True if s begins with a link id; *len is then its length. */
static bool is_link_id (const char *s, size_t *len)
{
    size_t digits = strspn (s, "0123456789abcdef");
    size_t port;

    if (digits != 16 || s[digits] != '/')
        return false;
    port = strspn (s + digits + 1, "0123456789");
    *len = digits + 1 + port;
    return port >= 1 && port <= 3;
}

/*
 * Writing
 */

static void set_port (char name[COMMENT_NAME_MAX], const struct fabric *f,
                      uint32_t port)
{
    char buf[2 * FABRIC_NAME_MAX];

    fabric_port_name (f, port, buf, sizeof (buf));
    set_name (name, buf, strlen (buf));
}

static void set_finding (struct comment *c, const struct finding *x,
                         const struct fabric *f)
{
    const struct fabric_link *link = &f->link[x->suspect[0]];
    const struct network *net = fabric_network (f);
    bool b_is_host = f->node[f->port[link->b].node].type == NODE_CA;

    c->found = true;
    c->kind = x->kind;
    c->excess_ns = x->excess_ns;
    c->others = finding_others (x);
    if (finding_is_of_switch (x)) {
        const struct switch_info *sw = &net->sw[x->sw[0]];
        const char *name = sw->name && *sw->name ? sw->name : sw->id;

        set_name (c->worst, name, strlen (name));
        return;
    }
    set_port (c->worst, f, b_is_host ? link->b : link->a);
    set_port (c->to, f, b_is_host ? link->a : link->b);
    set_name (c->link, link->id, strlen (link->id));
    if ((x->kind == FINDING_HOST_END || x->kind == FINDING_NODE)
        && x->nnodes == 1)
        set_name (c->node, x->node[0], strlen (x->node[0]));
}

void comment_of_audit (struct comment *c, int64_t audit,
                       const struct verdict *v, const struct fabric *f)
{
    *c = (struct comment){
        .source = COMMENT_AUDIT,
        .status = v->status,
        .audit = audit,
        .links = v->links,
        .rounds = v->rounds,
        .excess_ns = NAN,
    };
    if (v->nfindings > 0 && !verdict_is_limited (v))
        set_finding (c, &v->finding[0], f);
}

/* Set link, excess, others and node from the sentence, if it names a link. */
static void look_into_sentence (struct comment *c)
{
    struct verdict_phrase p;
    size_t len;

    if (!verdict_phrase_read (&p, c->text) || !is_link_id (p.id, &len)
        || p.id[len] || fabs (p.excess_ns) > EXCESS_MAX_NS)
        return;
    set_name (c->link, p.id, len);
    c->excess_ns = p.excess_ns;
    if (verdict_phrase_is_ambiguous (&p))
        c->others = p.others > 0 ? p.others : 1;
    else if (!strcmp (p.words, finding_kind_name (FINDING_HOST_END))
             && text_is_hostname (p.name))
        set_name (c->node, p.name, strlen (p.name));
}

void comment_of_check (struct comment *c, enum verdict_status status,
                       const char *sentence)
{
    *c = (struct comment){ .source = COMMENT_CHECK, .status = status,
                           .excess_ns = NAN };
    set_text (c->text, sentence, strlen (sentence));
    look_into_sentence (c);
}

void comment_format (const struct comment *c, char *buf)
{
    const char *status = verdict_status_name (c->status);
    char *end = buf + COMMENT_ENTRY_MAX + 1;
    char *p = buf;

    if (c->source == COMMENT_CHECK) {
        snprintf (buf, COMMENT_ENTRY_MAX + 1, MARK "check %s %s", status,
                  c->text);
        return;
    }
    /* all parts together are shorter than COMMENT_ENTRY_MAX */
    p += snprintf (p, end - p, MARK "audit %" PRId64 " %s links=%" PRIu64
                   " rounds=%" PRIu64, c->audit, status, c->links, c->rounds);
    if (!c->found)
        return;
    p += snprintf (p, end - p, " worst=%s", c->worst);
    if (c->to[0])
        p += snprintf (p, end - p, " to=%s", c->to);
    p += snprintf (p, end - p, " kind=%s", kind_names[c->kind]);
    if (c->link[0])
        p += snprintf (p, end - p, " link=%s", c->link);
    if (c->others > 0)
        p += snprintf (p, end - p, " or=%" PRIu64, c->others);
    if (c->node[0])
        p += snprintf (p, end - p, " node=%s", c->node);
    if (isnan (c->excess_ns))
        snprintf (p, end - p, " loses messages");
    else
        snprintf (p, end - p, " %+.0f ns", c->excess_ns);
}

/*
 * Reading
 */

/* Copy the next word of *s, cut to size, and move *s after it. False at the
 * end.
 */
static bool take_word (const char **s, char *word, size_t size)
{
    size_t len;

    *s += strspn (*s, " ");
    len = strcspn (*s, " ");
    if (len == 0)
        return false;
    snprintf (word, size, "%.*s", (int)(len < size ? len : size), *s);
    *s += len;
    return true;
}

/* Ignore case: a tool that writes with sacctmgr converts the whole field to
 * lower case, with our entries.
 */
static bool take_status (const char **s, enum verdict_status *status)
{
    char word[16];

    if (!take_word (s, word, sizeof (word)))
        return false;
    for (int i = VERDICT_OK; i <= VERDICT_FAIL; i++)
        if (!strcasecmp (word,
                         verdict_status_name ((enum verdict_status)i))) {
            *status = (enum verdict_status)i;
            return true;
        }
    return false;
}

static bool set_kind (struct comment *c, const char *value)
{
    for (size_t i = 0; i < sizeof (kind_names) / sizeof (kind_names[0]); i++)
        if (!strcmp (value, kind_names[i])) {
            c->kind = (enum finding_kind)i;
            return true;
        }
    return false;
}

static bool set_link (struct comment *c, const char *value)
{
    size_t len;

    if (!is_link_id (value, &len) || value[len])
        return false;
    set_name (c->link, value, len);
    return true;
}

static bool set_node (struct comment *c, const char *value)
{
    set_name (c->node, value, strlen (value));
    return text_is_hostname (c->node);
}

static bool set_worst (struct comment *c, const char *value)
{
    c->found = true;
    set_name (c->worst, value, strlen (value));
    return true;
}

static bool set_to (struct comment *c, const char *value)
{
    set_name (c->to, value, strlen (value));
    return true;
}

static bool set_links (struct comment *c, const char *value)
{
    return text_u64 (value, 0, UINT32_MAX, &c->links) == 0;
}

static bool set_rounds (struct comment *c, const char *value)
{
    return text_u64 (value, 0, UINT32_MAX, &c->rounds) == 0;
}

static bool set_others (struct comment *c, const char *value)
{
    return text_u64 (value, 0, UINT32_MAX, &c->others) == 0;
}

/* A word of an audit. Unknown words are from a later version: ignore them. */
static bool set_word (struct comment *c, const char *word)
{
    static const struct {
        const char *key;
        bool (*set) (struct comment *c, const char *value);
    } tab[] = {
        { "links=", set_links },  { "rounds=", set_rounds },
        { "worst=", set_worst },  { "to=", set_to },
        { "kind=", set_kind },    { "link=", set_link },
        { "or=", set_others },    { "node=", set_node },
    };
    double ns;

    if (*word == '+' || *word == '-') {
        if (text_double (word + 1, 0, EXCESS_MAX_NS, &ns) < 0)
            return false;
        c->excess_ns = *word == '-' ? -ns : ns;
        return true;
    }
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (!strncmp (word, tab[i].key, strlen (tab[i].key)))
            return tab[i].set (c, word + strlen (tab[i].key));
    return true;
}

static bool parse_audit (const char *s, struct comment *c)
{
    char word[2 * COMMENT_NAME_MAX];
    uint64_t id;

    *c = (struct comment){ .source = COMMENT_AUDIT, .excess_ns = NAN };
    if (!take_word (&s, word, sizeof (word))
        || text_u64 (word, 1, INT64_MAX, &id) < 0
        || !take_status (&s, &c->status))
        return false;
    c->audit = (int64_t)id;
    while (take_word (&s, word, sizeof (word)))
        if (!set_word (c, word))
            return false;
    return true;
}

static bool parse_check (const char *s, struct comment *c)
{
    enum verdict_status status;

    if (!take_status (&s, &status))
        return false;
    s += strspn (s, " ");
    comment_of_check (c, status, s);
    return true;
}

/* Parse an entry, without its mark. */
static bool parse (const char *s, size_t len, struct comment *c)
{
    char entry[COMMENT_ENTRY_MAX + 1];
    const char *rest = entry;
    char word[16];

    if (len > COMMENT_ENTRY_MAX)
        return false;
    memcpy (entry, s, len);
    entry[len] = '\0';
    text_clean (entry);
    if (!take_word (&rest, word, sizeof (word)))
        return false;
    if (!strcmp (word, "audit"))
        return parse_audit (rest, c);
    return !strcmp (word, "check") && parse_check (rest, c);
}

/* The length of the text at s, up to a separator: ours, or a newline of another
 * tool.
 */
static size_t text_length (const char *s)
{
    const char *p = s + strcspn (s, ";\n");

    while (*p == ';' && strncmp (p, COMMENT_BETWEEN, strlen (COMMENT_BETWEEN)))
        p += 1 + strcspn (p + 1, ";\n");
    return (size_t)(p - s);
}

/* The text after this one of length len and its separator. */
static const char *next_text (const char *s, size_t len)
{
    s += len;
    if (!strncmp (s, COMMENT_BETWEEN, strlen (COMMENT_BETWEEN)))
        return s + strlen (COMMENT_BETWEEN);
    return *s ? s + 1 : s;
}

bool comment_next (const char **field, struct comment *c)
{
    while (**field) {
        const char *s = *field;
        size_t len = text_length (s);
        size_t mark = strlen (MARK);

        *field = next_text (s, len);
        if (len > mark && !memcmp (s, MARK, mark)
            && parse (s + mark, len - mark, c))
            return true;
    }
    return false;
}

char *comment_append (const char *field, const char *entry, size_t max)
{
    size_t len = strlen (entry);
    const char *between = COMMENT_BETWEEN;

    if (!field || !*field)
        field = between = "";
    for (const char *s = field; *s; s = next_text (s, text_length (s)))
        if (text_length (s) == len && !memcmp (s, entry, len)) {
            errno = EEXIST;
            return NULL;
        }
    if (strlen (field) + strlen (between) + len > max) {
        errno = ENOSPC;
        return NULL;
    }
    return xasprintf ("%s%s%s", field, between, entry);
}
