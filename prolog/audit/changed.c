/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed of late, for the site's page: repairs, drains, roll-outs, and cables
 * between the snapshots that are kept.
 */
#include "config.h"

#include <dirent.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/publish.h"
#include "prolog/audit/parts.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    CHANGES = 200,
    NAMED = 12,    /* cables of a change of cabling */
    SNAPSHOTS = 8, /* earlier ones that are read, the newest */
    DAY_S = 86400,
    LATE_S = 30 * DAY_S,
    CABLES = 64 << 20, /* bytes of a snapshot up to its tables */
};

struct changes {
    const struct reports *in;
    int64_t now;
};

static void add_change (json_t *list, int64_t time, const char *kind,
                        const char *link, char *text)
{
    json_add (list, json_pack ("{s:I, s:s, s:s*, s:o}", "time",
                               (json_int_t)time, "kind", kind, "link", link,
                               "text", page_text (text)));
    free (text);
}

static char *cable_text (const struct fabric *f, const char *id)
{
    uint32_t link = fabric_find_link (f, id);

    return link == FABRIC_NONE ? xstrdup (id) : words_link (f, link);
}

static int put_rebases (const struct changes *p, json_t *list,
                        struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (p->in->ledger, LEDGER_REBASES, 0, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_rebase *v = &rows.rebase[i];
        bool learned = !strcmp (v->who, "pmm");
        char *cable;

        if (v->time <= p->now - LATE_S)
            continue;
        cable = cable_text (p->in->fabric, v->link);
        add_change (list, v->time, learned ? "learned" : "repaired", v->link,
                    xasprintf ("%s: %s", cable, v->why));
        free (cable);
    }
    ledger_clear (&rows);
    return rc;
}

static int put_actions (const struct changes *p, json_t *list,
                        struct error *err)
{
    struct ledger_rows rows;
    int rc
        = ledger_list (p->in->ledger, LEDGER_ACTIONS, CHANGES, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_action *v = &rows.action[i];
        bool drain = v->kind == POLICY_DRAIN;

        if (v->done > p->now - LATE_S
            && (drain || v->kind == POLICY_RESUME))
            add_change (list, v->done, drain ? "drained" : "resumed", v->link,
                        xasprintf ("%s: %s", v->node, v->why));
    }
    ledger_clear (&rows);
    return rc;
}

/* Kernels that audits saw first when they had seen another for a day. */
static int put_kernels (const struct changes *p, json_t *list,
                        struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (p->in->ledger, LEDGER_KERNELS, p->now - LATE_S, 0,
                          &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_kernel *v = &rows.kernel[i];

        if (v->since > rows.kernel[0].since + DAY_S)
            add_change (list, v->since, "roll-out", NULL,
                        xasprintf ("kernel %s, by now on %s", v->kernel,
                                   COUNTED ((uint64_t)v->nodes, "node")));
    }
    ledger_clear (&rows);
    return rc;
}

static int newer_change (const void *va, const void *vb)
{
    const json_t *a = *(json_t *const *)va, *b = *(json_t *const *)vb;
    int order = util_compare (json_int (b, "time", 0), json_int (a, "time", 0));

    return order ? order : strcmp (json_text (a, "text"),
                                   json_text (b, "text"));
}

/* The newest first. */
static json_t *sort_changes (json_t *list)
{
    size_t n = json_array_size (list);
    json_t **v = xarray (n, sizeof (*v)), *sorted = xcheck (json_array ());

    for (size_t i = 0; i < n; i++)
        v[i] = json_array_get (list, i);
    if (n > 0)
        qsort (v, n, sizeof (*v), newer_change);
    for (size_t i = 0; i < n && i < CHANGES; i++)
        json_add (sorted, json_incref (v[i]));
    free (v);
    json_decref (list);
    return sorted;
}

/*
 * Cables between two snapshots
 */

/* The cables of a snapshot, which come before its tables: {an end: the other}.
 * Of one that cannot be read, none.
 */
static json_t *read_cables (const char *path)
{
    json_t *cables = xcheck (json_object ());
    struct error err;
    FILE *fp = file_open_trusted (path, geteuid (), &err);
    char line[256], a[32], b[32];
    size_t read = 0;

    while (fp && read < CABLES && fgets (line, sizeof (line), fp)
           && strncmp (line, "lft ", 4)) {
        read += strlen (line);
        if (sscanf (line, "cable %31s %31s", a, b) == 2)
            json_put (cables, a, json_string (b));
    }
    if (fp)
        file_close_input (fp);
    return cables;
}

