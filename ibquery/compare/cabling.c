/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/compare/cabling.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/file.h"
#include "util/sort.h"

enum {
    MAX_FILE = 1 << 28,
    MAX_FIELD = 255,
    FIELDS = 5, /* that are used */
};

/* A name, and a node (or a port) that has it. */
struct called {
    const char *name;
    uint32_t node;
};

struct cabling_reader {
    struct cabling *c;
    struct called *by_name; /* sorted */
    size_t nnames;
    char *text;
    unsigned int number;    /* of the line */
    unsigned int *line_of;  /* by port: the line that names it; 0: none */
};

static int compare_called (const void *a, const void *b)
{
    const struct called *x = a, *y = b;
    int order = strcmp (x->name, y->name);

    return order ? order : util_compare (x->node, y->node);
}

/* Index nodes by description, by the name in texts if that is different, and by
 * host name.
 */
static void index_names (struct cabling_reader *r)
{
    const struct fabric *f = r->c->f;

    r->by_name = xarray (3 * f->nnodes, sizeof (*r->by_name));
    for (uint32_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        r->by_name[r->nnames++] = (struct called){ n->desc, i };
        if (strcmp (n->name, n->desc) != 0)
            r->by_name[r->nnames++] = (struct called){ n->name, i };
        if (n->host != FABRIC_NONE
            && strcmp (f->host[n->host].name, n->desc) != 0)
            r->by_name[r->nnames++]
                = (struct called){ f->host[n->host].name, i };
    }
    qsort (r->by_name, r->nnames, sizeof (*r->by_name), compare_called);
}

