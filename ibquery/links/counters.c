/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/lines.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/sort.h"
#include "util/text.h"

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))
#define BIT(id) (1U << (id))

/* The position of each counter in PortCounters and PortCountersExtended, in
 * bits.
 */
static const struct {
    const char *name;
    uint16_t offset, bits, extended;
} table[COUNTERS] = {
    [COUNTER_SYMBOL_ERRORS] = { "SymbolErrorCounter", 32, 16, 576 },
    [COUNTER_LINK_RECOVERY] = { "LinkErrorRecoveryCounter", 48, 8, 640 },
    [COUNTER_LINK_DOWNED] = { "LinkDownedCounter", 56, 8, 704 },
    [COUNTER_RCV_ERRORS] = { "PortRcvErrors", 64, 16, 768 },
    [COUNTER_RCV_REMOTE_PHYSICAL]
    = { "PortRcvRemotePhysicalErrors", 80, 16, 832 },
    [COUNTER_RCV_SWITCH_RELAY] = { "PortRcvSwitchRelayErrors", 96, 16, 896 },
    [COUNTER_XMIT_DISCARDS] = { "PortXmitDiscards", 112, 16, 960 },
    [COUNTER_XMIT_CONSTRAINT] = { "PortXmitConstraintErrors", 128, 8, 1024 },
    [COUNTER_RCV_CONSTRAINT] = { "PortRcvConstraintErrors", 136, 8, 1088 },
    [COUNTER_LINK_INTEGRITY] = { "LocalLinkIntegrityErrors", 152, 4, 1152 },
    [COUNTER_BUFFER_OVERRUN]
    = { "ExcessiveBufferOverrunErrors", 156, 4, 1216 },
    [COUNTER_VL15_DROPPED] = { "VL15Dropped", 176, 16, 1280 },
    [COUNTER_XMIT_WAIT] = { "PortXmitWait", 320, 32, 1344 },
    [COUNTER_XMIT_DATA] = { "PortXmitData", 192, 32, 64 },
    [COUNTER_RCV_DATA] = { "PortRcvData", 224, 32, 128 },
    [COUNTER_XMIT_PKTS] = { "PortXmitPkts", 256, 32, 192 },
    [COUNTER_RCV_PKTS] = { "PortRcvPkts", 288, 32, 256 },
    [COUNTER_RAW_BER] = { "RawBER", 0, 0, 0 },
    [COUNTER_EFFECTIVE_BER] = { "EffectiveBER", 0, 0, 0 },
    [COUNTER_SYMBOL_BER] = { "SymbolBER", 0, 0, 0 },
};

enum {
    DATA = BIT (COUNTER_XMIT_DATA) | BIT (COUNTER_RCV_DATA)
           | BIT (COUNTER_XMIT_PKTS) | BIT (COUNTER_RCV_PKTS),
    CAP_EXTENDED = 1 << 9, /* with unicast and multicast packets, */
    CAP_EXTENDED_FEW = 1 << 10, /* or without */
    CAP_XMIT_WAIT = 1 << 12,
    CAP2_EXTENDED_ERRORS = 1 << 1, /* CapabilityMask2, */
    CAP2_SHIFT = 5,                /* 27 bits above RespTimeValue */
};

static const char *const fec_names[] = {
    [FEC_UNKNOWN] = "-",         [FEC_NONE] = "none",
    [FEC_FIRECODE] = "fire-code", [FEC_RS] = "rs",
    [FEC_RS_LOW_LATENCY] = "rs-low-latency", [FEC_RS2] = "rs2",
};

const char *counter_name (enum counter_id id)
{
    return table[id].name;
}

int fec_is_active (enum fec fec)
{
    return fec == FEC_UNKNOWN ? -1 : fec != FEC_NONE;
}

struct counters *counters_create (void)
{
    return xcalloc (1, sizeof (struct counters));
}

void counters_destroy (struct counters *c)
{
    if (c) {
        free (c->port);
        free (c);
    }
}

