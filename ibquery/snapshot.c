/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The reader takes one table row per keyword. Rows come in the order of their
 * sections; the lines of a forwarding table, which start with a digit, follow
 * their `lft` line. Runs in tables would let a small file ask for much memory,
 * so the tables together may hold TABLES_MIN bytes and TABLES_FACTOR times
 * the file's length; real fabrics stay far below.
 */
#include "config.h"
#include "ibquery/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ibquery/digest.h"
#include "util/file.h"
#include "util/text.h"

#define MAGIC "pmm-fabric "
#define FORMAT "1"
#define TIME_FORMAT "%Y-%m-%dT%H:%M:%SZ"

enum {
    MAX_LINE = 1200,
    MAX_HEX = 512,  /* table entries of one line */
    MIN_RUN = 16,   /* a shorter run is not worth a line */
    MAX_FILE = 1 << 30,
    TABLES_MIN = 1 << 20,
    TABLES_FACTOR = 64,
    TIME_SIZE = 32,
};

/* Write */

struct writer {
    FILE *fp;
    struct digest digest;
};

__attribute__ ((format (printf, 2, 3)))
static void put (struct writer *w, const char *fmt, ...)
{
    char line[MAX_LINE];
    va_list ap;
    int len;

    va_start (ap, fmt);
    len = vsnprintf (line, sizeof (line), fmt, ap);
    va_end (ap);
    digest_bytes (&w->digest, line, len);
    fwrite (line, 1, len, w->fp);
    putc ('\n', w->fp);
}

static void format_time (int64_t when, char text[TIME_SIZE])
{
    time_t t = when;
    struct tm tm;

    gmtime_r (&t, &tm);
    strftime (text, TIME_SIZE, TIME_FORMAT, &tm);
}

static void put_rates (struct writer *w, const struct fabric *f,
                       const struct fabric_node *n)
{
    static const struct port_rates none;

    for (unsigned int i = 0; i < n->nports; i++) {
        const struct port_rates *r = &f->port[n->first_port + i].rates;
        char supported[RATES_TEXT], enabled[RATES_TEXT], active[RATES_TEXT];

        if (memcmp (r, &none, sizeof (none)) != 0)
            put (w, "rates %016" PRIx64 "/%u %s %s %s", n->guid, i + 1,
                 rates_format (&r->supported, supported),
                 rates_format (&r->enabled, enabled),
                 rates_format (&r->active, active));
    }
}

/* Of a port, what is not as usual. */
static void put_state (struct writer *w, const struct fabric_node *n,
                       const struct fabric_port *p)
{
    if (p->link != FABRIC_NONE && p->state != PORT_UNKNOWN
        && p->state != PORT_ACTIVE)
        put (w, "state %016" PRIx64 "/%u %s", n->guid, p->num,
             fabric_state_name (p->state));
}

static void put_node (struct writer *w, const struct fabric *f,
                      const struct fabric_node *n)
{
    const char *type = fabric_type_name (n->type);
    const char *gap = *n->desc ? " " : "";

    if (n->type == NODE_SWITCH)
        put (w, "%s %016" PRIx64 " %u %u%s%s", type, n->guid, n->nports,
             n->lid, gap, n->desc);
    else
        put (w, "%s %016" PRIx64 " %u%s%s", type, n->guid, n->nports, gap,
             n->desc);
    if (n->system != 0)
        put (w, "system %016" PRIx64 " %016" PRIx64, n->guid, n->system);
    if (n->adaptive.known)
        put (w, "adaptive %016" PRIx64 " %04x %04x", n->guid, n->adaptive.ud,
             n->adaptive.rc);
    for (unsigned int i = 0; i < n->nports; i++) {
        const struct fabric_port *p = &f->port[n->first_port + i];

        put_state (w, n, p);
        if (n->type != NODE_SWITCH && (p->guid != 0 || p->lid != 0))
            put (w, "port %016" PRIx64 "/%u %016" PRIx64 " %u %u", n->guid,
                 p->num, p->guid, p->lid, p->lmc);
    }
}