/* What an end is called. */
static const char *changed_end_name (const struct fabric *f, const char *id,
                                     char buf[FABRIC_PORT_NAME])
{
    uint32_t port = id ? fabric_find_port (f, id) : FABRIC_NONE;

    if (port != FABRIC_NONE)
        return fabric_port_name (f, port, buf, FABRIC_PORT_NAME);
    return id ? id : "?";
}

/* Append to a text of the heap "X -- Y" of each cable that only `these` have, or
 * "X -- Y, was Z" of those whose other end is another one than in `those`. Return
 * how many there are; NAMED of them are named.
 */
static size_t name_cables (const struct fabric *f, const json_t *these,
                           const json_t *those, bool moved, char **text)
{
    char a[FABRIC_PORT_NAME], b[FABRIC_PORT_NAME], c[FABRIC_PORT_NAME];
    size_t n = 0;
    const char *end;
    json_t *far;

    json_object_foreach ((json_t *)these, end, far) {
        const json_t *was = json_object_get (those, end);
        char *longer;

        if (moved != (was != NULL) || (was && json_equal (was, far))
            || ++n > NAMED)
            continue;
        longer = xasprintf (
            "%s%s %s -- %s%s%s", *text ? *text : "", n > 1 ? ";" : "",
            changed_end_name (f, end, a),
            changed_end_name (f, json_string_value (far), b),
            moved ? ", was " : "",
            moved ? changed_end_name (f, json_string_value (was), c) : "");
        free (*text);
        *text = longer;
    }
    return n;
}

static void put_difference (const struct fabric *f, int64_t time,
                            const json_t *before, const json_t *after,
                            json_t *list)
{
    const struct {
        const char *what;
        const json_t *these, *those;
        bool moved;
    } kinds[] = { { "moved", after, before, true },
                  { "gone", before, after, false },
                  { "new", after, before, false } };

    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        char *text = NULL;
        size_t n = name_cables (f, kinds[i].these, kinds[i].those,
                                kinds[i].moved, &text);

        if (n > 0)
            add_change (list, time, "re-cabled", NULL,
                        xasprintf ("%s %s:%s%s", COUNTED (n, "cable"),
                                   kinds[i].what, text,
                                   n > NAMED ? "; ..." : ""));
        free (text);
    }
}

/* The time in the name of an earlier snapshot, FILE.20261122T013000Z; 0: it is
 * none.
 */
static int64_t stamp_of (const char *name, const char *file)
{
    size_t n = strlen (file);

    return strncmp (name, file, n) || name[n] != '.'
               ? 0
               : publish_stamp (name + n + 1);
}

/* What changed in a snapshot since the earlier ones that are kept. */
static void compare_snapshots (const struct changes *p, const char *path,
                               json_t *list)
{
    char *copy = xstrdup (path), *other = xstrdup (path), **name = NULL;
    const char *file = basename (copy), *in = dirname (other);
    DIR *d = opendir (in);
    int64_t read = p->in->fabric->time;
    json_t *after = read_cables (path);
    struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir (d)))
        if (stamp_of (e->d_name, file) > p->now - LATE_S) {
            name = xgrow (name, n, sizeof (*name));
            name[n++] = xstrdup (e->d_name);
        }
    if (n > 0)
        qsort (name, n, sizeof (*name), compare_strings);
    for (size_t i = n; i-- > 0; free (name[i])) {
        char *old = xasprintf ("%s/%s", in, name[i]);
        json_t *before = n - i > SNAPSHOTS ? NULL : read_cables (old);

        if (json_object_size (before) > 0 && json_object_size (after) > 0)
            put_difference (p->in->fabric, read, before, after, list);
        json_decref (after);
        after = before;
        read = stamp_of (name[i], file);
        free (old);
    }
    json_decref (after);
    if (d)
        closedir (d);
    free (name);
    free (copy);
    free (other);
}

json_t *changed_json (const struct reports *in, int64_t now, struct error *err)
{
    const struct changes p = { in, now };
    const char *snapshots = in->site->snapshot;
    json_t *list = xcheck (json_array ());
    char path[TEXT_PATH];

    if (put_rebases (&p, list, err) < 0 || put_actions (&p, list, err) < 0
        || put_kernels (&p, list, err) < 0) {
        json_decref (list);
        return NULL;
    }
    while (snapshots && text_next (&snapshots, path))
        compare_snapshots (&p, path, list);
    return sort_changes (list);
}
