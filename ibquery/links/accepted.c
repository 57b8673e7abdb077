/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/accepted.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/lines.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/text.h"

#define RAILS "rails" /* what is accepted of a host */

/*
 * The file
 */

static int parse_accepted_port (struct words *w, char port[24],
                                struct error *err)
{
    unsigned int num = 0;
    uint64_t guid = 0;

    if (words_port (w, &guid, &num, err) < 0)
        return -1;
    snprintf (port, 24, "%016" PRIx64 "/%u", guid, num);
    return 0;
}

static int parse_accepted_word (struct words *w, const char *name, char *word,
                                size_t size, struct error *err)
{
    const char *next = words_next (w);

    if (!*next || strlen (next) >= size)
        return error_input (err, "\"%.60s\" is not a %s", next, name);
    strcpy (word, next);
    return 0;
}

/* One word; words_time takes all of them. */
static int take_time (struct words *w, int64_t *when, struct error *err)
{
    struct words word = { .next = words_next (w) };

    return words_time (&word, when, err);
}

/* What both lines end with. */
static int take_entry (struct accepted *a, struct words *w,
                       struct accepted_entry *e, struct error *err)
{
    if (a->n == ACCEPTED_MAX)
        return error_input (err, "more than %d lines", ACCEPTED_MAX);
    if (parse_accepted_word (w, "value", e->value, sizeof (e->value), err) < 0
        || take_time (w, &e->time, err) < 0
        || parse_accepted_word (w, "name", e->who, sizeof (e->who), err) < 0)
        return -1;
    snprintf (e->why, sizeof (e->why), "%s", words_rest (w));
    a->v = xgrow (a->v, a->n, sizeof (*a->v));
    a->v[a->n++] = *e;
    return 0;
}

static int read_accept (void *arg, struct words *w, struct error *err)
{
    struct accepted_entry e = { .time = 0 };

    if (parse_accepted_port (w, e.port[0], err) < 0
        || parse_accepted_port (w, e.port[1], err) < 0
        || parse_accepted_word (w, "sign", e.what, sizeof (e.what), err) < 0)
        return -1;
    return take_entry (arg, w, &e, err);
}

static int read_rails (void *arg, struct words *w, struct error *err)
{
    struct accepted_entry e = { .what = RAILS };

    if (parse_accepted_word (w, "host", e.host, sizeof (e.host), err) < 0)
        return -1;
    return take_entry (arg, w, &e, err);
}

static int finish_accepted (void *arg, struct error *err)
{
    (void)arg;
    (void)err;
    return 0;
}

static const struct lines_keyword keywords[] = {
    { "generator", 0, true, false, lines_ignore },
    { "accept", 0, false, false, read_accept },
    { RAILS, 0, false, false, read_rails },
    { 0 },
};

static const struct lines_format format = {
    .magic = "pmm-accepted", .what = "list of accepted findings",
    .keyword = keywords,
};

int accepted_read (struct accepted *a, FILE *fp, const char *name,
                   struct error *err)
{
    *a = (struct accepted){ 0 };
    return lines_read (fp, name, &format, finish_accepted, a, err);
}

int accepted_load (struct accepted *a, const char *path, struct error *err)
{
    FILE *fp;
    int rc;

    *a = (struct accepted){ 0 };
    if (!path || (access (path, F_OK) < 0 && errno == ENOENT))
        return 0;
    if (!(fp = file_open_input (path, err)))
        return -1;
    rc = accepted_read (a, fp, path, err);
    file_close_input (fp);
    return rc;
}

int accepted_write (const struct accepted *a, FILE *fp, struct error *err)
{
    struct lines_out w;
    char when[LINES_TIME];

    lines_begin (&w, fp, &format);
    for (size_t i = 0; i < a->n; i++) {
        const struct accepted_entry *e = &a->v[i];

        if (*e->host)
            lines_put (&w, RAILS " %s %s %s %s%s%s", e->host, e->value,
                       lines_format_time (e->time, when), e->who,
                       *e->why ? " " : "", e->why);
        else
            lines_put (&w, "accept %s %s %s %s %s %s%s%s", e->port[0],
                       e->port[1], e->what, e->value,
                       lines_format_time (e->time, when), e->who,
                       *e->why ? " " : "", e->why);
    }
    return lines_end (&w, err);
}

