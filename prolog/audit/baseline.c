/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's baseline. */
#include "config.h"
#include "prolog/audit/baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/file.h"

enum {
    AT_ONCE = 64, /* audits that are read to make it */
    SETTLE_WITHIN_S = 30 * 86400,
    NAMED = 5,
};

static char *path_of (const struct site_baseline *site)
{
    return *site->path ? xstrdup (site->path)
                       : xasprintf ("%s.baseline", ledger_path (site->ledger));
}

/* [nlinks] the first audit that counts since a link's baseline was reset
 * (rebase), as baseline_reset takes it; NULL with err.
 */
static int64_t *find_resets (const struct site_baseline *site,
                             struct error *err)
{
    const struct fabric *f = site->fabric;
    struct ledger_rows rows;
    int64_t *before;

    if (ledger_list (site->ledger, LEDGER_REBASES, 0, 0, &rows, err) < 0)
        return NULL;
    before = xcalloc (f->nlinks, sizeof (*before));
    for (size_t i = 0; i < rows.n; i++) {
        uint32_t link = fabric_find_link (f, rows.rebase[i].link);

        if (link != FABRIC_NONE)
            before[link] = rows.rebase[i].after + 1;
    }
    return before;
}

static struct baseline *create_empty_baseline (const struct site_baseline *site,
                                               struct error *err)
{
    struct pathset *ps = fabric_pathset (site->fabric, NULL, 0, err);

    return ps ? baseline_create (ps) : NULL;
}

/* Their merger; both are destroyed. */
static struct baseline *merge_baselines (const struct site_baseline *site,
                                         struct baseline *newer,
                                         struct baseline *older, size_t n,
                                         struct error *err)
{
    if (newer->nrows + older->nrows > 0)
        return baseline_merge (newer, older, n, fabric_resolve,
                               (void *)site->fabric, err);
    /* nothing to name */
    baseline_destroy (newer);
    baseline_destroy (older);
    return create_empty_baseline (site, err);
}

/*
 * From the ledger
 */

/* The audits from `from` on, or nothing. */
static struct baseline *read_audit_baseline (const struct site_baseline *site,
                                             int64_t from, int64_t to,
                                             struct error *err)
{
    struct baseline *b
        = ledger_baseline (site->ledger, site->fabric->hash, from, to,
                           fabric_resolve, (void *)site->fabric, err);

    return b || errno != ENOENT ? b : create_empty_baseline (site, err);
}

/* Whether each link that any audit measured is crossed by enough of these runs.
 */
static int covers_all_links (const struct site_baseline *site,
                             const struct baseline *b, size_t n,
                             struct error *err)
{
    const struct fabric *f = site->fabric;
    struct ledger_rows rows;

    if (ledger_list (site->ledger, LEDGER_NEWEST, 0, 0, &rows, err) < 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++) {
        uint32_t link = fabric_find_link (f, rows.link[i].link);

        if (link != FABRIC_NONE && baseline_runs (b, link) < n)
            return 0;
    }
    return 1;
}

/* The newest audits come first. */
static struct baseline *make_baseline (const struct site_baseline *site,
                                       size_t n, struct error *err)
{
    const char *hash = site->fabric->hash;
    int64_t to = INT64_MAX, from = 0;
    struct baseline *b = create_empty_baseline (site, err);
    int known = b ? 0 : -1;

    while (known == 0
           && (from = ledger_back (site->ledger, hash, to, AT_ONCE, err)) > 0) {
        struct baseline *older = read_audit_baseline (site, from, to, err);

        if (older && to == INT64_MAX)
            b->open = older->open;
        if (older)
            b = merge_baselines (site, b, older, n, err);
        known = older && b ? covers_all_links (site, b, n, err) : -1;
        to = from - 1;
    }
    if (known >= 0 && from >= 0)
        return b;
    baseline_destroy (b);
    return NULL;
}

/*
 * The file
 */

/* Read the file, or of it what is close to a job. NULL, with *odd unless it is
 * missing: it cannot be used.
 */