/* The first of the nodes that have a name; there are *n. */
static const struct called *find_nodes (const struct cabling_reader *r,
                                        const char *name, size_t *n)
{
    size_t low = 0, high = r->nnames;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp (r->by_name[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (*n = 0; low + *n < r->nnames
                 && strcmp (r->by_name[low + *n].name, name) == 0;
         ++*n)
        ;
    return &r->by_name[low];
}

/* Whether PORT may mean this port of the node: its number, its device, both as
 * "mlx5_0/1", or nothing.
 */
static bool fits (const struct fabric_node *n, unsigned int num,
                  const char *text)
{
    const char *device = strchr (n->desc, ' ');
    size_t len = device ? strlen (++device) : 0;
    char number[16];

    snprintf (number, sizeof (number), "%u", num);
    if (strcmp (text, number) == 0)
        return true;
    if (n->type == NODE_SWITCH)
        return false;
    if (!*text)
        return true;
    return len > 0 && strncmp (text, device, len) == 0
           && (!text[len]
               || (text[len] == '/' && strcmp (text + len + 1, number) == 0));
}

/* The port that two fields name: the only one that fits, or the only one of
 * those that has a cable.
 */
static int find_port (struct cabling_reader *r, const char *node,
                      const char *port, uint32_t *id, struct error *err)
{
    const struct fabric *f = r->c->f;
    const struct called by_guid = { node, fabric_by_guid (f, node) };
    const struct called *v = &by_guid;
    unsigned int count = 0, cabled = 0;
    size_t n = by_guid.node != FABRIC_NONE;

    if (!*node)
        return error_input (err, "a switch or host has no name");
    if (n == 0)
        v = find_nodes (r, node, &n);
    if (n == 0) {
        struct cabling *c = r->c;
        size_t i = c->nabsent++;

        c->absent = xgrow (c->absent, i, sizeof (*c->absent));
        c->absent_node = xgrow (c->absent_node, i, sizeof (*c->absent_node));
        c->absent[i] = xasprintf ("%s%s%s", node, *port ? "/" : "", port);
        c->absent_node[i] = xstrdup (node);
        *id = f->nports + i;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fabric_node *of = &f->node[v[i].node];

        for (unsigned int num = 1; num <= of->nports; num++) {
            uint32_t at = of->first_port + num - 1;
            bool has_cable = f->port[at].link != FABRIC_NONE;

            if (!fits (of, num, port))
                continue;
            if (has_cable || cabled == 0)
                *id = at;
            count++;
            cabled += has_cable;
        }
    }
    if (count == 0)
        return error_input (err, "%s has no port '%s'", node, port);
    if (count > 1 && cabled != 1)
        return error_input (err, "%s port '%s' may be %u ports", node, port,
                            count);
    return 0;
}

/* Whether *p ends a field. If a quote is written twice, *p moves to the second
 * one.
 */
static bool ends_field (char **p, bool quoted)
{
    if (!quoted)
        return !**p || strchr (",;\t", **p);
    if (**p != '"')
        return false;
    ++*p;
    return **p != '"';
}

/* Copy the next field of the line; *s moves after it, or is NULL at the end. */
static int next_field (char **s, char field[MAX_FIELD + 1], struct error *err)
{
    char *p = *s + strspn (*s, " ");
    bool quoted = *p == '"';
    size_t len = 0;

    for (p += quoted; !ends_field (&p, quoted); p++) {
        if (!*p)
            return error_input (err, "a quote is not closed");
        if (len == MAX_FIELD)
            return error_input (err, "a field is longer than %d bytes",
                                MAX_FIELD);
        field[len++] = *p;
    }
    while (!quoted && len > 0 && field[len - 1] == ' ')
        len--;
    field[len] = '\0';
    p += strspn (p, " ");
    if (*p && !strchr (",;\t", *p))
        return error_input (err, "\"%.20s\" follows a quote", p);
    *s = *p ? p + 1 : NULL;
    return 0;
}

static int claim (struct cabling_reader *r, uint32_t port, struct error *err)
{
    char name[2 * MAX_FIELD + 2];

    cabling_port_name (r->c, port, name, sizeof (name));
    if (r->line_of[port])
        return error_input (err, "%s has a cable in line %u already", name,
                            r->line_of[port]);
    r->line_of[port] = r->number;
    return 0;
}

/* The same check for absent ports: each has a new id every time it is named. */
static int check_absent (struct cabling_reader *r, struct error *err)
{
    const struct cabling *c = r->c;
    struct called *v = xarray (c->nabsent, sizeof (*v));
    int rc = 0;

    for (size_t i = 0; i < c->nabsent; i++)
        v[i] = (struct called){ c->absent[i], c->f->nports + i };
    qsort (v, c->nabsent, sizeof (*v), compare_called);
    for (size_t i = 1; i < c->nabsent && rc == 0; i++)
        if (strcmp (v[i - 1].name, v[i].name) == 0) {
            r->number = r->line_of[v[i].node];
            rc = error_input (err, "%s has a cable in line %u already",
                              v[i].name, r->line_of[v[i - 1].node]);
        }
    free (v);
    return rc;
}

static int read_line (struct cabling_reader *r, char *line, struct error *err)
{
    static const char digits[] = "0123456789";
    char field[FIELDS][MAX_FIELD + 1] = { "" };
    struct cabling *c = r->c;
    char *next = line;
    uint32_t a, b;
    int n = 0;

    for (const char *p = line; *p; p++)
        if ((*p < 0x20 && *p != '\t') || *p > 0x7e)
            return error_input (err, "byte %td of the line (0x%02x) is not "
                                     "printable ASCII",
                                p - line + 1, (unsigned char)*p);
    line += strspn (line, " \t");
    if (!*line || *line == '#')
        return 0;
    for (; next && n < FIELDS; n++)
        if (next_field (&next, field[n], err) < 0)
            return -1;
    if (n < 4)
        return error_input (err, "%d fields are not a cable: "
                                 "NODE,PORT,NODE,PORT",
                            n);
    if (r->number == 1 && *field[1] && *field[3]
        && !strpbrk (field[1], digits) && !strpbrk (field[3], digits))
        return 0;
    if (find_port (r, field[0], field[1], &a, err) < 0
        || find_port (r, field[2], field[3], &b, err) < 0)
        return -1;
    if (a == b)
        return error_input (err, "both ends are one port");
    if (claim (r, a, err) < 0 || claim (r, b, err) < 0)
        return -1;
    c->line = xgrow (c->line, c->nlines, sizeof (*c->line));
    c->line[c->nlines++]
        = (struct cabling_line){ r->number, a, b, xstrdup (field[4]) };
    return 0;
}

static int read_lines (struct cabling_reader *r, size_t len, struct error *err)
{
    char *end = r->text + len, *newline;
    char *p = r->text;
    size_t lines = 1;

    for (size_t i = 0; i < len; i++)
        lines += r->text[i] == '\n';
    r->line_of = xcalloc (r->c->f->nports + 2 * lines, sizeof (*r->line_of));
    if (len >= 3 && memcmp (p, "\xef\xbb\xbf", 3) == 0)
        p += 3; /* the byte order mark that spreadsheets write */
    for (; p < end; p = newline + 1) {
        size_t length;

        r->number++;
        newline = memchr (p, '\n', end - p);
        if (!newline)
            newline = end;
        length = newline - p;
        if (length > 0 && p[length - 1] == '\r')
            length--;
        if (memchr (p, '\0', length))
            return error_input (err, "a NUL is in the line");
        p[length] = '\0';
        if (read_line (r, p, err) < 0)
            return -1;
    }
    return r->c->nlines > 0 ? check_absent (r, err)
                            : error_input (err, "no cables are listed");
}

static void compare (struct cabling *c)
{
    const struct fabric *f = c->f;
    size_t nports = f->nports + c->nabsent;
    struct pairs is = { 0 }, wanted = { 0 };
    bool *is_host = xcalloc (nports, sizeof (*is_host));

    for (size_t i = 0; i < f->nlinks; i++)
        pairs_add (&is, f->link[i].a, f->link[i].b);
    for (size_t i = 0; i < c->nlines; i++)
        pairs_add (&wanted, c->line[i].a, c->line[i].b);
    for (size_t i = 0; i < f->nports; i++)
        is_host[i] = f->node[f->port[i].node].type != NODE_SWITCH;
    cables_compare (&c->found, &is, &wanted, is_host, nports);
    free (is.v);
    free (wanted.v);
    free (is_host);
}

struct cabling *cabling_read (const struct fabric *f, FILE *fp,
                              const char *name, struct error *err)
{
    struct cabling *c = xcalloc (1, sizeof (*c));
    struct cabling_reader r = { .c = c };
    size_t len;
    int rc = -1;

    c->f = f;
    r.text = file_slurp (fp, MAX_FILE, &len, err);
    if (!r.text)
        error_prefix (err, "%s", name);
    else {
        index_names (&r);
        if ((rc = read_lines (&r, len, err)) < 0)
            error_prefix (err, "%s:%u", name, r.number ? r.number : 1);
        else
            compare (c);
    }
    free (r.by_name);
    free (r.text);
    free (r.line_of);
    if (rc == 0)
        return c;
    cabling_destroy (c);
    return NULL;
}

void cabling_destroy (struct cabling *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nlines; i++)
        free (c->line[i].label);
    for (size_t i = 0; i < c->nabsent; i++) {
        free (c->absent[i]);
        free (c->absent_node[i]);
    }
    free (c->line);
    free (c->absent);
    free (c->absent_node);
    cables_clear (&c->found);
    free (c);
}

void cabling_port_name (const struct cabling *c, uint32_t port, char *buf,
                        size_t size)
{
    if (port < c->f->nports)
        fabric_port_name (c->f, port, buf, size);
    else
        snprintf (buf, size, "%s", c->absent[port - c->f->nports]);
}