int accepted_save (const struct accepted *a, const char *path,
                   struct error *err)
{
    struct outfile *out = file_create_public (path, err);

    return out ? file_finish (out, accepted_write (a, file_stream (out), err),
                              err)
               : -1;
}

void accepted_clear (struct accepted *a)
{
    free (a->v);
    *a = (struct accepted){ 0 };
}

char *accepted_path (const char *snapshots)
{
    char path[TEXT_PATH] = "";

    text_next (&snapshots, path);
    return strcmp (path, "-") == 0 ? NULL : xasprintf ("%s.accepted", path);
}

/*
 * Findings
 */

/* A finding as an entry, and as a number if it is a counter's, else NAN. */
static struct accepted_entry entry_of (const struct link_check *c,
                                       const struct fabric *f,
                                       const struct link_finding *x,
                                       double *number)
{
    const struct fabric_link *l = &f->link[x->link];
    bool counts = x->port != FABRIC_NONE;
    const uint32_t port[] = { counts ? x->port : l->a,
                              counts && x->port == l->b ? l->a : l->b };
    const struct rates rate = fabric_rate (l);
    struct accepted_entry e = { .time = 0 };

    for (int i = 0; i < 2; i++) {
        const struct fabric_port *p = &f->port[port[i]];

        snprintf (e.port[i], sizeof (e.port[i]), "%016" PRIx64 "/%u",
                  f->node[p->node].guid, p->num);
    }
    snprintf (e.what, sizeof (e.what), "%s",
              counts ? counter_name (x->counter) : sign_name (x->sign));
    *number = !counts                      ? NAN
              : x->counter < COUNTERS_COUNTS ? x->growth.count / c->hours
                                             : x->growth.count
                                                   * COUNTER_BER_UNIT;
    if (counts)
        snprintf (e.value, sizeof (e.value), "%.6g", *number);
    else
        rates_format (&rate, e.value);
    return e;
}

static bool same_subject (const struct accepted_entry *a,
                          const struct accepted_entry *b)
{
    return strcmp (a->host, b->host) == 0
           && strcmp (a->port[0], b->port[0]) == 0
           && strcmp (a->port[1], b->port[1]) == 0
           && strcmp (a->what, b->what) == 0;
}

static bool is_finding (const struct accepted_entry *e,
                        const struct accepted_entry *found, double number)
{
    double limit;

    if (!same_subject (e, found))
        return false;
    if (strcmp (e->value, found->value) == 0)
        return true;
    return !isnan (number) && text_double (e->value, 0, HUGE_VAL, &limit) == 0
           && number <= limit;
}

static const struct accepted_entry *find_accepted (const struct accepted *a,
                                                   const struct link_check *c,
                                                   const struct fabric *f,
                                                   const struct link_finding *x)
{
    double number;
    const struct accepted_entry found = entry_of (c, f, x, &number);

    for (size_t i = 0; i < a->n; i++)
        if (is_finding (&a->v[i], &found, number))
            return &a->v[i];
    return NULL;
}

/* Move what is accepted from the list to the notes. */
static void take_notes (const struct accepted *a, struct link_check *c,
                        const struct fabric *f, struct link_finding *list,
                        size_t *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        const struct accepted_entry *e = find_accepted (a, c, f, &list[i]);

        if (e)
            check_note_accepted (c, f, &list[i], e->who, e->time, e->why);
        else
            list[kept++] = list[i];
    }
    *n = kept;
}

static struct accepted_entry entry_of_rails (const struct fabric *f,
                                             const struct rails_fewer *x)
{
    struct accepted_entry e = { .what = RAILS };

    snprintf (e.host, sizeof (e.host), "%s", f->host[x->host].name);
    snprintf (e.value, sizeof (e.value), "%zu/%zu", x->has, x->usual);
    return e;
}

/* Whether an entry is of the rails that a host lacks: the host, else
 * FABRIC_NONE.
 */
static uint32_t whose_rails (const struct accepted_entry *e,
                             const struct link_check *c,
                             const struct fabric *f)
{
    for (size_t i = 0; i < c->nfewer; i++) {
        const struct accepted_entry found = entry_of_rails (f, &c->fewer[i]);

        if (same_subject (e, &found) && !strcmp (e->value, found.value))
            return c->fewer[i].host;
    }
    return FABRIC_NONE;
}