static struct baseline *
read_site_baseline_file (const struct site_baseline *site, struct pathset *job,
                         size_t most, char *odd)
{
    const struct fabric *f = site->fabric;
    char *path = path_of (site);
    struct baseline *b = NULL;
    struct error err = { .text = "" };
    FILE *fp = file_open_trusted (path, geteuid (), &err);

    if (fp)
        b = job ? baseline_near (fp, path, job, most, fabric_resolve, (void *)f,
                                 &err)
                : baseline_read (fp, path, fabric_network (f), fabric_resolve,
                                 (void *)f, &err);
    else if (errno == ENOENT)
        err.text[0] = '\0';
    snprintf (odd, 256, "%.250s", b ? "" : err.text);
    file_close_input (fp);
    free (path);
    return b;
}

/* Runs of another ledger are of none. Return whether there were any. */
static bool clear_foreign_runs (struct baseline *b, int64_t newest)
{
    bool others = b->nruns > 0 && b->run[0].audit > newest;

    for (size_t i = 0; i < b->nruns && others; i++)
        b->run[i].audit = 0;
    for (size_t i = 0; i < b->nrates && others; i++)
        b->rate[i].audit = 0;
    return others;
}

/* What the file should be. */
static struct baseline *rebuild_baseline (const struct site_baseline *site,
                                          struct error *err)
{
    const char *hash = site->fabric->hash;
    int64_t newest = ledger_back (site->ledger, hash, INT64_MAX, 1, err);
    struct baseline *old, *b;
    char odd[256];
    int64_t from;

    if (newest < 0)
        return NULL;
    old = read_site_baseline_file (site, NULL, 0, odd);
    if (!old || clear_foreign_runs (old, newest) || old->nruns == 0
        || old->run[0].audit == 0) {
        b = make_baseline (site, BASELINE_LAST, err);
    }
    else {
        from = old->run[0].audit + 1;
        if (old->open > 0 && old->open < from)
            from = old->open;
        b = read_audit_baseline (site, from, INT64_MAX, err);
    }
    if (b && old)
        return merge_baselines (site, b, old, BASELINE_LAST, err);
    baseline_destroy (old);
    return b;
}

static struct baseline *without_resets (const struct site_baseline *site,
                                        struct baseline *b, struct error *err)
{
    int64_t *before = b ? find_resets (site, err) : NULL;

    if (before)
        baseline_reset (b, before);
    else {
        baseline_destroy (b);
        b = NULL;
    }
    free (before);
    return b;
}

struct baseline *site_baseline_make (const struct site_baseline *site, size_t n,
                                     struct error *err)
{
    return without_resets (site, make_baseline (site, n, err), err);
}

/* Fail as soon as what is written is not what the file has. */
static ssize_t compare_written (void *was, const char *bytes, size_t n)
{
    char part[BUFSIZ];

    for (size_t at = 0, more; at < n; at += more) {
        more = n - at < sizeof (part) ? n - at : sizeof (part);
        if (fread (part, 1, more, was) != more
            || memcmp (part, bytes + at, more) != 0)
            return 0;
    }
    return (ssize_t)n;
}

/* Whether the file has the same; one that is missing or cannot be trusted has
 * not.
 */
static bool has_same (const char *path, const struct baseline *b)
{
    static const cookie_io_functions_t io = { .write = compare_written };
    FILE *was = file_open_trusted (path, geteuid (), NULL);
    FILE *fp = was ? xcheck (fopencookie (was, "w", io)) : NULL;
    bool same = fp && baseline_write (b, fp, NULL) == 0;

    same = fp && fclose (fp) == 0 && same && fgetc (was) == EOF;
    file_close_input (was);
    return same;
}

int site_baseline_put (const struct baseline *b, const char *path,
                       struct error *err)
{
    struct outfile *out;

    if (has_same (path, b))
        return 0;
    if (!(out = file_create_public (path, err)))
        return -1;
    baseline_write (b, file_stream (out), NULL); /* file_commit checks */
    return file_commit (out, err) < 0 ? -1 : 1;
}