struct port_counters *counters_add (struct counters *c, uint64_t guid,
                                    uint8_t port, struct error *err)
{
    if (c->nports == COUNTERS_MAX_PORTS) {
        error_input (err, "more than %d ports", COUNTERS_MAX_PORTS);
        return NULL;
    }
    c->port = xgrow (c->port, c->nports, sizeof (*c->port));
    c->port[c->nports] = (struct port_counters){ .guid = guid, .port = port };
    return &c->port[c->nports++];
}

static int compare_counter_ports (const void *va, const void *vb)
{
    const struct port_counters *a = va, *b = vb;

    return a->guid != b->guid ? util_compare (a->guid, b->guid)
                              : util_compare (a->port, b->port);
}

int counters_sort (struct counters *c, struct error *err)
{
    if (c->nports > 0)
        qsort (c->port, c->nports, sizeof (*c->port), compare_counter_ports);
    for (size_t i = 1; i < c->nports; i++)
        if (compare_counter_ports (&c->port[i - 1], &c->port[i]) == 0)
            return error_input (err, "port %016" PRIx64 "/%u occurs twice",
                                c->port[i].guid, c->port[i].port);
    return 0;
}

const struct port_counters *counters_find (const struct counters *c,
                                           uint64_t guid, uint8_t port)
{
    const struct port_counters key = { .guid = guid, .port = port };

    return c->nports ? bsearch (&key, c->port, c->nports, sizeof (key),
                                compare_counter_ports)
                     : NULL;
}

/* Bits of a MAD, which is big-endian. */
static uint64_t get_bits (const uint8_t *data, unsigned int offset,
                          unsigned int bits)
{
    uint64_t value = 0;

    for (unsigned int i = offset; i < offset + bits; i++)
        value = value << 1 | (data[i / 8] >> (7 - i % 8) & 1);
    return value;
}

void counters_caps (const uint8_t data[COUNTERS_DATA],
                    struct counters_caps *caps)
{
    unsigned int mask = get_bits (data, 16, 16);
    unsigned int mask2 = get_bits (data, 32, 32) >> CAP2_SHIFT;

    caps->extended = mask & (CAP_EXTENDED | CAP_EXTENDED_FEW);
    caps->extended_errors = caps->extended && mask2 & CAP2_EXTENDED_ERRORS;
    caps->xmit_wait = mask & CAP_XMIT_WAIT;
}

unsigned int counter_bits (enum counter_id id)
{
    return table[id].bits;
}

bool counter_take (struct port_counters *port, enum counter_id id,
                   bool extended, uint64_t value)
{
    uint64_t end = UINT64_MAX >> (extended ? 0 : 64 - table[id].bits);
    bool at_end = value == end;

    if (value > end)
        return false;
    port->value[id] = value;
    port->told |= BIT (id);
    port->at_end = (port->at_end & ~BIT (id)) | (at_end ? BIT (id) : 0);
    return true;
}

static uint32_t in_extended (const struct counters_caps *caps)
{
    if (caps->extended_errors)
        return BIT (COUNTERS_COUNTS) - 1;
    return caps->extended ? DATA : 0;
}

void counters_decode (const uint8_t data[COUNTERS_DATA],
                      const struct counters_caps *caps,
                      struct port_counters *port)
{
    for (unsigned int i = 0; i < COUNTERS_COUNTS; i++)
        if (!(in_extended (caps) & BIT (i))
            && (i != COUNTER_XMIT_WAIT || caps->xmit_wait))
            counter_take (port, i, false,
                          get_bits (data, table[i].offset, table[i].bits));
}

void counters_decode_extended (const uint8_t data[COUNTERS_DATA],
                               const struct counters_caps *caps,
                               struct port_counters *port)
{
    for (unsigned int i = 0; i < COUNTERS_COUNTS; i++)
        if (in_extended (caps) & BIT (i))
            counter_take (port, i, true,
                          get_bits (data, table[i].extended, 64));
}

