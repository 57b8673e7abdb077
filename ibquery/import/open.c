/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric from whatever files people have. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/import/import.h"
#include "ibquery/snapshot.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/text.h"

static const char magic[] = "pmm-fabric ";

enum { MAGIC = sizeof (magic) - 1, PIPE_MAX = 1 << 30 };

/* A file that can be read twice: a pipe is in memory. */
struct opened_file {
    FILE *fp;
    char *text; /* of a pipe */
    const char *name;
};

static int source_open (struct opened_file *s, const char *path,
                        struct error *err)
{
    FILE *fp = file_open_input (path, err);
    size_t len;

    *s = (struct opened_file){
        .fp = fp, .name = strcmp (path, "-") == 0 ? "standard input" : path,
    };
    if (!fp)
        return -1;
    if (fseek (fp, 0, SEEK_SET) == 0)
        return 0;
    s->text = file_slurp (fp, PIPE_MAX, &len, err);
    file_close_input (fp);
    s->fp = !s->text ? NULL
                     : xcheck (fmemopen (s->text, len > 0 ? len : 1, "r"));
    return s->fp ? 0 : error_prefix (err, "%s", s->name);
}

static void source_close (struct opened_file *s)
{
    file_close_input (s->fp);
    free (s->text);
}

static bool is_snapshot (const struct opened_file *s)
{
    char start[MAGIC];
    bool is = fread (start, 1, MAGIC, s->fp) == MAGIC
              && memcmp (start, magic, MAGIC) == 0;

    rewind (s->fp);
    return is;
}

struct opening {
    struct fabric *part[FABRIC_MAX_SUBNETS];
    const char *name[FABRIC_MAX_SUBNETS];
    size_t n;
    struct import *import;        /* of files other than snapshots */
    char from[FABRIC_NAME_MAX];  /* these */
    const char *first;           /* NULL: all were */
};

static int add_fabric_part (struct opening *o, struct fabric *f,
                            const char *name, struct error *err)
{
    if (!f)
        return -1;
    if (o->n == FABRIC_MAX_SUBNETS) {
        fabric_destroy (f);
        return error_input (err, "more than %d snapshots: %s", (int)o->n,
                            SHOWN (name));
    }
    o->part[o->n] = f;
    o->name[o->n++] = name;
    return 0;
}

static int open_source_file (struct opening *o, const char *path,
                             struct error *err)
{
    const char *slash = strrchr (path, '/');
    size_t len = strlen (o->from);
    struct opened_file s;
    int rc = source_open (&s, path, err);

    if (rc == 0 && is_snapshot (&s))
        rc = add_fabric_part (o, fabric_read (s.fp, s.name, err), path, err);
    else if (rc == 0) {
        o->first = o->first ? o->first : path;
        snprintf (o->from + len, sizeof (o->from) - len, " %s",
                  slash ? slash + 1 : path);
        rc = import_file (o->import, s.fp, s.name, NULL, err);
    }
    source_close (&s);
    return rc;
}

struct fabric *import_open (const char *const *path, size_t n,
                            const struct node_names *names, struct error *err)
{
    struct opening o = { .import = import_create (names), .from = "import" };
    struct fabric *f = NULL;
    int rc = n > 0 ? 0 : error_input (err, "no snapshot is named");

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = open_source_file (&o, path[i], err);
    if (rc == 0 && o.first)
        rc = add_fabric_part (&o, import_finish (o.import, o.from, err),
                              o.first, err);
    if (rc == 0)
        f = o.n == 1 ? o.part[0] : fabric_join (o.part, o.name, o.n, err);
    for (size_t i = 0; i < o.n; i++)
        if (o.part[i] != f)
            fabric_destroy (o.part[i]);
    import_destroy (o.import);
    return f;
}