int site_baseline_update (const struct site_baseline *site, struct error *err)
{
    struct baseline *b
        = without_resets (site, rebuild_baseline (site, err), err);
    char *path = path_of (site);
    int rc = b ? 0 : -1;

    if (b && b->nrows > 0)
        rc = site_baseline_put (b, path, err);
    baseline_destroy (b);
    free (path);
    return rc;
}

struct baseline *site_baseline_near (const struct site_baseline *site,
                                     struct pathset *job, size_t most,
                                     char *odd, struct error *err)
{
    struct baseline *b = read_site_baseline_file (site, job, most, odd), *all;

    if (!b && (all = make_baseline (site, BASELINE_LAST, err))) {
        b = all->nrows > 0 ? baseline_part (all, job, most, fabric_resolve,
                                            (void *)site->fabric, err)
                           : create_empty_baseline (site, err);
        baseline_destroy (all);
    }
    return without_resets (site, b, err);
}

struct baseline *site_baseline_read (const struct site_baseline *site,
                                     char *odd, struct error *err)
{
    struct baseline *b = read_site_baseline_file (site, NULL, 0, odd);

    return without_resets (
        site, b ? b : make_baseline (site, BASELINE_LAST, err), err);
}

/*
 * Small changes that stay
 */

static const char *date_text (int64_t time, char text[32])
{
    time_t t = (time_t)time;
    struct tm tm;

    if (!gmtime_r (&t, &tm) || strftime (text, 32, "%Y-%m-%d", &tm) == 0)
        *text = '\0';
    return text;
}

static int accept_baseline_change (struct ledger *ledger, int64_t now,
                                   const struct ledger_link *change,
                                   struct error *err)
{
    char date[32], why[160];

    snprintf (why, sizeof (why),
              "%+.0f ns since %s, as %" PRId64 " audits "
              "found it: learned",
              change->excess_ns, date_text (change->since, date),
              change->audits);
    return ledger_rebase (ledger, now, change->link, "pmm", why, err);
}

/* "A -- B, C -- D, and 3 more"; the caller frees it. */
static char *names_of (const struct fabric *f, const struct ledger_rows *rows)
{
    char *all = NULL;

    for (size_t i = 0; i < rows->n && i < NAMED; i++) {
        const char *id = rows->link[i].link;
        uint32_t link = fabric_find_link (f, id);

        xappend (&all, "%s%s", i > 0 ? ", " : "",
                 link == FABRIC_NONE ? id : PORT_NAME (f, f->link[link].a));
        if (link != FABRIC_NONE)
            xappend (&all, " -- %s", PORT_NAME (f, f->link[link].b));
    }
    if (rows->n > NAMED)
        xappend (&all, ", and %zu more", rows->n - NAMED);
    return all;
}

static char *sentence (const struct fabric *f, const struct ledger_rows *rows)
{
    size_t n = rows->n;
    double least = INFINITY, most = 0;
    int64_t since = INT64_MAX;
    char date[32], *names, *text;

    for (size_t i = 0; i < n; i++) {
        const struct ledger_link *v = &rows->link[i];

        least = fmin (least, v->excess_ns);
        most = fmax (most, v->excess_ns);
        since = v->since < since ? v->since : since;
    }
    names = names_of (f, rows);
    date_text (since, date);
    text = n == 1 ? xasprintf ("a cable got slower by %.0f ns on %s and stayed "
                               "so: learned: %s", most, date, names)
                  : xasprintf ("%zu cables got slower by %.0f to %.0f ns, from "
                               "%s on, and stayed so: learned: %s", n, least,
                               most, date, names);
    free (names);
    return text;
}

int site_baseline_settle (const struct site_baseline *site, int64_t now,
                          double fail_ns, char **said, struct error *err)
{
    struct ledger_rows rows;

    if (ledger_list (site->ledger, LEDGER_SETTLED, now - SETTLE_WITHIN_S,
                     (int64_t)fail_ns, &rows, err) < 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++)
        if (accept_baseline_change (site->ledger, now, &rows.link[i], err) < 0)
            return -1;
    if (rows.n > 0)
        *said = sentence (site->fabric, &rows);
    return (int)rows.n;
}
