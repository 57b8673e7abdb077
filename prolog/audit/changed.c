/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed of late, for the site's page: repairs, drains, roll-outs, and cables
 * between the snapshots that are kept.
 */
#include "config.h"

#include <dirent.h>
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

struct site_change {
    int64_t time;
    const char *kind;
    const char *link, *text; /* link NULL: of several, or of none */
};

struct changes {
    const struct reports *in;
    int64_t now;
    struct pool *pool;
    struct site_change *v;
    size_t n;
};

/* Take a text of the heap. */
static void add_change (struct changes *p, int64_t time, const char *kind,
                        const char *link, char *text)
{
    p->v = pool_grow (p->pool, p->v, p->n, sizeof (*p->v));
    p->v[p->n++] = (struct site_change){ time, kind, pool_strdup (p->pool, link),
                                    pool_strdup (p->pool, text) };
    free (text);
}

static char *cable_text (const struct fabric *f, const char *id)
{
    uint32_t link = fabric_find_link (f, id);

    return link == FABRIC_NONE ? xstrdup (id) : words_link (f, link);
}

static int put_rebases (struct changes *p, struct error *err)
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
        add_change (p, v->time, learned ? "learned" : "repaired", v->link,
                    xasprintf ("%s: %s", cable, v->why));
        free (cable);
    }
    return rc;
}

static int put_actions (struct changes *p, struct error *err)
{
    struct ledger_rows rows;
    int rc
        = ledger_list (p->in->ledger, LEDGER_ACTIONS, CHANGES, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_action *v = &rows.action[i];
        bool drain = v->kind == POLICY_DRAIN;

        if (v->done > p->now - LATE_S
            && (drain || v->kind == POLICY_RESUME))
            add_change (p, v->done, drain ? "drained" : "resumed", v->link,
                        xasprintf ("%s: %s", v->node, v->why));
    }
    return rc;
}

/* Kernels that audits saw first when they had seen another for a day. */
static int put_kernels (struct changes *p, struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (p->in->ledger, LEDGER_KERNELS, p->now - LATE_S, 0,
                          &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_kernel *v = &rows.kernel[i];

        if (v->since > rows.kernel[0].since + DAY_S)
            add_change (p, v->since, "roll-out", NULL,
                        xasprintf ("kernel %s, by now on %s", v->kernel,
                                   COUNTED ((uint64_t)v->nodes, "node")));
    }
    return rc;
}

static int newer_change (const void *va, const void *vb)
{
    const struct site_change *a = va, *b = vb;
    int order = util_compare (b->time, a->time);

    return order ? order : strcmp (a->text, b->text);
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

/* Write "X -- Y" of each cable that only `these` have, or "X -- Y, was Z" of those
 * whose other end is another one than in `those`. Return how many there are; NAMED
 * of them are named.
 */
static size_t name_cables (const struct fabric *f, const json_t *these,
                           const json_t *those, bool moved, FILE *fp)
{
    char a[FABRIC_PORT_NAME], b[FABRIC_PORT_NAME], c[FABRIC_PORT_NAME];
    size_t n = 0;
    const char *end;
    json_t *far;

    json_object_foreach ((json_t *)these, end, far) {
        const json_t *was = json_object_get (those, end);

        if (moved != (was != NULL) || (was && json_equal (was, far))
            || ++n > NAMED)
            continue;
        fprintf (fp, "%s %s -- %s%s%s", n > 1 ? ";" : "",
                 changed_end_name (f, end, a),
                 changed_end_name (f, json_string_value (far), b),
                 moved ? ", was " : "",
                 moved ? changed_end_name (f, json_string_value (was), c) : "");
    }
    fputs (n > NAMED ? "; ..." : "", fp);
    return n;
}

static void put_difference (struct changes *p, int64_t time,
                            const json_t *before, const json_t *after)
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
        size_t size, n;
        FILE *fp = xcheck (open_memstream (&text, &size));

        n = name_cables (p->in->fabric, kinds[i].these, kinds[i].those,
                         kinds[i].moved, fp);
        xcheck (fclose (fp) == 0 ? text : NULL);
        if (n > 0)
            add_change (p, time, "re-cabled", NULL,
                        xasprintf ("%s %s:%s", COUNTED (n, "cable"),
                                   kinds[i].what, text));
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
static void compare_snapshots (struct changes *p, const char *path)
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
    sort_array (name, n, compare_strings);
    for (size_t i = n; i-- > 0; free (name[i])) {
        char *old = xasprintf ("%s/%s", in, name[i]);
        json_t *before = n - i > SNAPSHOTS ? NULL : read_cables (old);

        if (json_object_size (before) > 0 && json_object_size (after) > 0)
            put_difference (p, read, before, after);
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
    struct changes p = { in, now, .pool = pool_create () };
    const char *snapshots = in->site->snapshot;
    json_t *list = NULL;
    char path[TEXT_PATH];

    if (put_rebases (&p, err) == 0 && put_actions (&p, err) == 0
        && put_kernels (&p, err) == 0) {
        while (snapshots && text_next (&snapshots, path))
            compare_snapshots (&p, path);
        list = xcheck (json_array ());
    }
    sort_array (p.v, p.n, newer_change);
    for (size_t i = 0; list && i < p.n && i < CHANGES; i++)
        json_add (list, json_pack ("{s:I, s:s, s:s*, s:o}", "time",
                                   (json_int_t)p.v[i].time, "kind",
                                   p.v[i].kind, "link", p.v[i].link, "text",
                                   page_text (p.v[i].text)));
    pool_destroy (p.pool);
    return list;
}
