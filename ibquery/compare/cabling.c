/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/compare/cabling.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/alloc.h"
#include "util/file.h"
#include "util/sort.h"

/* How a managed switch's description begins. */
#define MANAGED "MF0;"

enum {
    MAX_FILE = 1 << 28,
    MAX_FIELD = 255,
    FIELDS = 5, /* that are used */
};

/* A name, and a node that has it. */
struct called {
    const char *name;
    uint32_t node;
};

struct names {
    struct called *v; /* sorted once all are in */
    size_t n;
};

struct cabling_reader {
    struct cabling *c;
    struct names whole, brief; /* of nodes */
    char *text;
    char separator;            /* of fields; 0: not known yet */
    unsigned int number;       /* of the line */
    unsigned int *line_of;     /* by port: the line that names it; 0: none */
    bool *unsure;              /* by port: what is to be there is not known */
};

static int compare_named_nodes (const void *a, const void *b)
{
    const struct called *x = a, *y = b;
    int order = strcmp (x->name, y->name);

    return order ? order : util_compare (x->node, y->node);
}

static void add_node_name (struct pool *pool, struct names *names,
                           const char *name, uint32_t node)
{
    names->v = pool_grow (pool, names->v, names->n, sizeof (*names->v));
    names->v[names->n++] = (struct called){ name, node };
}

static void sort_names (struct names *names)
{
    if (names->n > 0)
        qsort (names->v, names->n, sizeof (*names->v), compare_named_nodes);
}

/* NAME of a managed switch, "MF0;NAME:MODEL/U1", or a host's name without its
 * domain. NULL: there is none.
 */
static char *brief_name (struct pool *pool, const struct fabric *f,
                         const struct fabric_node *n)
{
    const char *name = n->desc;
    size_t len = 0;

    if (n->host != FABRIC_NONE) {
        name = f->host[n->host].name;
        len = strcspn (name, ".");
    }
    else if (n->type == NODE_SWITCH
             && strncmp (name, MANAGED, strlen (MANAGED)) == 0) {
        name += strlen (MANAGED);
        len = strcspn (name, ":");
    }
    return len > 0 && name[len] ? pool_printf (pool, "%.*s", (int)len, name)
                                : NULL;
}

/* Index nodes by description, by the name in texts if that is different, and by
 * host name.
 */
static void index_names (struct cabling_reader *r)
{
    const struct fabric *f = r->c->f;

    for (uint32_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];
        char *brief = brief_name (r->c->pool, f, n);

        add_node_name (r->c->pool, &r->whole, n->desc, i);
        if (strcmp (n->name, n->desc) != 0)
            add_node_name (r->c->pool, &r->whole, n->name, i);
        if (n->host != FABRIC_NONE
            && strcmp (f->host[n->host].name, n->desc) != 0)
            add_node_name (r->c->pool, &r->whole, f->host[n->host].name, i);
        if (brief)
            add_node_name (r->c->pool, &r->brief, brief, i);
    }
    sort_names (&r->whole);
    sort_names (&r->brief);
}

