/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of audits, in the directory Reports: audit-ID.html, which is never
 * written again, and index.html.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/audit/parts.h"
#include "prolog/policy/policy.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/sort.h"

enum {
    INDEX_AUDITS = 500, /* the newest of the ledger: more than these have ... */
    ACTIONS = 1000,     /* the newest that tell which nodes are drained */
    FILES_MAX = 100000, /* ... pages, but are not in the index */
};

enum { NAME_BYTES = 40 };

static const char *name_page (char name[NAME_BYTES], uint64_t audit)
{
    snprintf (name, NAME_BYTES, "audit-%" PRIu64 ".html", audit);
    return name;
}

/* The audit whose page has exactly this name; 0: it is none. */
static uint64_t page_id (const char *name)
{
    char again[NAME_BYTES];
    uint64_t id;

    return sscanf (name, "audit-%19" SCNu64, &id) == 1 && id <= INT64_MAX
                   && strcmp (name_page (again, id), name) == 0
               ? id
               : 0;
}

/* The audits that have pages, ascending; the caller frees them. */
static uint64_t *list_pages (DIR *d, size_t *n)
{
    uint64_t *id = NULL;
    struct dirent *e;

    *n = 0;
    while (*n < FILES_MAX && (e = readdir (d))) {
        id = xgrow (id, *n, sizeof (*id));
        if ((id[*n] = page_id (e->d_name)))
            (*n)++;
    }
    if (*n > 0)
        qsort (id, *n, sizeof (*id), compare_u64);
    return id;
}

/* Delete the pages of audits before `oldest`, and as many as exceed `keep`.
 * Return how many of the first are gone, or -1 with err.
 */
static int64_t drop_pages (int dir, const char *path, const uint64_t *id,
                           size_t n, uint64_t oldest, size_t keep,
                           struct error *err)
{
    char name[NAME_BYTES];
    size_t i;

    for (i = 0; i < n && (id[i] < oldest || n - i > keep); i++)
        if (unlinkat (dir, name_page (name, id[i]), 0) < 0 && errno != ENOENT)
            return error_errno (err, "%s/%s", path, name);
    return (int64_t)i;
}

static int write_page (const char *dir, const char *name,
                       const struct page *page, struct error *err)
{
    char *path = xasprintf ("%s/%s", dir, name);
    struct outfile *out = file_create_public (path, err);
    int rc = out ? page_write (page, file_stream (out), err) : -1;

    free (path);
    return out ? file_finish (out, rc, err) : -1;
}

static int write_index (const char *dir, struct ledger *ledger,
                        const uint64_t *id, size_t n, struct error *err)
{
    struct page page = { .made = clock_date () };
    json_t *a;
    size_t i;
    int rc;

    page.index = ledger_list (ledger, LEDGER_AUDITS, INDEX_AUDITS, 0, err);
    if (!page.index)
        return -1;
    json_array_foreach (page.index, i, a) {
        uint64_t audit = (uint64_t)json_int (a, "id", 0);

        json_put (a, "page",
                  json_boolean (n > 0 && bsearch (&audit, id, n, sizeof (*id),
                                                  compare_u64)));
    }
    rc = write_page (dir, "index.html", &page, err);
    json_decref (page.index);
    return rc;
}

int reports_tidy (const struct site *site, struct ledger *ledger,
                  struct error *err)
{
    int64_t oldest, gone;
    uint64_t *id = NULL;
    size_t n = 0;
    DIR *d;
    int dir, rc = -1;

    if (!*site->reports)
        return 0;
    if ((dir = file_open_trusted_dir (site->reports, geteuid (), err)) < 0)
        return -1;
    if (!(d = fdopendir (dir))) {
        error_errno (err, "%s", site->reports);
        close (dir);
        return -1;
    }
    id = list_pages (d, &n);
    if ((oldest = ledger_since (ledger, 0, err)) >= 0
        && (gone = drop_pages (dir, site->reports, id, n, (uint64_t)oldest,
                               (size_t)site->reports_kept, err)) >= 0)
        rc = write_index (site->reports, ledger, id + gone, n - (size_t)gone,
                          err);
    free (id);
    closedir (d);
    return rc;
}

/* The nodes whose newest action is a drain; NULL with err. */
static json_t *list_drained (struct ledger *ledger, struct error *err)
{
    json_t *rows = ledger_list (ledger, LEDGER_ACTIONS, ACTIONS, 0, err);
    json_t *drained = rows ? xcheck (json_object ()) : NULL;
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        const char *node = json_text (row, "node");

        if (!json_object_get (drained, node))
            json_put (drained, node,
                      json_boolean (!strcmp (json_text (row, "kind"),
                                             policy_kind_name (POLICY_DRAIN))));
    }
    json_decref (rows);
    return drained;
}

int reports_add (const struct site *site, struct ledger *ledger, int64_t audit,
                 struct page *page, struct error *err)
{
    char about[48], name[NAME_BYTES];
    int rc;

    snprintf (about, sizeof (about), "audit %" PRId64, audit);
    page->about = about;
    page->made = clock_date ();
    page->history = ledger_history (ledger, fabric_network (page->fabric),
                                    page->verdict, PAGE_AUDITS, err);
    page->drained = page->history ? list_drained (ledger, err) : NULL;
    rc = page->drained ? write_page (site->reports,
                                     name_page (name, (uint64_t)audit), page,
                                     err)
                       : -1;
    json_decref (page->history);
    json_decref (page->drained);
    page->history = page->drained = NULL;
    page->about = NULL;
    return rc < 0 ? -1 : reports_tidy (site, ledger, err);
}