enum fec counters_decode_fec (const uint8_t *data)
{
    unsigned int mode = get_bits (data, 32, 16);
    bool known = get_bits (data, 0, 32) & 1; /* CapMask: FEC modes are valid */

    return known && mode <= FEC_RS2 - FEC_NONE ? FEC_NONE + mode
                                               : FEC_UNKNOWN;
}

/* The file */

struct counters_reader {
    struct counters *c;
    int column[COUNTERS];      /* counters in the columns after "fec" */
    size_t ncolumns;
};

static int read_counters_source (void *arg, struct words *w, struct error *err)
{
    struct counters_reader *r = arg;
    const char *source = words_rest (w);

    if (strlen (source) >= sizeof (r->c->source))
        return error_input (err, "the source is longer than %zu bytes",
                            sizeof (r->c->source) - 1);
    strcpy (r->c->source, source);
    return 0;
}

static int read_counters_time (void *arg, struct words *w, struct error *err)
{
    return words_time (w, &((struct counters_reader *)arg)->c->time, err);
}

static int read_lasted (void *arg, struct words *w, struct error *err)
{
    struct counters_reader *r = arg;
    uint64_t seconds = 0;
    int rc = words_number (w, UINT32_MAX, "number of seconds", &seconds, err);

    r->c->lasted = seconds;
    return rc;
}

static int read_fabric (void *arg, struct words *w, struct error *err)
{
    return words_hash (w, ((struct counters_reader *)arg)->c->fabric, err);
}

static int read_columns (void *arg, struct words *w, struct error *err)
{
    struct counters_reader *r = arg;
    uint32_t seen = 0;

    if (strcmp (words_next (w), "fec") != 0)
        return error_input (err, "the first column is not fec");
    while (*w->next) {
        const char *name = words_next (w);
        unsigned int id = 0;

        while (id < COUNTERS && strcmp (table[id].name, name) != 0)
            id++;
        if (id == COUNTERS || seen & BIT (id))
            return error_input (err, "\"%.40s\" is not a counter, or occurs "
                                     "twice", name);
        seen |= BIT (id);
        r->column[r->ncolumns++] = id;
    }
    return 0;
}

static int read_counter_value (struct port_counters *p, unsigned int id,
                               char *word, struct error *err)
{
    size_t len = strlen (word);
    bool at_end = len > 0 && word[len - 1] == '+';

    if (strcmp (word, "-") == 0)
        return 0;
    if (at_end)
        word[len - 1] = '\0';
    p->told |= BIT (id);
    p->at_end |= at_end ? BIT (id) : 0;
    return words_number (&(struct words){ .next = word }, UINT64_MAX, "count",
                         &p->value[id], err);
}

static int read_counter_port (void *arg, struct words *w, struct error *err)
{
    struct counters_reader *r = arg;
    struct port_counters *p;
    unsigned int port;
    const char *fec;
    uint64_t guid;

    if (r->ncolumns == 0)
        return error_input (err, "a port before the columns");
    if (words_port (w, &guid, &port, err) < 0
        || !(p = counters_add (r->c, guid, port, err)))
        return -1;
    fec = words_next (w);
    while (p->fec < COUNT (fec_names) && strcmp (fec_names[p->fec], fec) != 0)
        p->fec++;
    if (p->fec == COUNT (fec_names))
        return error_input (err, "\"%.40s\" is not a FEC mode", fec);
    for (size_t i = 0; i < r->ncolumns; i++)
        if (read_counter_value (p, r->column[i], words_next (w), err) < 0)
            return -1;
    return 0;
}

static const struct lines_keyword keywords[] = {
    { "generator", 0, true, false, lines_ignore },
    { "source", 0, true, false, read_counters_source },
    { "time", 0, true, true, read_counters_time },
    { "lasted", 0, true, true, read_lasted },
    { "fabric", 0, true, true, read_fabric },
    { "columns", 0, true, true, read_columns },
    { "port", 0, false, false, read_counter_port },
    { 0 },
};

