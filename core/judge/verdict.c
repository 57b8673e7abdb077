/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

/* For what may be either kind of link. */
static const char either[] = "host end or switch link";

const char *finding_words (const struct finding *f)
{
    return f->kind == FINDING_SWITCH_LINK && f->nnodes > 0
               ? either
               : finding_kind_name (f->kind);
}

bool finding_is_of_switch (const struct finding *f)
{
    return f->nsw > 0
           && (f->kind == FINDING_SWITCH || f->kind == FINDING_ROUTE);
}

struct verdict *verdict_create (void)
{
    return xcalloc (1, sizeof (struct verdict));
}

static void free_strings (char **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (v[i]);
    free (v);
}

void verdict_drop (struct verdict *v)
{
    struct finding *f = &v->finding[--v->nfindings];

    free (f->suspect);
    free (f->oneway);
    free (f->sw);
    free_strings (f->node, f->nnodes);
    free (f->why);
}

void verdict_destroy (struct verdict *v)
{
    if (v) {
        int saved_errno = errno;

        while (v->nfindings > 0)
            verdict_drop (v);
        free (v->finding);
        free (v->open);
        free_strings (v->limit, v->nlimits);
        free (v);
        errno = saved_errno;
    }
}

void verdict_limit (struct verdict *v, enum verdict_status status,
                    const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    v->limit = xrealloc (v->limit, v->nlimits + 1, sizeof (*v->limit));
    v->limit[v->nlimits] = text_clean (text);
    v->limited |= status >= VERDICT_UNKNOWN;
    if (status > v->status) {
        v->status = status;
        v->reason = v->nlimits;
    }
    v->nlimits++;
}

bool verdict_is_limited (const struct verdict *v)
{
    return v->status == VERDICT_UNKNOWN && v->nlimits > 0
           && (v->nfindings == 0 || v->finding[0].level < VERDICT_UNKNOWN);
}

/* Number of other possible causes. */
size_t finding_others (const struct finding *f)
{
    return finding_is_of_switch (f) ? f->nsw - 1
                                    : f->nsuspects - 1 + f->noneway;
}

static const char loses[] = "loses messages";

static void finding_sentence (const struct finding *f,
                              const struct network *net, char *buf,
                              size_t size)
{
    const struct link_info *link = &net->link[f->suspect[0]];
    bool by_switch = finding_is_of_switch (f);
    const char *name = by_switch ? net->sw[f->sw[0]].name : link->host;
    const char *id = by_switch ? net->sw[f->sw[0]].id : link->id;
    size_t more = finding_others (f);
    char excess[64];
    char others[64] = "";

    if (f->basis == BASIS_TRAFFIC) {
        snprintf (buf, size, "%s", f->why);
        return;
    }
    snprintf (excess, sizeof (excess), "%s", loses);
    if (f->basis != BASIS_LOSS)
        snprintf (excess, sizeof (excess), "%+.0f ns", f->excess_ns);
    if (more > 0)
        snprintf (others, sizeof (others), " or %zu more", more);
    snprintf (buf, size, "%s %s%s%s%s%s %s", finding_words (f),
              name ? name : "", name ? " (" : "", id, name ? ")" : "",
              others, excess);
}

/* Find the longest words that the sentence begins with; return the text after
 * them.
 */
static const char *read_words (struct verdict_phrase *p, const char *s)
{
    size_t len = 0;

    for (enum finding_kind i = 0; i <= FINDING_KINDS; i++) {
        const char *words = i == FINDING_KINDS ? either : finding_kind_name (i);
        size_t n = strlen (words);

        if (n > len && !strncmp (s, words, n) && s[n] == ' ') {
            p->words = words;
            len = n;
        }
    }
    return len > 0 ? s + len + 1 : NULL;
}

/* Parse "NAME (ID)" or "ID"; return the text after it. Names may contain
 * anything.
 */
static const char *read_who (struct verdict_phrase *p, const char *s)
{
    static const char digits[] = "0123456789abcdef/";
    const char *paren = strrchr (s, '(');
    const char *id = paren ? paren + 1 : s;
    size_t len = strspn (id, digits);
    size_t name = paren ? (size_t)(paren - s) : 0;

    if (len == 0 || len >= sizeof (p->id) || name >= sizeof (p->name)
        || (name > 0 && s[name - 1] != ' ') || (paren && id[len] != ')'))
        return NULL;
    memcpy (p->id, id, len);
    if (name > 0)
        memcpy (p->name, s, name - 1);
    return id + len + (paren != NULL);
}

bool verdict_phrase_read (struct verdict_phrase *p, const char *sentence)
{
    const char *s;
    int end = 0;

    *p = (struct verdict_phrase){ .excess_ns = NAN };
    if (!(s = read_words (p, sentence)) || !(s = read_who (p, s)))
        return false;
    if (sscanf (s, " or %10" SCNu64 " more%n", &p->others, &end) == 1)
        s += end;
    end = 0;
    if (*s++ != ' ')
        return false;
    if (!strncmp (s, loses, strlen (loses)))
        s += strlen (loses);
    else if (strchr ("+-", *s)
             && sscanf (s, "%10lf ns%n", &p->excess_ns, &end) == 1 && end > 0
             && isfinite (p->excess_ns))
        s += end;
    else
        return false;
    return !*s || !strncmp (s, ", and ", 6);
}

bool verdict_phrase_is_ambiguous (const struct verdict_phrase *p)
{
    return p->others > 0 || p->words == either;
}

void verdict_sentence (const struct verdict *v, const struct network *net,
                       char *buf, size_t size)
{
    char what[256];

    if (verdict_is_limited (v))
        snprintf (buf, size, "%s", v->limit[v->reason]);
    else if (v->nfindings > 0) {
        finding_sentence (&v->finding[0], net, what, sizeof (what));
        snprintf (buf, size, "%s%s%s", what, v->nfindings > 1 ? ", and " : "",
                  v->nfindings > 1
                      ? COUNTED (v->nfindings - 1, "more finding")
                      : "");
    }
    else if (v->probes == 0)
        snprintf (buf, size, "%s, nothing to measure",
                  COUNTED (v->nodes, "node"));
    else
        snprintf (buf, size,
                  "%s by %s in %s, %s; %.0f %% of the links resolved",
                  COUNTED (v->links, "link"), COUNTED (v->probes, "probe"),
                  COUNTED (v->rounds, "round"), COUNTED (v->nodes, "node"),
                  v->links ? floor (100. * v->separable / v->links) : 100);
    text_clean (buf);
}
