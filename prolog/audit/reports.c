/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory Reports: audit-ID.html, which is never written again, and
 * index.html, the site's page.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/compare/cabling.h"
#include "prolog/audit/parts.h"
#include "prolog/policy/policy.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/sort.h"

enum {
    ACTIONS = 1000,           /* the newest that tell which nodes are drained */
    FILES_MAX = 100000,
    INDEX_S = 60,             /* index.html is written once in this time */
    INDEX_MAX = 64 << 20,     /* bytes */
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
    sort_array (id, *n, compare_u64);
    return id;
}

/* Delete the pages of audits before `oldest`, and as many as exceed `keep`.
 * Return 0, or -1 with err.
 */
static int drop_pages (int dir, const char *path, const uint64_t *id,
                       size_t n, uint64_t oldest, size_t keep,
                       struct error *err)
{
    char name[NAME_BYTES];
    size_t i;

    for (i = 0; i < n && (id[i] < oldest || n - i > keep); i++)
        if (unlinkat (dir, name_page (name, id[i]), 0) < 0 && errno != ENOENT)
            return error_errno (err, "%s/%s", path, name);
    return 0;
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

/* The directory, and the audits that have pages in it, which the caller frees.
 * NULL with err.
 */
static DIR *open_pages (const char *path, uint64_t **id, size_t *n,
                        struct error *err)
{
    int dir = file_open_trusted_dir (path, geteuid (), err);
    DIR *d = dir >= 0 ? fdopendir (dir) : NULL;

    if (dir >= 0 && !d) {
        error_errno (err, "%s", path);
        close (dir);
    }
    *id = d ? list_pages (d, n) : NULL;
    return d;
}

int reports_tidy (const struct site *site, struct ledger *ledger,
                  struct error *err)
{
    uint64_t *id;
    int64_t oldest = 0;
    size_t n;
    DIR *d;
    int rc = -1;

    if (!*site->reports)
        return 0;
    if (!(d = open_pages (site->reports, &id, &n, err)))
        return -1;
    if (ledger_number (ledger, LEDGER_NEXT, 0, NULL, &oldest, err) >= 0)
        rc = drop_pages (dirfd (d), site->reports, id, n, (uint64_t)oldest,
                         (size_t)site->reports_kept, err);
    free (id);
    closedir (d);
    return rc;
}

/* The nodes whose newest action is a drain; NULL with err. */
static json_t *list_drained (struct ledger *ledger, struct error *err)
{
    struct ledger_rows rows;
    json_t *drained;

    if (ledger_list (ledger, LEDGER_ACTIONS, ACTIONS, 0, &rows, err) < 0)
        return NULL;
    drained = xcheck (json_object ());
    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_action *v = &rows.action[i];

        if (!json_object_get (drained, v->node))
            json_put (drained, v->node,
                      json_boolean (v->kind == POLICY_DRAIN));
    }
    return drained;
}

/* The page that is there, which the caller frees; NULL: none, or an odd one. */
static char *read_index (const char *path)
{
    struct error err;
    FILE *fp = file_open_input (path, &err);
    char *text = fp ? file_slurp_text (fp, path, INDEX_MAX, &err) : NULL;

    if (fp)
        file_close_input (fp);
    return text;
}

static int write_index (const char *path, const char *text, struct error *err)
{
    struct outfile *out = file_create_public (path, err);

    if (!out)
        return -1;
    fputs (text, file_stream (out));
    return file_finish (out, 0, err);
}

int reports_index (const struct reports *in, struct error *err)
{
    char *path, *text = NULL, *old;
    struct stat st;
    uint64_t *id;
    size_t n, size;
    time_t age;
    FILE *fp;
    DIR *d;
    int rc;

    if (!*in->site->reports)
        return 0;
    path = xasprintf ("%s/index.html", in->site->reports);
    age = stat (path, &st) == 0 ? time (NULL) - st.st_mtime : INDEX_S;
    if (age >= 0 && age < INDEX_S) {
        free (path);
        return 2;
    }
    if (!(d = open_pages (in->site->reports, &id, &n, err))) {
        free (path);
        return -1;
    }
    fp = xcheck (open_memstream (&text, &size));
    rc = sitepage_write (in, id, n, fp, err);
    xcheck (fclose (fp) == 0 ? text : NULL);
    old = rc == 0 ? read_index (path) : NULL;
    if (rc == 0 && (!old || !page_is_same (old, text)))
        rc = write_index (path, text, err) < 0 ? -1 : 1;
    free (old);
    free (text);
    free (path);
    free (id);
    closedir (d);
    return rc;
}

struct cabling *reports_cabling (const struct site *site,
                                 const struct fabric *f, char **odd)
{
    struct cabling *c = NULL;
    struct error err;
    FILE *fp;

    *odd = NULL;
    if (!site->cabling || !*site->cabling)
        return NULL;
    if ((fp = file_open_trusted (site->cabling, geteuid (), &err))) {
        c = cabling_read (f, fp, "Cabling", &err);
        file_close_input (fp);
    }
    if (!c)
        *odd = xstrdup (err.text);
    return c;
}

int reports_add (const struct site *site, struct ledger *ledger, int64_t audit,
                 struct page *page, struct error *err)
{
    char about[48], name[NAME_BYTES], *odd;
    struct cabling *cabling;
    int rc;

    snprintf (about, sizeof (about), "audit %" PRId64, audit);
    page->about = about;
    page->made = clock_date ();
    page->cabling = cabling = reports_cabling (site, page->fabric, &odd);
    free (odd);
    page->history = ledger_history (ledger, fabric_network (page->fabric),
                                    page->verdict, PAGE_AUDITS, err);
    page->drained = page->history ? list_drained (ledger, err) : NULL;
    rc = page->drained ? write_page (site->reports,
                                     name_page (name, (uint64_t)audit), page,
                                     err)
                       : -1;
    cabling_destroy (cabling);
    page->cabling = NULL;
    json_decref (page->history);
    json_decref (page->drained);
    page->history = page->drained = NULL;
    page->about = NULL;
    return rc < 0 ? -1 : reports_tidy (site, ledger, err);
}