static const struct lines_format format = {
    .magic = "pmm-counters", .what = "file of counters", .keyword = keywords,
};

static int finish_counters (void *arg, struct error *err)
{
    return counters_sort (((struct counters_reader *)arg)->c, err);
}

struct counters *counters_read (FILE *fp, const char *name,
                                struct error *err)
{
    struct counters_reader r = { .c = counters_create () };

    if (lines_read (fp, name, &format, finish_counters, &r, err) == 0)
        return r.c;
    counters_destroy (r.c);
    return NULL;
}

static struct counters *load_counters (const char *path, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct counters *c;

    if (!fp)
        return NULL;
    c = counters_read (fp, strcmp (path, "-") == 0 ? "standard input" : path,
                       err);
    file_close_input (fp);
    return c;
}

/* Add the ports of another subnet, read at about the same time. */
static int add_all (struct counters *c, const struct counters *more,
                    struct error *err)
{
    int64_t end = c->time + c->lasted, other = more->time + more->lasted;

    for (size_t i = 0; i < more->nports; i++) {
        struct port_counters *p = counters_add (c, more->port[i].guid,
                                                more->port[i].port, err);

        if (!p)
            return -1;
        *p = more->port[i];
    }
    c->time = more->time < c->time ? more->time : c->time;
    end = (end > other ? end : other) - c->time;
    c->lasted = end > 0 && end < UINT32_MAX ? (uint32_t)end : 0;
    return counters_sort (c, err);
}

struct counters *counters_load (const char *paths, struct error *err)
{
    struct counters *c = NULL, *more;
    char path[TEXT_PATH];
    int rc = 0;

    while (rc == 0 && text_next (&paths, path)) {
        if (!(more = load_counters (path, err)))
            rc = -1;
        else if (!c) {
            c = more;
            continue;
        }
        else if ((rc = add_all (c, more, err)) < 0)
            error_prefix (err, "%s", SHOWN (path));
        counters_destroy (more);
    }
    if (rc == 0 && !c)
        error_input (err, "no file of counters is named");
    if (rc == 0)
        return c;
    counters_destroy (c);
    return NULL;
}

int counters_write (const struct counters *c, FILE *fp, struct error *err)
{
    /* BERs only if there are any */
    uint32_t columns = BIT (COUNTERS_COUNTS) - 1;
    char when[LINES_TIME], line[LINES_MAX] = "";
    struct lines_out out;
    size_t len = 0;

    for (size_t k = 0; k < c->nports; k++)
        columns |= c->port[k].told;
    lines_begin (&out, fp, &format);
    if (*c->source)
        lines_put (&out, "source %s", c->source);
    lines_put (&out, "time %s", lines_format_time (c->time, when));
    lines_put (&out, "lasted %" PRIu32, c->lasted);
    lines_put (&out, "fabric %s", c->fabric);
    for (unsigned int i = 0; i < COUNTERS; i++)
        if (columns & BIT (i))
            len += snprintf (line + len, sizeof (line) - len, " %s",
                             table[i].name);
    lines_put (&out, "columns fec%s", line);
    for (size_t k = 0; k < c->nports; k++) {
        const struct port_counters *p = &c->port[k];

        len = *line = '\0';
        for (unsigned int i = 0; i < COUNTERS; i++)
            if (!(columns & BIT (i)))
                continue;
            else if (p->told & BIT (i))
                len += snprintf (line + len, sizeof (line) - len,
                                 " %" PRIu64 "%s", p->value[i],
                                 p->at_end & BIT (i) ? "+" : "");
            else
                len += snprintf (line + len, sizeof (line) - len, " -");
        lines_put (&out, "port %016" PRIx64 "/%u %s%s", p->guid, p->port,
                   fec_names[p->fec], line);
    }
    return lines_end (&out, err);
}

/*
 * Growth
 */