static void put_cable (struct writer *w, const struct fabric *f,
                       const struct fabric_link *l)
{
    const struct fabric_port *b = &f->port[l->b];
    char rate[16];

    fabric_rate_name (l, rate, sizeof (rate));
    put (w, "cable %s %016" PRIx64 "/%u %s", l->id, f->node[b->node].guid,
         b->num, *rate ? rate : "-");
}

static unsigned int run (const struct fabric_node *n, unsigned int lid)
{
    unsigned int end = lid;

    while (end <= n->lft_top && n->lft[end] == n->lft[lid])
        end++;
    return end - lid;
}

static void put_lft (struct writer *w, const struct fabric_node *n)
{
    static const char digit[] = "0123456789abcdef";
    char hex[2 * MAX_HEX + 1];
    unsigned int lid = 0;

    put (w, "lft %016" PRIx64 " %u", n->guid, n->lft_top);
    while (lid <= n->lft_top) {
        unsigned int length = run (n, lid), first = lid, k = 0;

        if (n->lft[lid] == LFT_NO_ROUTE) {
            lid += length;
            continue;
        }
        if (length >= MIN_RUN) {
            put (w, "%u-%u %02x", lid, lid + length - 1, n->lft[lid]);
            lid += length;
            continue;
        }
        while (lid <= n->lft_top && n->lft[lid] != LFT_NO_ROUTE) {
            length = run (n, lid);
            if (length >= MIN_RUN || k + length > MAX_HEX)
                break;
            for (; length > 0; length--, k++, lid++) {
                hex[2 * k] = digit[n->lft[lid] >> 4];
                hex[2 * k + 1] = digit[n->lft[lid] & 15];
            }
        }
        hex[2 * k] = '\0';
        put (w, "%u %s", first, hex);
    }
}

int fabric_write (const struct fabric *f, FILE *fp, struct error *err)
{
    struct writer w = { .fp = fp };
    char hex[DIGEST_HEX], when[TIME_SIZE];

    digest_init (&w.digest);
    put (&w, MAGIC FORMAT);
    put (&w, "generator " PACKAGE_STRING);
    if (*f->source)
        put (&w, "source %s", f->source);
    if (f->time != 0) {
        format_time (f->time, when);
        put (&w, "time %s", when);
    }
    if (f->subnet != 0)
        put (&w, "subnet %016" PRIx64, f->subnet);
    if (f->part)
        put (&w, "part");
    put (&w, "hash %s", f->hash);
    for (size_t i = 0; i < f->nwarnings; i++)
        put (&w, "warning %s", f->warning[i]);
    for (size_t i = 0; i < f->nnodes; i++) {
        put_node (&w, f, &f->node[i]);
        put_rates (&w, f, &f->node[i]);
    }
    for (size_t i = 0; i < f->nlinks; i++)
        put_cable (&w, f, &f->link[i]);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].lft)
            put_lft (&w, &f->node[i]);
    digest_hex (&w.digest, hex);
    fprintf (fp, "end %s\n", hex);
    if (ferror (fp))
        return error_errno (err, "cannot write the fabric");
    return 0;
}

/* Read */

enum section { START, HEADER, NODES, CABLES, TABLES, END };

struct reader {
    struct fabric *f;
    char *next;          /* the rest of the line */
    uint32_t node;       /* whose table is being read */
    enum section section;
    unsigned int seen;   /* rows of the table that come but once */
    char hash[DIGEST_HEX];
    uint8_t *lft;        /* the table that is being read */
    bool in_lft;
    unsigned int lft_top, lft_next;
    size_t lft_left;     /* bytes that tables may still take */
};

/* The next word of the line; "" at its end. Two spaces make an empty word. */
static char *word (struct reader *r)
{
    char *start = r->next, *end = strchr (start, ' ');

    if (end) {
        *end = '\0';
        r->next = end + 1;
    } else
        r->next = start + strlen (start);
    return start;
}

