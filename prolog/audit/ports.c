/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the members of an audit say of their ports. */
#include "config.h"
#include "prolog/audit/ports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

enum { WORD_BYTES = 64 };

static void say_port (const struct local_port *p, const char *nonce, FILE *fp)
{
    char rate[LOCAL_RATE_BYTES];
    char line[1000];
    size_t len;

    /* as one write, so that lines of many nodes stay whole */
    len = (size_t)snprintf (line, sizeof (line),
                            "pmm-port 1 %s %016" PRIx64 "/%u %u %u %s", nonce,
                            p->node_guid, p->port, p->state, p->phys_state,
                            local_rate_format (&p->rate, rate));
    for (size_t i = 0; i < LOCAL_COUNTERS; i++)
        if (p->has[i] && len < sizeof (line))
            len += (size_t)snprintf (line + len, sizeof (line) - len,
                                     " %s=%" PRIu64, local_counters[i].name,
                                     p->counter[i]);
    if (len < sizeof (line))
        fprintf (fp, "%s\n", line);
}

/* This node's ports of InfiniBand, which the caller frees. */
static int own_ports (const char *sysfs, struct local_port **v, size_t *n,
                      struct error *err)
{
    size_t all, kept = 0;

    if (local_ports (sysfs, v, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all; i++)
        if ((*v)[i].layer == LAYER_INFINIBAND && (*v)[i].node_guid)
            (*v)[kept++] = (*v)[i];
    *n = kept;
    return 0;
}

void ports_say (const char *sysfs, const char *nonce, FILE *fp)
{
    struct local_port *v;
    struct error err;
    size_t n;

    if (own_ports (sysfs, &v, &n, &err) < 0) {
        fprintf (fp, "pmm: %s\n", err.text);
        return;
    }
    for (size_t i = 0; i < n; i++)
        say_port (&v[i], nonce, fp);
    free (v);
}

/* Those that there are, which carried nothing yet. */
static void find_ports (struct ports_watch *w, const char *sysfs)
{
    if (own_ports (sysfs, &w->port, &w->n, NULL) < 0)
        return;
    w->before = xcalloc (w->n, sizeof (*w->before));
    w->sum = xcalloc (w->n, sizeof (*w->sum));
    for (size_t i = 0; i < w->n; i++) {
        w->sum[i].node_guid = w->port[i].node_guid;
        w->sum[i].port = w->port[i].port;
    }
}

void ports_watch_begin (struct ports_watch *w, const char *sysfs,
                        int64_t now_ns, const uint64_t own[2])
{
    if (!w->port)
        find_ports (w, sysfs);
    for (size_t i = 0; i < w->n; i++)
        local_traffic (sysfs, &w->port[i], &w->before[i]);
    w->since_ns = now_ns;
    memcpy (w->since, own, sizeof (w->since));
}

void ports_watch_clear (struct ports_watch *w)
{
    free (w->port);
    free (w->before);
    free (w->sum);
    *w = (struct ports_watch){ 0 };
}

/* In bytes; PORTS_UNTOLD: not known. */
static uint64_t carried (const struct local_traffic *before,
                         const struct local_traffic *now, int way)
{
    static const enum local_traffic_id data[] = { LOCAL_SENT, LOCAL_RECEIVED };
    static const enum local_traffic_id small[]
        = { LOCAL_SENT_PACKETS, LOCAL_RECEIVED_PACKETS };
    uint64_t words, packets;

    if (!local_growth (before, now, data[way], &words))
        return PORTS_UNTOLD;
    if (local_growth (before, now, small[way], &packets)
        && packets > words / (PORTS_PACKET / 4))
        words = packets * (PORTS_PACKET / 4);
    return words < INT64_MAX / 4 ? 4 * words : PORTS_UNTOLD;
}

/* What is not known once is not known of all. */
static void add_bytes (uint64_t *sum, uint64_t growth)
{
    if (growth == PORTS_UNTOLD || *sum == PORTS_UNTOLD)
        *sum = PORTS_UNTOLD;
    else
        *sum += growth;
}

void ports_watch_end (struct ports_watch *w, const char *sysfs, int64_t now_ns,
                      const uint64_t own[2])
{
    for (size_t i = 0; i < w->n; i++) {
        struct port_traffic *sum = &w->sum[i];
        uint64_t waited = PORTS_UNTOLD;
        struct local_traffic now;

        local_traffic (sysfs, &w->port[i], &now);
        local_growth (&w->before[i], &now, LOCAL_WAITED, &waited);
        add_bytes (&sum->waited, waited);
        for (int way = 0; way < 2; way++)
            add_bytes (&sum->bytes[way], carried (&w->before[i], &now, way));
        sum->ns += (uint64_t)(now_ns - w->since_ns);
    }
    for (int way = 0; way < 2; way++)
        w->own[way] += own[way] - w->since[way];
}

static const char *number (uint64_t n, char text[24])
{
    if (n == PORTS_UNTOLD)
        return "?";
    snprintf (text, 24, "%" PRIu64, n);
    return text;
}

void ports_say_traffic (const struct ports_watch *w, const char *nonce,
                        FILE *fp)
{
    uint64_t sum[2] = { 0, 0 };

    for (size_t i = 0; i < w->n; i++)
        for (int way = 0; way < 2; way++)
            if (w->sum[i].bytes[way] != PORTS_UNTOLD)
                sum[way] += w->sum[i].bytes[way];
    for (size_t i = 0; i < w->n; i++) {
        struct port_traffic t = w->sum[i];
        char text[3][24];

        for (int way = 0; way < 2; way++)
            if (t.bytes[way] != PORTS_UNTOLD)
                t.bytes[way] = sum[way] < w->own[way] / 4 ? PORTS_UNTOLD
                               : t.bytes[way] > w->own[way]
                                   ? t.bytes[way] - w->own[way]
                                   : 0;
        fprintf (fp,
                 "pmm-traffic 1 %s %016" PRIx64 "/%u %" PRIu64 " %s %s %s\n",
                 nonce, t.node_guid, t.port, t.ns, number (t.bytes[0], text[0]),
                 number (t.bytes[1], text[1]), number (t.waited, text[2]));
    }
}

/* The next word of a line, into buf; false at its end, or where it is longer.
 */
static bool take_word (const char **line, char buf[WORD_BYTES])
{
    size_t len;

    *line += strspn (*line, " ");
    len = strcspn (*line, " ");
    if (len == 0 || len >= WORD_BYTES)
        return false;
    memcpy (buf, *line, len);
    buf[len] = '\0';
    *line += len;
    return true;
}

static bool take_number (const char **line, uint64_t max, unsigned int *value)
{
    char word[WORD_BYTES];
    uint64_t n;

    if (!take_word (line, word) || text_u64 (word, 0, max, &n) < 0)
        return false;
    *value = (unsigned int)n;
    return true;
}

static bool take_name (const char **line, uint64_t *node_guid,
                       unsigned int *number)
{
    char word[WORD_BYTES];
    char guid[20] = "0x";
    uint64_t port;

    if (!take_word (line, word) || strcspn (word, "/") != 16 || !word[16]
        || text_u64 (word + 17, 1, UINT8_MAX, &port) < 0)
        return false;
    memcpy (guid + 2, word, 16);
    *number = (unsigned int)port;
    return text_u64 (guid, 1, UINT64_MAX, node_guid) == 0;
}

static bool take_counter (const char *word, struct local_port *p)
{
    size_t len = strcspn (word, "=");
    uint64_t value;

    if (word[len] != '=' || text_u64 (word + len + 1, 0, INT64_MAX, &value) < 0)
        return false;
    for (size_t i = 0; i < LOCAL_COUNTERS; i++)
        if (strlen (local_counters[i].name) == len
            && !memcmp (local_counters[i].name, word, len)) {
            p->counter[i] = value;
            p->has[i] = true;
        }
    return true;
}

/* "KIND 1 NONCE GUID/PORT" */
static bool take_head (const char **line, const char *kind, const char *nonce,
                       uint64_t *node_guid, unsigned int *port)
{
    const char *const head[] = { kind, "1", nonce };
    char word[WORD_BYTES];

    for (size_t i = 0; i < 3; i++)
        if (!take_word (line, word) || strcmp (word, head[i]))
            return false;
    return take_name (line, node_guid, port);
}

bool ports_parse (const char *line, const char *nonce, struct local_port *port)
{
    struct local_port p = { .layer = LAYER_INFINIBAND };
    char word[WORD_BYTES];

    if (!take_head (&line, "pmm-port", nonce, &p.node_guid, &p.port)
        || !take_number (&line, 15, &p.state)
        || !take_number (&line, 15, &p.phys_state) || !take_word (&line, word))
        return false;
    local_rate_parse (word, &p.rate); /* else it is not told */
    while (take_word (&line, word))
        if (!take_counter (word, &p))
            return false;
    if (line[strspn (line, " ")])
        return false;
    *port = p;
    return true;
}

static bool take_bytes (const char **line, uint64_t *n)
{
    char word[WORD_BYTES];

    *n = PORTS_UNTOLD;
    return take_word (line, word)
           && (!strcmp (word, "?") || text_u64 (word, 0, INT64_MAX, n) == 0);
}

bool ports_parse_traffic (const char *line, const char *nonce,
                          struct port_traffic *traffic)
{
    struct port_traffic t;
    char word[WORD_BYTES];

    if (!take_head (&line, "pmm-traffic", nonce, &t.node_guid, &t.port)
        || !take_word (&line, word)
        || text_u64 (word, 0, INT64_MAX, &t.ns) < 0
        || !take_bytes (&line, &t.bytes[0]) || !take_bytes (&line, &t.bytes[1])
        || !take_bytes (&line, &t.waited) || line[strspn (line, " ")])
        return false;
    *traffic = t;
    return true;
}