/* The first of the nodes that have a name; there are *n, NULL if none. */
static const struct called *find_named_nodes (const struct names *names,
                                              const char *name, size_t *n)
{
    size_t low = 0, high = names->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp (names->v[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (*n = 0; low + *n < names->n
                 && strcmp (names->v[low + *n].name, name) == 0;
         ++*n)
        ;
    return *n > 0 ? &names->v[low] : NULL;
}

/* Whether each cage of a switch has two ports: it has as many as Quantum-2, or
 * as Quantum with all of its split, with one for SHARP or not; or its cables
 * say so.
 */
static bool has_twins (const struct fabric *f, const struct fabric_node *n)
{
    unsigned int ports = n->nports & ~1U;

    if (ports == 64 || ports == 80)
        return true;
    for (uint32_t i = n->first_port; i < n->first_port + n->nports; i++) {
        uint32_t link = f->port[i].link;

        if (link != FABRIC_NONE
            && f->link_info[link].cage[f->link[link].b == i] != 0)
            return true;
    }
    return false;
}

/* The number of a port that is labelled as switches do: ASIC/CAGE/PORT, where a
 * cage has two, else ASIC/PORT; "IB" may come first. 0: not understood.
 */
static unsigned int labelled (const struct fabric *f,
                              const struct fabric_node *n, const char *text)
{
    unsigned int cage, port = 0;
    int end = 0;

    if (strncasecmp (text, "IB", 2) == 0)
        text += 2;
    if (strncmp (text, "1/", 2) != 0 || strspn (text, "0123456789/") > 8)
        return 0;
    if (!has_twins (f, n))
        return sscanf (text, "1/%u%n", &port, &end) == 1 && !text[end] ? port
                                                                       : 0;
    if (sscanf (text, "1/%u/%u%n", &cage, &port, &end) != 2 || text[end]
        || cage == 0 || port == 0 || port > 2)
        return 0;
    return 2 * (cage - 1) + port;
}

/* Whether PORT may mean this port of the node: its number, its device, both as
 * "mlx5_0/1", or nothing.
 */
static bool port_text_matches (const struct fabric *f,
                               const struct fabric_node *n, unsigned int num,
                               const char *text)
{
    const char *device = strchr (n->desc, ' ');
    size_t len = device ? strlen (++device) : 0;
    char number[16];

    snprintf (number, sizeof (number), "%u", num);
    if (strcmp (text, number) == 0)
        return true;
    if (n->type == NODE_SWITCH)
        return labelled (f, n, text) == num;
    if (!*text)
        return true;
    return len > 0 && strncmp (text, device, len) == 0
           && (!text[len]
               || (text[len] == '/' && strcmp (text + len + 1, number) == 0));
}

static int no_port (const struct fabric_node *n, const char *node,
                    const char *port, struct error *err)
{
    return n->type == NODE_SWITCH && strchr (port, '/')
               ? error_input (err, "%s: the label '%s' is not understood: give "
                                   "the port's number", node, port)
               : error_input (err, "%s has no port '%s'", node, port);
}

/* The port that two fields name: the only one that fits, or the only one of
 * those that has a cable. FABRIC_NONE if no node has the name.
 */
static int find_named_port (struct cabling_reader *r, const char *node,
                            const char *port, uint32_t *id, struct error *err)
{
    const struct fabric *f = r->c->f;
    const struct called by_guid = { NULL, fabric_by_guid (f, node) };
    const struct called *v = &by_guid;
    unsigned int count = 0, cabled = 0;
    size_t n = by_guid.node != FABRIC_NONE;

    if (!*node)
        return error_input (err, "a switch or host has no name");
    if (n == 0)
        v = find_named_nodes (&r->whole, node, &n);
    if (n == 0)
        v = find_named_nodes (&r->brief, node, &n);
    *id = FABRIC_NONE;
    if (n == 0) {
        struct cabling *c = r->c;

        c->absent
            = pool_grow (c->pool, c->absent, c->nabsent, sizeof (*c->absent));
        c->absent[c->nabsent++] = pool_strdup (c->pool, node);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fabric_node *of = &f->node[v[i].node];

        for (unsigned int num = 1; num <= of->nports; num++) {
            uint32_t at = of->first_port + num - 1;
            bool has_cable = f->port[at].link != FABRIC_NONE;

            if (!port_text_matches (f, of, num, port))
                continue;
            if (has_cable || cabled == 0)
                *id = at;
            count++;
            cabled += has_cable;
        }
    }
    if (count == 0)
        return no_port (&f->node[v->node], node, port, err);
    if (count > 1 && cabled != 1)
        return error_input (err, "%s port '%s' may be %u ports", node, port,
                            count);
    return 0;
}

/* Whether *p ends a field. If a quote is written twice, *p moves to the second
 * one.
 */
static bool ends_field (char **p, bool quoted, char separator)
{
    if (!quoted)
        return !**p || **p == separator;
    if (**p != '"')
        return false;
    ++*p;
    return **p != '"';
}

/* Whether the ';' behind so much of a field is of a managed switch's name. */
static bool is_managed (const char *field, size_t len)
{
    return len + 1 == strlen (MANAGED) && strncmp (field, MANAGED, len) == 0;
}

/* Copy the next field of the line, without the blanks around it; *s moves after
 * it, or is NULL at the end.
 */
static int next_cabling_field (char **s, char separator,
                               char field[MAX_FIELD + 1], struct error *err)
{
    const char *blanks = separator == '\t' ? " " : " \t";
    char *p = *s + strspn (*s, blanks);
    bool quoted = *p == '"';
    size_t len = 0;

    for (p += quoted; !ends_field (&p, quoted, separator)
                      || (*p == ';' && !quoted && is_managed (field, len));
         p++) {
        if (!*p)
            return error_input (err, "a quote is not closed");
        if (len == 0 && strchr (blanks, *p))
            continue;
        if (len == MAX_FIELD)
            return error_input (err, "a field is longer than %d bytes",
                                MAX_FIELD);
        field[len++] = *p;
    }
    while (len > 0 && strchr (blanks, field[len - 1]))
        len--;
    field[len] = '\0';
    p += strspn (p, blanks);
    if (*p && *p != separator)
        return error_input (err, "\"%.20s\" follows a quote", p);
    *s = *p ? p + 1 : NULL;
    return 0;
}

/* How often a separator may be one in a line. */
static size_t count_fields (const char *line, char separator)
{
    bool quoted = false;
    size_t n = 0;

    for (const char *p = line; *p; p++) {
        if (*p == '"')
            quoted = !quoted;
        n += *p == separator && !quoted
             && (p - line < 3 || !is_managed (p - 3, 3));
    }
    return n;
}

/* The first line tells what separates the fields of all: what is most often in
 * it, or comes first.
 */
static char find_separator (const char *line)
{
    char best = ',';

    for (const char *s = "\t;"; *s; s++) {
        size_t n = count_fields (line, *s), most = count_fields (line, best);

        if (n > most || (n == most && n > 0
                         && strchr (line, *s) < strchr (line, best)))
            best = *s;
    }
    return best;
}

static int claim (struct cabling_reader *r, uint32_t port, struct error *err)
{
    if (port == FABRIC_NONE)
        return 0;
    if (r->line_of[port])
        return error_input (err, "%s has a cable in line %u already",
                            PORT_NAME (r->c->f, port), r->line_of[port]);
    r->line_of[port] = r->number;
    return 0;
}

/* A cable; where an end is not in the fabric, the other may have any. */
static void take_cable (struct cabling_reader *r, uint32_t a, uint32_t b,
                        const char *label)
{
    struct cabling *c = r->c;

    if (a == FABRIC_NONE || b == FABRIC_NONE) {
        if (a != b)
            r->unsure[a == FABRIC_NONE ? b : a] = true;
        return;
    }
    c->line = pool_grow (c->pool, c->line, c->nlines, sizeof (*c->line));
    c->line[c->nlines++]
        = (struct cabling_line){ r->number, a, b,
                                 pool_strdup (c->pool, label) };
}

static int read_cabling_line (struct cabling_reader *r, char *line,
                              struct error *err)
{
    static const char digits[] = "0123456789";
    char field[FIELDS][MAX_FIELD + 1] = { "" };
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
    if (!r->separator)
        r->separator = find_separator (line);
    for (; next && n < FIELDS; n++)
        if (next_cabling_field (&next, r->separator, field[n], err) < 0)
            return -1;
    if (n < 4)
        return error_input (err, "%d fields are not a cable: "
                                 "NODE,PORT,NODE,PORT", n);
    if (r->number == 1 && *field[1] && *field[3]
        && !strpbrk (field[1], digits) && !strpbrk (field[3], digits))
        return 0;
    if (find_named_port (r, field[0], field[1], &a, err) < 0
        || find_named_port (r, field[2], field[3], &b, err) < 0)
        return -1;
    if (a == b && a != FABRIC_NONE)
        return error_input (err, "both ends are one port");
    if (claim (r, a, err) < 0 || claim (r, b, err) < 0)
        return -1;
    take_cable (r, a, b, field[4]);
    return 0;
}

static int read_cabling_lines (struct cabling_reader *r, size_t len,
                               struct error *err)
{
    char *end = r->text + len, *newline;
    char *p = r->text;

    r->line_of = pool_alloc (r->c->pool, r->c->f->nports, sizeof (*r->line_of));
    r->unsure = pool_alloc (r->c->pool, r->c->f->nports, sizeof (*r->unsure));
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
        if (read_cabling_line (r, p, err) < 0)
            return -1;
    }
    return r->c->nlines + r->c->nabsent > 0
               ? 0
               : error_input (err, "no cables are listed");
}

/* Leave out the cables of ports of which it is not known what they should have.
 */
static void drop_unsure_cables (struct cabling *c, const bool *unsure)
{
    struct pairs *lost = &c->found.lost;
    size_t n = 0;

    for (size_t i = 0; i < lost->n; i++) {
        const struct fabric_link *l = &c->f->link[lost->v[i].a];

        if (!unsure[l->a] && !unsure[l->b])
            lost->v[n++] = lost->v[i];
    }
    lost->n = n;
}

static void compare_cabling (struct cabling *c, const bool *unsure)
{
    const struct fabric *f = c->f;
    struct pairs is = { 0 }, wanted = { 0 };
    bool *is_host = pool_alloc (c->pool, f->nports, sizeof (*is_host));

    for (size_t i = 0; i < f->nlinks; i++)
        pairs_add (c->pool, &is, f->link[i].a, f->link[i].b);
    for (size_t i = 0; i < c->nlines; i++)
        pairs_add (c->pool, &wanted, c->line[i].a, c->line[i].b);
    for (size_t i = 0; i < f->nports; i++)
        is_host[i] = f->node[f->port[i].node].type != NODE_SWITCH;
    cables_compare (c->pool, &c->found, &is, &wanted, is_host, f->nports);
    drop_unsure_cables (c, unsure);
}

struct cabling *cabling_read (const struct fabric *f, FILE *fp,
                              const char *name, struct error *err)
{
    struct cabling *c = xcalloc (1, sizeof (*c));
    struct cabling_reader r = { .c = c };
    size_t len;
    int rc = -1;

    c->f = f;
    c->pool = pool_create ();
    r.text = file_slurp (fp, MAX_FILE, &len, err);
    if (!r.text)
        error_prefix (err, "%s", name);
    else {
        index_names (&r);
        if ((rc = read_cabling_lines (&r, len, err)) < 0)
            error_prefix (err, "%s:%u", name, r.number ? r.number : 1);
        else
            compare_cabling (c, r.unsure);
    }
    free (r.text);
    if (rc == 0)
        return c;
    cabling_destroy (c);
    return NULL;
}

void cabling_destroy (struct cabling *c)
{
    if (c)
        pool_destroy (c->pool);
    free (c);
}
