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

#include "report/words.h"
#include "util/alloc.h"
#include "util/text.h"

#define MARK "pmm: "

enum { EXCESS_MAX_NS = 1000000000, GBPS_MAX = 1000000 };

static const char *const kind_names[] = {
    [FINDING_HOST_END] = "host",
    [FINDING_SWITCH_LINK] = "link",
    [FINDING_SWITCH] = "switch",
    [FINDING_ROUTE] = "route",
    [FINDING_NODE] = "node",
};

enum { KINDS = sizeof (kind_names) / sizeof (kind_names[0]) };
_Static_assert (KINDS == (int)FINDING_KINDS, "each kind has a name");

/* The facts of an entry, in their order. */
static const struct comment_fact {
    const char *key;
    enum { COUNT, KIND, NAME, LINK_ID, HOST, EXCESS, RATE } type;
    size_t offset;
} facts[] = {
    { "links=", COUNT, offsetof (struct comment, links) },
    { "rounds=", COUNT, offsetof (struct comment, rounds) },
    { "worst=", NAME, offsetof (struct comment, worst) },
    { "to=", NAME, offsetof (struct comment, to) },
    { "kind=", KIND, offsetof (struct comment, kind) },
    { "link=", LINK_ID, offsetof (struct comment, link) },
    { "or=", COUNT, offsetof (struct comment, others) },
    { "node=", HOST, offsetof (struct comment, node) },
    { "excess=", EXCESS, offsetof (struct comment, excess_ns) },
    { "rate=", RATE, offsetof (struct comment, rate_bits) },
};

enum { FACTS = sizeof (facts) / sizeof (facts[0]) };

/* without a finding */
#define NUMBERS_NONE \
    .excess_ns = NAN, .rate_bits = NAN, .rate_expected_bits = NAN

static const char loses[] = "loses", delays[] = "delays";

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

/* What separates texts of a field, and fields of sacct, becomes a comma. */
static void set_text (struct comment *c, const char *text)
{
    snprintf (c->text, sizeof (c->text), "%s", text);
    for (char *s = text_clean (c->text); *s; s++)
        if (*s == ';' || *s == '|')
            *s = ',';
}

