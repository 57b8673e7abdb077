/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/ports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

enum { LINE_BYTES = 4096, WORDS_MAX = 128, WORD_MAX_BYTES = 63 };

const struct ports_pcie ports_pcie[PORTS_PCIE] = {
    { "PcieWidth", offsetof (struct pcie, now.lanes), PCIE_LANES_MAX },
    { "PcieSpeed", offsetof (struct pcie, now.mts), PCIE_MTS_MAX },
    { "PcieAbleWidth", offsetof (struct pcie, could.lanes), PCIE_LANES_MAX },
    { "PcieAbleSpeed", offsetof (struct pcie, could.mts), PCIE_MTS_MAX },
};

/* One write, so that lines of several nodes do not mix. */
static void say_port (const struct local_port *p, const char *nonce, FILE *fp)
{
    char line[1000] = "";
    struct pcie pcie = p->pcie;
    size_t len = 0;

    for (size_t i = 0; i < LOCAL_COUNTERS; i++)
        if (p->has[i] && len < sizeof (line))
            len += (size_t)snprintf (line + len, sizeof (line) - len,
                                     " %s=%" PRIu64, local_counters[i].name,
                                     p->counter[i]);
    if (!pcie_is_degraded (&pcie))
        pcie.could = pcie.now;
    for (int i = 0; i < PORTS_PCIE && pcie.now.lanes; i++)
        if (len < sizeof (line))
            len += (size_t)snprintf (line + len, sizeof (line) - len, " %s=%u",
                                     ports_pcie[i].name,
                                     ports_pcie_value (&pcie, i));
    fprintf (fp, "pmm-port 1 %s %016" PRIx64 "/%u %u %u %s%s\n", nonce,
             p->node_guid, p->port, p->state, p->phys_state,
             RATES_SHOWN (&p->rate), line);
}

/* This node's InfiniBand ports; the caller frees them. */
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

void ports_watch_begin (struct ports_watch *w, const char *sysfs,
                        int64_t now_ns, const uint64_t own[2])
{
    if (!w->port && own_ports (sysfs, &w->port, &w->n, NULL) == 0) {
        w->before = xcalloc (w->n, sizeof (*w->before));
        w->sum = xcalloc (w->n, sizeof (*w->sum));
        for (size_t i = 0; i < w->n; i++) {
            w->sum[i].node_guid = w->port[i].node_guid;
            w->sum[i].port = w->port[i].port;
        }
    }
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
                         const struct local_traffic *now,
                         enum local_traffic_id data,
                         enum local_traffic_id small)
{
    uint64_t words, packets;

    if (!local_growth (before, now, data, &words))
        return PORTS_UNTOLD;
    if (local_growth (before, now, small, &packets)
        && packets > words / (PORTS_PACKET / 4))
        words = packets * (PORTS_PACKET / 4);
    return words < INT64_MAX / 4 ? 4 * words : PORTS_UNTOLD;
}

/* If one term is not known, the sum is not known. */
static void add_bytes (uint64_t *sum, uint64_t growth)
{
    *sum = growth == PORTS_UNTOLD || *sum == PORTS_UNTOLD ? PORTS_UNTOLD
                                                          : *sum + growth;
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
        add_bytes (&sum->bytes[0], carried (&w->before[i], &now, LOCAL_SENT,
                                            LOCAL_SENT_PACKETS));
        add_bytes (&sum->bytes[1], carried (&w->before[i], &now, LOCAL_RECEIVED,
                                            LOCAL_RECEIVED_PACKETS));
        sum->ns += (uint64_t)(now_ns - w->since_ns);
    }
    for (int way = 0; way < 2; way++)
        w->own[way] += own[way] - w->since[way];
}

static const char *counter_number_text (uint64_t n, char text[24])
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
        fprintf (fp, "pmm-traffic 1 %s %016" PRIx64 "/%u %" PRIu64 " %s %s "
                     "%s\n", nonce, t.node_guid, t.port, t.ns,
                 counter_number_text (t.bytes[0], text[0]),
                 counter_number_text (t.bytes[1], text[1]),
                 counter_number_text (t.waited, text[2]));
    }
}