#define BER 1e-12           /* without error correction */
#define BER_CORRECTED 1e-15 /* after error correction */
#define HOUR 3600.0
#define SIGMAS 5
#define SPARE 2             /* errors */

/* How many events are healthy in how many seconds; 0: they are never a sign. */
static const struct {
    unsigned int count, seconds;
} events[COUNTERS] = {
    [COUNTER_LINK_RECOVERY] = { 1, 3600 },
    [COUNTER_LINK_DOWNED] = { 2, 43200 },
    [COUNTER_RCV_ERRORS] = { 10, 3600 },
    [COUNTER_LINK_INTEGRITY] = { 1, 3600 },
    [COUNTER_BUFFER_OVERRUN] = { 1, 3600 },
};

/* Whether any counter of the port went back. */
static bool was_reset (const struct port_counters *before,
                       const struct port_counters *now)
{
    for (unsigned int i = 0; i < COUNTERS_COUNTS; i++)
        if (before->told & now->told & BIT (i)
            && now->value[i] < before->value[i])
            return true;
    return false;
}

struct growth growth_of (const struct port_counters *before,
                         const struct port_counters *now,
                         enum counter_id id)
{
    uint64_t then, value;

    if (!before || !now || !(before->told & now->told & BIT (id)))
        return (struct growth){ GROWTH_UNTOLD, 0 };
    then = before->value[id];
    value = now->value[id];
    if (value < then)
        return (struct growth){ GROWTH_RESET, value };
    if (before->at_end & BIT (id))
        return (struct growth){ GROWTH_AT_END, 0 };
    if (now->at_end & BIT (id))
        return (struct growth){ GROWTH_AT_END, value - then };
    return (struct growth){ was_reset (before, now) ? GROWTH_RESET
                                                    : GROWTH_EXACT,
                            value - then };
}

double growth_seconds (const struct counters *before,
                       const struct counters *now)
{
    if (now->time <= before->time)
        return 0;
    return (double)(now->time - before->time) + now->lasted;
}

bool growth_is_limited (enum counter_id id)
{
    return id == COUNTER_SYMBOL_ERRORS || events[id].count > 0;
}

double growth_limit_per_hour (enum counter_id id, const struct rates *rate,
                              enum fec fec)
{
    const struct rates edr = rates_of (0, "EDR");
    bool corrected = fec_is_active (fec) > 0 || rates_slower (&edr, rate);
    double ber = corrected ? BER_CORRECTED : BER, bits = rates_bits (rate);

    if (id == COUNTER_SYMBOL_ERRORS)
        return bits > 0 ? ber * bits * HOUR : NAN;
    return events[id].count > 0 ? events[id].count * HOUR / events[id].seconds
                                : NAN;
}

double growth_allowed (enum counter_id id, const struct rates *rate,
                       enum fec fec, double seconds)
{
    double mean = growth_limit_per_hour (id, rate, fec) * seconds / HOUR;

    if (id == COUNTER_SYMBOL_ERRORS)
        return mean + SIGMAS * sqrt (mean) + SPARE;
    return mean + events[id].count;
}

double counter_ber_limit (enum counter_id id, const struct rates *rate)
{
    static const struct {
        const char *speed; /* from this one on */
        double raw, effective, symbol;
    } limits[] = {
        { "NDR", 1e-5, 1e-11, 1e-13 },
        { "HDR", 1e-5, 1e-13, 1e-13 },
        { "SDR", 1e-9, 1e-13, 1e-13 },
    };
    size_t i = 0;

    if (id < COUNTERS_COUNTS || rate->speeds == 0)
        return NAN;
    for (; i < COUNT (limits) - 1; i++) {
        struct rates speed = rates_of (0, limits[i].speed);

        if (!rates_slower (rate, &speed))
            break;
    }
    return id == COUNTER_RAW_BER         ? limits[i].raw
           : id == COUNTER_EFFECTIVE_BER ? limits[i].effective
                                         : limits[i].symbol;
}