static void set_finding (struct comment *c, const struct finding *x,
                         const struct fabric *f)
{
    const struct fabric_link *link;
    bool b_is_host;

    if (finding_is_at_once (x)) /* no link in particular */
        return;
    c->found = true;
    c->kind = x->kind;
    c->excess_ns = x->excess_ns;
    c->loses = x->basis == BASIS_LOSS;
    c->delays = x->basis == BASIS_SLOW;
    if (x->basis == BASIS_RATE)
        c->excess_ns = NAN;
    if (finding_has_rate (x)) {
        c->rate_bits = x->rate_bits;
        c->rate_expected_bits = x->rate_expected_bits;
    }
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

void comment_of_audit (struct comment *c, int64_t audit,
                       const struct verdict *v, const struct fabric *f)
{
    bool found = v->nfindings > 0 && !verdict_is_limited (v);
    char *says = found ? words_sentence (v, f) : NULL;
    char *todo = found ? words_do (v->finding, f, WORDS_JOB) : NULL;
    char *text = found ? xasprintf ("%s: %s", says, todo) : NULL;

    *c = (struct comment){
        .source = COMMENT_AUDIT,
        .status = v->status,
        .audit = audit,
        .links = v->links,
        .rounds = v->rounds,
        NUMBERS_NONE,
    };
    if (found) {
        set_text (c, text);
        set_finding (c, v->finding, f);
    }
    free (says);
    free (todo);
    free (text);
}

/* Append the facts to a text of at most size bytes, its NUL included, cutting
 * what is too long of the text, never of them.
 */
static void add_facts (const struct comment *c, char *buf, size_t size)
{
    char list[COMMENT_ENTRY_MAX + 1] = "", *p = list;
    char *end = list + sizeof (list);
    bool audit = c->source == COMMENT_AUDIT;
    size_t used = strlen (buf), room;

    /* all of them together are shorter than COMMENT_ENTRY_MAX */
    for (size_t i = 0; i < FACTS; i++) {
        const char *key = facts[i].key, *between = p > list ? " " : "";
        const char *at = (const char *)c + facts[i].offset;

        if (facts[i].type == COUNT) {
            uint64_t n = *(const uint64_t *)at;

            if (n > 0 || (audit && at != (const char *)&c->others))
                p += snprintf (p, end - p, "%s%s%" PRIu64, between, key, n);
        }
        else if (!c->found)
            continue;
        else if (facts[i].type == KIND)
            p += snprintf (p, end - p, "%s%s%s", between, key,
                           kind_names[c->kind]);
        else if (facts[i].type == RATE) {
            if (c->rate_expected_bits > 0)
                p += snprintf (p, end - p, "%s%s%.4g/%.4g", between, key,
                               c->rate_bits / 1e9, c->rate_expected_bits / 1e9);
        }
        else if (facts[i].type != EXCESS && *at
                 && (audit || facts[i].type != NAME))
            p += snprintf (p, end - p, "%s%s%s", between, key, at);
        else if (facts[i].type == EXCESS && (c->loses || c->delays))
            p += snprintf (p, end - p, "%s%s%s", between, key,
                           c->delays ? delays : loses);
        else if (facts[i].type == EXCESS && !isnan (c->excess_ns))
            p += snprintf (p, end - p, "%s%s%+.0f", between, key,
                           c->excess_ns);
    }
    room = size - strlen (list) - sizeof (" []");
    if (p > list)
        snprintf (buf + (used < room ? used : room),
                  size - (used < room ? used : room), " [%s]", list);
}

void comment_facts (const struct verdict *v, const struct fabric *f, char *buf,
                    size_t size)
{
    struct comment c = { .source = COMMENT_CHECK, NUMBERS_NONE };

    if (v->nfindings > 0 && !verdict_is_limited (v)) {
        set_finding (&c, v->finding, f);
        add_facts (&c, buf, size);
    }
}

void comment_format (const struct comment *c, char *buf)
{
    const char *status = verdict_status_name (c->status);
    const char *between = *c->text ? " " : "";

    if (c->source == COMMENT_CHECK) {
        snprintf (buf, COMMENT_ENTRY_MAX + 1, MARK "check %s%s%s", status,
                  between, c->text);
        return;
    }
    snprintf (buf, COMMENT_ENTRY_MAX + 1, MARK "audit %" PRId64 " %s%s%s",
              c->audit, status, between, c->text);
    add_facts (c, buf, COMMENT_ENTRY_MAX + 1);
}

/*
 * Reading
 */

/* Copy the next word of *s, cut to size, and move *s after it. False at the
 * end.
 */
static bool next_comment_word (const char **s, char *word, size_t size)
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
static bool parse_comment_status (const char **s, enum verdict_status *status)
{
    char word[16];

    if (!next_comment_word (s, word, sizeof (word)))
        return false;
    for (int i = VERDICT_OK; i <= VERDICT_FAIL; i++)
        if (!strcasecmp (word,
                         verdict_status_name ((enum verdict_status)i))) {
            *status = (enum verdict_status)i;
            return true;
        }
    return false;
}

/* "98.3/197" */
static bool parse_comment_rate (struct comment *c, const char *value)
{
    double bits, expected;
    int end = 0;

    if (sscanf (value, "%lf/%lf%n", &bits, &expected, &end) != 2 || value[end]
        || !(bits >= 0 && bits <= GBPS_MAX)
        || !(expected >= 0 && expected <= GBPS_MAX))
        return false;
    c->rate_bits = bits * 1e9;
    c->rate_expected_bits = expected * 1e9;
    return true;
}

/* A fact. Unknown ones are from a later version: ignore them. */
static bool set_fact (struct comment *c, const char *word)
{
    size_t i = 0, k = 0;
    const char *value;
    char *to;

    while (i < FACTS && strncmp (word, facts[i].key, strlen (facts[i].key)))
        i++;
    if (i == FACTS)
        return true;
    value = word + strlen (facts[i].key);
    to = (char *)c + facts[i].offset;
    switch (facts[i].type) {
    case COUNT:
        return text_u64 (value, 0, UINT32_MAX, (uint64_t *)to) == 0;
    case KIND:
        while (k < KINDS && strcmp (value, kind_names[k]))
            k++;
        c->kind = (enum finding_kind)(k < KINDS ? k : 0);
        return k < KINDS;
    case EXCESS:
        c->loses = !strcmp (value, loses);
        c->delays = !strcmp (value, delays);
        return c->loses || c->delays
               || text_double (value + (*value == '+'), -EXCESS_MAX_NS,
                               EXCESS_MAX_NS, &c->excess_ns)
                      == 0;
    case RATE:
        return parse_comment_rate (c, value);
    case LINK_ID:
        if (!is_link_id (value))
            return false;
        break;
    default:
        break;
    }
    set_name (to, value);
    c->found |= to == c->worst;
    return facts[i].type != HOST || text_is_hostname (to);
}

/* Where the facts of a text begin, with the space before them; its length: it
 * has none.
 */
static size_t facts_at (const char *text)
{
    const char *at = strrchr (text, '[');
    size_t len = strlen (text);

    if (!at || text[len - 1] != ']')
        return len;
    return (size_t)(at - text) - (at > text && at[-1] == ' ');
}

/* Take the facts at the end of a text. False if they are damaged. */
static bool take_facts (struct comment *c, const char *text)
{
    char list[COMMENT_ENTRY_MAX + 1], word[2 * COMMENT_NAME_MAX];
    const char *rest = text + facts_at (text);

    snprintf (list, sizeof (list), "%s", rest + strspn (rest, " ["));
    list[strcspn (list, "]")] = '\0';
    for (rest = list; next_comment_word (&rest, word, sizeof (word));)
        if (!set_fact (c, word))
            return false;
    return true;
}

void comment_of_check (struct comment *c, enum verdict_status status,
                       const char *sentence)
{
    const struct comment none
        = { .source = COMMENT_CHECK, .status = status, NUMBERS_NONE };

    *c = none;
    if (!take_facts (c, sentence))
        *c = none;
    set_text (c, sentence);
}

/* Parse an entry, without its mark. */
static bool parse_comment (const char *s, size_t len, struct comment *c)
{
    char entry[COMMENT_ENTRY_MAX + 1];
    char word[COMMENT_NAME_MAX] = "";
    const char *rest = entry;
    enum verdict_status status;
    bool damaged;
    uint64_t id;
    size_t at;

    if (len > COMMENT_ENTRY_MAX)
        return false;
    memcpy (entry, s, len);
    entry[len] = '\0';
    text_clean (entry);
    if (!next_comment_word (&rest, word, sizeof (word)))
        return false;
    if (!strcmp (word, "check") && parse_comment_status (&rest, &status)) {
        comment_of_check (c, status, rest + strspn (rest, " "));
        return true;
    }
    *c = (struct comment){ .source = COMMENT_AUDIT, NUMBERS_NONE };
    if (strcmp (word, "audit")
        || !next_comment_word (&rest, word, sizeof (word))
        || text_u64 (word, 1, INT64_MAX, &id) < 0
        || !parse_comment_status (&rest, &c->status))
        return false;
    c->audit = (int64_t)id;
    at = facts_at (rest);
    damaged = !take_facts (c, rest);
    entry[(size_t)(rest - entry) + at] = '\0';
    set_text (c, rest + strspn (rest, " "));
    return !damaged;
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
    while (*field && **field) {
        const char *s = *field;
        size_t len = text_length (s);
        size_t mark = strlen (MARK);

        *field = next_text (s, len);
        if (len > mark && !memcmp (s, MARK, mark)
            && parse_comment (s + mark, len - mark, c))
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
