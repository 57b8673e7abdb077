/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments of jobs. */
#include "config.h"
#include "report/comment.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/alloc.h"
#include "util/text.h"

#define DELAYS "delays"
#define MARK "pmm: "

enum { EXCESS_MAX_NS = 1000000000 };

static const char *const kind_names[] = {
    [FINDING_HOST_END] = "host",
    [FINDING_SWITCH_LINK] = "link",
    [FINDING_SWITCH] = "switch",
    [FINDING_ROUTE] = "route",
    [FINDING_NODE] = "node",
};

enum { KINDS = sizeof (kind_names) / sizeof (kind_names[0]) };

/* The words of an audit's entry, in their order; the excess is the last. */
static const struct comment_word {
    const char *key;
    enum { COUNT, KIND, NAME, LINK_ID, HOST } type;
    size_t offset;
} words[] = {
    { "links=", COUNT, offsetof (struct comment, links) },
    { "rounds=", COUNT, offsetof (struct comment, rounds) },
    { "worst=", NAME, offsetof (struct comment, worst) },
    { "to=", NAME, offsetof (struct comment, to) },
    { "kind=", KIND, offsetof (struct comment, kind) },
    { "link=", LINK_ID, offsetof (struct comment, link) },
    { "or=", COUNT, offsetof (struct comment, others) },
    { "node=", HOST, offsetof (struct comment, node) },
};

enum { WORDS = sizeof (words) / sizeof (words[0]), WORST = 2 };

/* Copy a name, cut to size; bytes that are not allowed become '_'. */
static void set_name (char name[COMMENT_NAME_MAX], const char *s)
{
    static const char allowed[]
        = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
          "-_.:/";
    size_t i;

    for (i = 0; i < COMMENT_NAME_MAX - 1 && s[i]; i++)
        name[i] = strchr (allowed, s[i]) ? s[i] : '_';
    name[i] = '\0';
}

static bool is_link_id (const char *s)
{
    size_t digits = strspn (s, "0123456789abcdef");
    size_t port = digits == 16 && s[16] == '/'
                      ? strspn (s + 17, "0123456789")
                      : 0;

    return port >= 1 && port <= 3 && !s[17 + port];
}

/*
 * Writing
 */

void comment_of_audit (struct comment *c, int64_t audit,
                       const struct verdict *v, const struct fabric *f)
{
    const struct finding *x = v->finding;
    const struct fabric_link *link;
    bool b_is_host;

    *c = (struct comment){
        .source = COMMENT_AUDIT,
        .status = v->status,
        .audit = audit,
        .links = v->links,
        .rounds = v->rounds,
        .excess_ns = NAN,
    };
    if (v->nfindings == 0 || verdict_is_limited (v))
        return;
    c->found = true;
    c->kind = x->kind;
    c->excess_ns = x->excess_ns;
    c->delays = x->basis == BASIS_SLOW;
    c->others = finding_others (x);
    if (finding_is_of_switch (x)) {
        const struct switch_info *sw = &fabric_network (f)->sw[x->sw[0]];

        set_name (c->worst, sw->name && *sw->name ? sw->name : sw->id);
        return;
    }
    link = &f->link[x->suspect[0]];
    b_is_host = f->node[f->port[link->b].node].type == NODE_CA;
    set_name (c->worst, PORT_NAME (f, b_is_host ? link->b : link->a));
    set_name (c->to, PORT_NAME (f, b_is_host ? link->a : link->b));
    set_name (c->link, link->id);
    if ((x->kind == FINDING_HOST_END || x->kind == FINDING_NODE)
        && x->nnodes == 1)
        set_name (c->node, x->node[0]);
}