static int hex_digit (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_hex (const char *s, int digits, const char *what,
                      uint64_t *number, struct error *err)
{
    uint64_t value = 0;

    for (int i = 0; i < digits; i++) {
        int digit = hex_digit (s[i]);

        if (digit < 0)
            return error_input (err, "\"%.40s\" is no %s of %d hex digits", s,
                                what, digits);
        value = value << 4 | digit;
    }
    if (s[digits])
        return error_input (err, "\"%.40s\" is no %s of %d hex digits", s,
                            what, digits);
    *number = value;
    return 0;
}

static int parse_guid (const char *s, uint64_t *guid, struct error *err)
{
    return parse_hex (s, 16, "GUID", guid, err);
}

static int parse_number (const char *s, unsigned int max, const char *what,
                         unsigned int *value, struct error *err)
{
    uint64_t number;

    if (text_u64 (s, 0, max, &number) < 0 || strspn (s, "0123456789") == 0
        || (s[0] == '0' && s[1]))
        return error_input (err, "\"%.40s\" is no %s of 0 to %u", s, what,
                            max);
    *value = number;
    return 0;
}

static int find_node (const struct reader *r, uint64_t guid, uint32_t *node,
                      struct error *err)
{
    *node = fabric_find_node (r->f, guid);
    if (*node == FABRIC_NONE)
        return error_input (err, "there is no node %016" PRIx64 " above",
                            guid);
    return 0;
}

/* GUID/PORT */
static int parse_end (struct reader *r, uint32_t *node, unsigned int *port,
                      struct error *err)
{
    char *text = word (r), *slash = strchr (text, '/');
    uint64_t guid = 0;

    if (!slash)
        return error_input (err, "\"%.40s\" is no GUID/PORT", text);
    *slash = '\0';
    if (parse_guid (text, &guid, err) < 0
        || parse_number (slash + 1, UINT8_MAX, "port", port, err) < 0)
        return -1;
    return find_node (r, guid, node, err);
}

static int end_of_line (const struct reader *r, struct error *err)
{
    return *r->next ? error_input (err, "\"%.40s\" is left over", r->next) : 0;
}

static int read_generator (struct reader *r, struct error *err)
{
    (void)r;
    (void)err;
    return 0;
}

static int read_source (struct reader *r, struct error *err)
{
    return fabric_set_source (r->f, r->next, r->f->time, err);
}

static int read_time (struct reader *r, struct error *err)
{
    struct tm tm = { 0 };
    const char *end = strptime (r->next, TIME_FORMAT, &tm);
    char again[TIME_SIZE];
    int64_t when;

    if (!end || *end)
        return error_input (err, "\"%.40s\" is no time", r->next);
    when = timegm (&tm);
    format_time (when, again);
    if (strcmp (r->next, again) != 0)
        return error_input (err, "\"%.40s\" is no time", r->next);
    r->f->time = when;
    return 0;
}

static int read_subnet (struct reader *r, struct error *err)
{
    if (parse_guid (word (r), &r->f->subnet, err) < 0)
        return -1;
    return end_of_line (r, err);
}

static int read_part (struct reader *r, struct error *err)
{
    r->f->part = true;
    return end_of_line (r, err);
}

static int read_hash (struct reader *r, struct error *err)
{
    const char *hex = word (r);

    if (strlen (hex) != DIGEST_HEX - 1
        || strspn (hex, "0123456789abcdef") != DIGEST_HEX - 1)
        return error_input (err, "\"%.40s\" is no hash", hex);
    strcpy (r->hash, hex);
    return end_of_line (r, err);
}

static int read_warning (struct reader *r, struct error *err)
{
    return fabric_warn (r->f, err, "%s", r->next);
}

static int read_node (struct reader *r, enum node_type type,
                      struct error *err)
{
    unsigned int nports, lid = 0;
    uint64_t guid = 0;
    int64_t node;

    if (parse_guid (word (r), &guid, err) < 0
        || parse_number (word (r), UINT8_MAX, "number of ports", &nports, err)
               < 0
        || (type == NODE_SWITCH
            && parse_number (word (r), FABRIC_MAX_LID, "LID", &lid, err) < 0))
        return -1;
    node = fabric_add_node (r->f, guid, type, nports, r->next, err);
    if (node < 0)
        return -1;
    return fabric_set_switch_lid (r->f, node, lid, err);
}

static int read_ca (struct reader *r, struct error *err)
{
    return read_node (r, NODE_CA, err);
}

static int read_switch (struct reader *r, struct error *err)
{
    return read_node (r, NODE_SWITCH, err);
}

static int read_router (struct reader *r, struct error *err)
{
    return read_node (r, NODE_ROUTER, err);
}

static int read_port (struct reader *r, struct error *err)
{
    unsigned int port, lid, lmc;
    uint32_t node;
    uint64_t guid = 0;

    if (parse_end (r, &node, &port, err) < 0
        || parse_guid (word (r), &guid, err) < 0
        || parse_number (word (r), FABRIC_MAX_LID, "LID", &lid, err) < 0
        || parse_number (word (r), FABRIC_MAX_LMC, "LMC", &lmc, err) < 0
        || end_of_line (r, err) < 0)
        return -1;
    if (r->f->node[node].type == NODE_SWITCH)
        return error_input (err, "a switch's ports have no LIDs");
    return fabric_set_port (r->f, node, port, guid, lid, lmc, err);
}

static int parse_rates (char *text, struct rates *r, struct error *err)
{
    return rates_parse (text, r) == 0
               ? 0
               : error_input (err, "\"%.60s\" is no set of rates", text);
}

static int read_rates (struct reader *r, struct error *err)
{
    struct port_rates rates;
    unsigned int port;
    uint32_t node;

    if (parse_end (r, &node, &port, err) < 0
        || parse_rates (word (r), &rates.supported, err) < 0
        || parse_rates (word (r), &rates.enabled, err) < 0
        || parse_rates (word (r), &rates.active, err) < 0
        || end_of_line (r, err) < 0)
        return -1;
    return fabric_set_rates (r->f, node, port, &rates, err);
}

/* GUID of a node that was named above */
static int parse_node (struct reader *r, uint32_t *node, struct error *err)
{
    uint64_t guid = 0;

    if (parse_guid (word (r), &guid, err) < 0)
        return -1;
    return find_node (r, guid, node, err);
}

static int read_system (struct reader *r, struct error *err)
{
    uint32_t node;
    uint64_t system = 0;

    if (parse_node (r, &node, err) < 0
        || parse_guid (word (r), &system, err) < 0
        || end_of_line (r, err) < 0)
        return -1;
    fabric_set_system (r->f, node, system);
    return 0;
}

static int read_adaptive (struct reader *r, struct error *err)
{
    uint32_t node;
    uint64_t ud = 0, rc = 0;

    if (parse_node (r, &node, err) < 0
        || parse_hex (word (r), 4, "set of service levels", &ud, err) < 0
        || parse_hex (word (r), 4, "set of service levels", &rc, err) < 0
        || end_of_line (r, err) < 0)
        return -1;
    return fabric_set_adaptive (r->f, node, ud, rc, err);
}

static int read_state (struct reader *r, struct error *err)
{
    unsigned int port;
    const char *name;
    uint32_t node;
    int state;

    if (parse_end (r, &node, &port, err) < 0)
        return -1;
    name = word (r);
    if ((state = fabric_find_state (name)) < 0)
        return error_input (err, "\"%.40s\" is no state of a port", name);
    if (end_of_line (r, err) < 0)
        return -1;
    return fabric_set_state (r->f, node, port, state, err);
}

/* "4xHDR", "?xHDR", "4x?" or "-" */
static int parse_rate (char *text, unsigned int *width, const char **speed,
                       struct error *err)
{
    char *x;

    *width = 0;
    *speed = "";
    if (strcmp (text, "-") == 0)
        return 0;
    x = strchr (text, 'x');
    if (!x)
        return error_input (err, "\"%.40s\" is no width and speed", text);
    *x = '\0';
    if (strcmp (text, "?") != 0
        && parse_number (text, UINT8_MAX, "width", width, err) < 0)
        return -1;
    if (strcmp (x + 1, "?") != 0)
        *speed = x + 1;
    return 0;
}

static int read_cable (struct reader *r, struct error *err)
{
    unsigned int port_a, port_b, width;
    uint32_t a, b;
    const char *speed;

    if (parse_end (r, &a, &port_a, err) < 0
        || parse_end (r, &b, &port_b, err) < 0
        || parse_rate (word (r), &width, &speed, err) < 0
        || end_of_line (r, err) < 0)
        return -1;
    return fabric_add_cable (r->f, a, port_a, b, port_b, width, speed, err);
}

static int finish_lft (struct reader *r, struct error *err)
{
    if (!r->in_lft)
        return 0;
    r->in_lft = false;
    return fabric_set_lft (r->f, r->node, r->lft, r->lft_top, err);
}

static int read_lft (struct reader *r, struct error *err)
{
    unsigned int top;
    uint32_t node;

    if (parse_node (r, &node, err) < 0
        || parse_number (word (r), FABRIC_MAX_LID, "LID", &top, err) < 0
        || end_of_line (r, err) < 0)
        return -1;
    if (top + 1 > r->lft_left)
        return error_input (err, "the forwarding tables are too large for "
                                 "the length of the file");
    r->lft_left -= top + 1;
    r->node = node;
    r->lft_top = top;
    r->lft_next = 0;
    r->in_lft = true;
    memset (r->lft, LFT_NO_ROUTE, top + 1);
    return 0;
}

/* "FIRST HEX..." or "FIRST-LAST HEX" */
static int read_entries (struct reader *r, struct error *err)
{
    char *range = word (r), *hex = word (r), *dash = strchr (range, '-');
    size_t len = strlen (hex);
    unsigned int first, last;

    if (!r->in_lft)
        return error_input (err, "table entries without a table");
    if (dash)
        *dash = '\0';
    if (parse_number (range, FABRIC_MAX_LID, "LID", &first, err) < 0
        || (dash
            && parse_number (dash + 1, FABRIC_MAX_LID, "LID", &last, err) < 0)
        || end_of_line (r, err) < 0)
        return -1;
    if (len == 0 || len % 2 != 0 || (dash && len != 2))
        return error_input (err, "%zu hex digits are no table entries", len);
    if (!dash)
        last = first + len / 2 - 1;
    if (first < r->lft_next || last < first || last > r->lft_top)
        return error_input (err, "LIDs %u to %u do not belong here", first,
                            last);
    for (unsigned int lid = first; lid <= last; lid++) {
        int high = hex_digit (hex[0]), low = hex_digit (hex[1]);

        if (high < 0 || low < 0)
            return error_input (err, "\"%.2s\" is no port in hex", hex);
        r->lft[lid] = high << 4 | low;
        if (!dash)
            hex += 2;
    }
    r->lft_next = last + 1;
    return 0;
}

static const struct keyword {
    const char *name;
    enum section section;
    bool once;
    int (*read) (struct reader *r, struct error *err);
} keywords[] = {
    { "generator", HEADER, true, read_generator },
    { "source", HEADER, true, read_source },
    { "time", HEADER, true, read_time },
    { "subnet", HEADER, true, read_subnet },
    { "part", HEADER, true, read_part },
    { "hash", HEADER, true, read_hash },
    { "warning", HEADER, false, read_warning },
    { "ca", NODES, false, read_ca },
    { "switch", NODES, false, read_switch },
    { "router", NODES, false, read_router },
    { "system", NODES, false, read_system },
    { "adaptive", NODES, false, read_adaptive },
    { "state", NODES, false, read_state },
    { "port", NODES, false, read_port },
    { "rates", NODES, false, read_rates },
    { "cable", CABLES, false, read_cable },
    { "lft", TABLES, false, read_lft },
};

static int read_magic (struct reader *r, struct error *err)
{
    if (strncmp (r->next, MAGIC, strlen (MAGIC)) != 0)
        return error_input (err, "this is no fabric snapshot: its first line "
                                 "is not \"" MAGIC FORMAT "\"");
    r->next += strlen (MAGIC);
    if (strcmp (r->next, FORMAT) != 0)
        return error_input (err,
                            "this is a fabric snapshot of version %.20s, but "
                            "only version " FORMAT " is known",
                            r->next);
    r->section = HEADER;
    return 0;
}

static int read_line (struct reader *r, struct error *err)
{
    const char *name;

    if (*r->next >= '0' && *r->next <= '9')
        return read_entries (r, err);
    if (finish_lft (r, err) < 0)
        return -1;
    name = word (r);
    for (size_t i = 0; i < sizeof (keywords) / sizeof (keywords[0]); i++) {
        const struct keyword *k = &keywords[i];

        if (strcmp (name, k->name) != 0)
            continue;
        if (k->section < r->section)
            return error_input (err, "a %s line is out of place", name);
        if (k->once && r->seen & 1U << i)
            return error_input (err, "a second %s line", name);
        r->seen |= 1U << i;
        r->section = k->section;
        return k->read (r, err);
    }
    return error_input (err, "\"%.40s\" starts no line of a fabric snapshot",
                        name);
}

/* The last line; nothing may follow it. */
static int read_end (struct reader *r, const struct digest *digest,
                     const char *hex, bool last, struct error *err)
{
    char expected[DIGEST_HEX];

    if (finish_lft (r, err) < 0)
        return -1;
    digest_hex (digest, expected);
    if (!digest_agrees (hex, expected))
        return error_input (err, "the checksum is wrong: the file was changed "
                                 "or damaged");
    if (!last)
        return error_input (err, "something follows the last line");
    r->section = END;
    return 0;
}

static int check_line (const char *line, size_t len, struct error *err)
{
    if (len >= MAX_LINE)
        return error_input (err, "the line is longer than %d bytes",
                            MAX_LINE - 1);
    for (size_t i = 0; i < len; i++)
        if (line[i] < 0x20 || line[i] > 0x7e)
            return error_input (err, "byte %zu of the line (0x%02x) is no "
                                     "printable ASCII",
                                i + 1, (unsigned char)line[i]);
    return 0;
}

/* All lines of the text, which has a NUL behind it. */
static int read_lines (struct reader *r, char *text, size_t len,
                       size_t *number, struct error *err)
{
    char *end = text + len, *newline;
    struct digest digest;

    digest_init (&digest);
    for (char *p = text; p < end; p = newline + 1) {
        bool first = r->section == START;
        size_t length;

        ++*number;
        newline = memchr (p, '\n', end - p);
        length = (newline ? newline : end) - p;
        if (check_line (p, length, err) < 0)
            return -1;
        p[length] = '\0';
        r->next = p;
        if (first && read_magic (r, err) < 0)
            return -1;
        if (!newline)
            break;
        if (strncmp (p, "end ", 4) == 0)
            return read_end (r, &digest, p + 4, newline + 1 == end, err);
        digest_bytes (&digest, p, length);
        if (!first && read_line (r, err) < 0)
            return -1;
    }
    return error_input (err, "the file is cut short");
}

struct fabric *fabric_read (FILE *fp, const char *name, struct error *err)
{
    struct reader r = { .section = START };
    size_t len, number = 0;
    char *text;

    text = file_slurp (fp, MAX_FILE, &len, err);
    if (!text) {
        error_prefix (err, "%s", name);
        return NULL;
    }
    r.lft_left = TABLES_MIN + TABLES_FACTOR * len;
    r.f = fabric_create ();
    r.lft = malloc (FABRIC_MAX_LID + 1);
    if (!r.f || !r.lft) {
        error_nomem (err);
        goto error;
    }
    if (read_lines (&r, text, len, &number, err) < 0) {
        error_prefix (err, "%s:%zu", name, number ? number : 1);
        goto error;
    }
    if (fabric_finish (r.f, err) < 0) {
        error_prefix (err, "%s:%zu", name, number);
        goto error;
    }
    if (!digest_agrees (r.hash, r.f->hash)) {
        error_input (err, "%s:%zu: the fabric is not the one whose hash the "
                          "file gives",
                     name, number);
        goto error;
    }
    free (r.lft);
    free (text);
    return r.f;
error:
    fabric_destroy (r.f);
    free (r.lft);
    free (text);
    return NULL;
}

struct fabric *fabric_load (const char *path, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct fabric *f;

    if (!fp)
        return NULL;
    f = fabric_read (fp, strcmp (path, "-") == 0 ? "standard input" : path,
                     err);
    file_close_input (fp);
    return f;
}

struct fabric *fabric_load_trusted (const char *path, uid_t owner,
                                    struct timespec *date,
                                    struct error *err)
{
    FILE *fp = file_open_trusted (path, owner, err);
    struct fabric *f = NULL;
    struct stat st;

    if (!fp)
        return NULL;
    if (fstat (fileno (fp), &st) < 0)
        error_errno (err, "%s", path);
    else if ((f = fabric_read (fp, path, err)) && date)
        *date = st.st_mtim;
    fclose (fp);
    return f;
}
