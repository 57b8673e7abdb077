/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of audits, in the directory Reports: audit-ID.html, which is never
 * written again, and index.html.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/audit/parts.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    INDEX_AUDITS = 500, /* the newest of the ledger: more than these have ... */
    FILES_MAX = 100000, /* ... pages, but are not in the index */
};

static const char prefix[] = "audit-", suffix[] = ".html";

/* The audit whose page has this name; 0: it is none. */
static uint64_t page_id (const char *name)
{
    size_t len = strlen (name);
    char number[24];
    uint64_t id;

    if (len < sizeof (prefix) + sizeof (suffix) - 1
        || len >= sizeof (prefix) + sizeof (suffix) + sizeof (number) - 3
        || strncmp (name, prefix, sizeof (prefix) - 1) != 0
        || strcmp (name + len + 1 - sizeof (suffix), suffix) != 0)
        return 0;
    snprintf (number, sizeof (number), "%.*s",
              (int)(len + 2 - sizeof (prefix) - sizeof (suffix)),
              name + sizeof (prefix) - 1);
    return number[0] == '0' || text_u64 (number, 1, INT64_MAX, &id) < 0 ? 0
                                                                        : id;
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
    char name[64];
    size_t i;

    for (i = 0; i < n && (id[i] < oldest || n - i > keep); i++) {
        snprintf (name, sizeof (name), "%s%ju%s", prefix, (uintmax_t)id[i],
                  suffix);
        if (unlinkat (dir, name, 0) < 0 && errno != ENOENT)
            return error_errno (err, "%s/%s", path, name);
    }
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
    struct page page = { .made = time (NULL) };
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

int reports_add (const struct site *site, struct ledger *ledger, int64_t audit,
                 struct page *page, struct error *err)
{
    char about[48], name[64];
    int rc;

    snprintf (about, sizeof (about), "audit %jd", (intmax_t)audit);
    snprintf (name, sizeof (name), "%s%jd%s", prefix, (intmax_t)audit, suffix);
    page->about = about;
    page->made = time (NULL);
    page->history = ledger_history (ledger, fabric_network (page->fabric),
                                    page->verdict, PAGE_AUDITS, err);
    if (!page->history)
        return -1;
    rc = write_page (site->reports, name, page, err);
    json_decref (page->history);
    page->history = NULL;
    page->about = NULL;
    return rc < 0 ? -1 : reports_tidy (site, ledger, err);
}