void comment_of_check (struct comment *c, enum verdict_status status,
                       const char *sentence)
{
    struct verdict_phrase p;

    *c = (struct comment){ .source = COMMENT_CHECK, .status = status,
                           .excess_ns = NAN };
    snprintf (c->text, sizeof (c->text), "%s", sentence);
    text_clean (c->text);
    for (char *s = c->text; *s; s++)
        if (*s == ';' || *s == '|') /* our separator and that of sacct */
            *s = ',';
    if (!verdict_phrase_read (&p, c->text) || !is_link_id (p.id)
        || fabs (p.excess_ns) > EXCESS_MAX_NS)
        return;
    set_name (c->link, p.id);
    c->excess_ns = p.excess_ns;
    if (verdict_phrase_is_ambiguous (&p))
        c->others = p.others > 0 ? p.others : 1;
    else if (!strcmp (p.words, finding_kind_name (FINDING_HOST_END))
             && text_is_hostname (p.name))
        set_name (c->node, p.name);
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
    p += snprintf (p, end - p, MARK "audit %" PRId64 " %s", c->audit, status);
    for (size_t i = 0; i < (c->found ? WORDS : WORST); i++) {
        const char *at = (const char *)c + words[i].offset;
        uint64_t count = words[i].type == COUNT ? *(const uint64_t *)at : 0;

        if (words[i].type == KIND)
            p += snprintf (p, end - p, " %s%s", words[i].key,
                           kind_names[c->kind]);
        else if (words[i].type == COUNT && (count > 0 || i < WORST))
            p += snprintf (p, end - p, " %s%" PRIu64, words[i].key, count);
        else if (words[i].type != COUNT && (*at || i == WORST))
            p += snprintf (p, end - p, " %s%s", words[i].key, at);
    }
    if (c->found && isnan (c->excess_ns))
        snprintf (p, end - p, " %s messages", c->delays ? DELAYS : "loses");
    else if (c->found)
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

/* A word of an audit. Unknown words are from a later version: ignore them. */
static bool set_word (struct comment *c, const char *word)
{
    size_t i = 0, k = 0;
    const char *value;
    char *to;
    double ns;

    c->delays |= !strcasecmp (word, DELAYS);
    if (*word == '+' || *word == '-') {
        if (text_double (word + 1, 0, EXCESS_MAX_NS, &ns) < 0)
            return false;
        c->excess_ns = *word == '-' ? -ns : ns;
        return true;
    }
    while (i < WORDS && strncmp (word, words[i].key, strlen (words[i].key)))
        i++;
    if (i == WORDS)
        return true;
    value = word + strlen (words[i].key);
    to = (char *)c + words[i].offset;
    c->found = c->found || i == WORST;
    switch (words[i].type) {
    case COUNT:
        return text_u64 (value, 0, UINT32_MAX, (uint64_t *)to) == 0;
    case KIND:
        while (k < KINDS && strcmp (value, kind_names[k]))
            k++;
        c->kind = (enum finding_kind)(k < KINDS ? k : 0);
        return k < KINDS;
    case LINK_ID:
        if (!is_link_id (value))
            return false;
        break;
    default:
        break;
    }
    set_name (to, value);
    return words[i].type != HOST || text_is_hostname (to);
}

/* Parse an entry, without its mark. */
static bool parse (const char *s, size_t len, struct comment *c)
{
    char entry[COMMENT_ENTRY_MAX + 1];
    char word[2 * COMMENT_NAME_MAX] = "";
    const char *rest = entry;
    enum verdict_status status;
    uint64_t id;

    if (len > COMMENT_ENTRY_MAX)
        return false;
    memcpy (entry, s, len);
    entry[len] = '\0';
    text_clean (entry);
    if (!take_word (&rest, word, sizeof (word)))
        return false;
    if (!strcmp (word, "check") && take_status (&rest, &status)) {
        comment_of_check (c, status, rest + strspn (rest, " "));
        return true;
    }
    *c = (struct comment){ .source = COMMENT_AUDIT, .excess_ns = NAN };
    if (strcmp (word, "audit") || !take_word (&rest, word, sizeof (word))
        || text_u64 (word, 1, INT64_MAX, &id) < 0
        || !take_status (&rest, &c->status))
        return false;
    c->audit = (int64_t)id;
    while (take_word (&rest, word, sizeof (word)))
        if (!set_word (c, word))
            return false;
    return true;
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