void accepted_apply (const struct accepted *a, struct link_check *c,
                     const struct fabric *f)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct accepted_entry *e = &a->v[i];
        uint32_t host = *e->host ? whose_rails (e, c, f) : FABRIC_NONE;

        if (host != FABRIC_NONE)
            check_accept_rails (c, f, host, e->who, e->time, e->why);
    }
    if (a->n == 0)
        return;
    take_notes (a, c, f, c->finding, &c->nfindings);
    take_notes (a, c, f, c->doubt, &c->ndoubts);
}

size_t accepted_fewer (const struct fabric *f, const char *snapshots,
                       struct rails_fewer **list)
{
    struct link_check *c = check_create ();
    char *path = accepted_path (snapshots);
    struct accepted a;
    struct error err;
    size_t n;

    c->nfewer = fewer_find (f, c->pool, &c->fewer);
    if (accepted_load (&a, path, &err) == 0)
        accepted_apply (&a, c, f);
    accepted_clear (&a);
    free (path);
    n = c->nfewer;
    *list = xarray (n, sizeof (**list));
    for (size_t i = 0; i < n; i++)
        (*list)[i] = c->fewer[i];
    check_destroy (c);
    return n;
}

/* Add an entry in place of an earlier one. */
static void put_accepted (struct accepted *a, const struct accepted_entry *e)
{
    size_t i = 0;

    while (i < a->n && !same_subject (&a->v[i], e))
        i++;
    if (i == a->n)
        a->v = xgrow (a->v, a->n++, sizeof (*a->v));
    a->v[i] = *e;
}

/* Add it as accepted by whom and when `by` says. */
static void put_by (struct accepted *a, struct accepted_entry *e,
                    const struct accepted_entry *by)
{
    e->time = by->time;
    strcpy (e->who, by->who);
    strcpy (e->why, by->why);
    put_accepted (a, e);
}

/* Add the findings of a link in a list. Return how many. */
static size_t add_list (struct accepted *a, const struct link_check *c,
                        const struct fabric *f, uint32_t link,
                        const struct link_finding *list, size_t n,
                        const struct accepted_entry *by)
{
    size_t added = 0;

    for (size_t i = 0; i < n; i++) {
        struct accepted_entry e;
        double number;

        if (list[i].link != link)
            continue;
        e = entry_of (c, f, &list[i], &number);
        put_by (a, &e, by);
        added++;
    }
    return added;
}

static struct accepted_entry accepted_by (int64_t now, const char *who,
                                          const char *why)
{
    struct accepted_entry by = { .time = now };

    snprintf (by.who, sizeof (by.who), "%s", who);
    snprintf (by.why, sizeof (by.why), "%s", why ? why : "");
    text_clean (by.who);
    text_clean (by.why);
    return by;
}

size_t accepted_add_rails (struct accepted *a, const struct link_check *c,
                           const struct fabric *f, uint32_t host, int64_t now,
                           const char *who, const char *why)
{
    const struct accepted_entry by = accepted_by (now, who, why);
    size_t i = 0;

    while (i < c->nfewer && c->fewer[i].host != host)
        i++;
    if (i < c->nfewer) {
        struct accepted_entry e = entry_of_rails (f, &c->fewer[i]);

        put_by (a, &e, &by);
    }
    return i < c->nfewer;
}

size_t accepted_add (struct accepted *a, const struct link_check *c,
                     const struct fabric *f, uint32_t link, int64_t now,
                     const char *who, const char *why)
{
    const struct accepted_entry by = accepted_by (now, who, why);

    return add_list (a, c, f, link, c->finding, c->nfindings, &by)
           + add_list (a, c, f, link, c->doubt, c->ndoubts, &by);
}

size_t accepted_remove (struct accepted *a, const char *name)
{
    size_t kept = 0, all = a->n;

    for (size_t i = 0; i < all; i++)
        if (strcmp (a->v[i].port[0], name) != 0
            && strcmp (a->v[i].port[1], name) != 0
            && strcmp (a->v[i].host, name) != 0)
            a->v[kept++] = a->v[i];
    a->n = kept;
    return all - kept;
}