/* Parse */

/* Split a line into words, in copy. Return their number, 0 if it is not one of
 * our lines.
 */
static size_t split_ports_line (const char *line, char copy[LINE_BYTES],
                                const char *word[WORDS_MAX])
{
    char *rest = copy, *w;
    size_t n = 0;

    if (strlen (line) >= LINE_BYTES)
        return 0;
    strcpy (copy, line);
    while ((w = strsep (&rest, " "))) {
        if (!*w)
            continue;
        if (n == WORDS_MAX || strlen (w) > WORD_MAX_BYTES)
            return 0;
        word[n++] = w;
    }
    return n;
}

/* "KIND 1 NONCE GUID/PORT" */
static bool get_head (const char *const *word, const char *kind,
                      const char *nonce, uint64_t *node_guid,
                      unsigned int *port)
{
    char guid[20] = "0x";
    uint64_t number;

    if (strcmp (word[0], kind) || strcmp (word[1], "1")
        || strcmp (word[2], nonce) || strcspn (word[3], "/") != 16
        || !word[3][16] || text_u64 (word[3] + 17, 1, UINT8_MAX, &number) < 0)
        return false;
    memcpy (guid + 2, word[3], 16);
    *port = (unsigned int)number;
    return text_u64 (guid, 1, UINT64_MAX, node_guid) == 0;
}

static bool parse_port_counter (const char *word, struct local_port *p)
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
    for (int i = 0; i < PORTS_PCIE; i++)
        if (strlen (ports_pcie[i].name) == len
            && !memcmp (ports_pcie[i].name, word, len)) {
            if (value < 1 || value > ports_pcie[i].max)
                return false;
            *(unsigned int *)((char *)&p->pcie + ports_pcie[i].offset)
                = (unsigned int)value;
        }
    return true;
}

bool ports_parse (const char *line, const char *nonce, struct local_port *port)
{
    struct local_port p = { .layer = LAYER_INFINIBAND };
    const char *word[WORDS_MAX];
    char copy[LINE_BYTES];
    size_t n = split_ports_line (line, copy, word);
    uint64_t state, phys_state;

    if (n < 7 || !get_head (word, "pmm-port", nonce, &p.node_guid, &p.port)
        || text_u64 (word[4], 0, 15, &state) < 0
        || text_u64 (word[5], 0, 15, &phys_state) < 0)
        return false;
    p.state = (unsigned int)state;
    p.phys_state = (unsigned int)phys_state;
    rates_parse_one (word[6], &p.rate); /* on failure it is not known */
    for (size_t i = 7; i < n; i++)
        if (!parse_port_counter (word[i], &p))
            return false;
    for (int i = 0; i < PORTS_PCIE; i++)
        if (!ports_pcie_value (&p.pcie, i)) {
            p.pcie = (struct pcie){ 0 };
            break;
        }
    *port = p;
    return true;
}

static bool get_bytes (const char *word, uint64_t *n)
{
    *n = PORTS_UNTOLD;
    return !strcmp (word, "?") || text_u64 (word, 0, INT64_MAX, n) == 0;
}

bool ports_parse_traffic (const char *line, const char *nonce,
                          struct port_traffic *traffic)
{
    struct port_traffic t;
    const char *word[WORDS_MAX];
    char copy[LINE_BYTES];

    if (split_ports_line (line, copy, word) != 8
        || !get_head (word, "pmm-traffic", nonce, &t.node_guid, &t.port)
        || text_u64 (word[4], 0, INT64_MAX, &t.ns) < 0
        || !get_bytes (word[5], &t.bytes[0])
        || !get_bytes (word[6], &t.bytes[1]) || !get_bytes (word[7], &t.waited))
        return false;
    *traffic = t;
    return true;
}
