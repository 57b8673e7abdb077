/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the members of an audit say of their ports. */
#include "config.h"
#include "prolog/audit/ports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void ports_say (const char *sysfs, const char *nonce, FILE *fp)
{
    struct local_port *v;
    struct error err;
    size_t n;

    if (local_ports (sysfs, &v, &n, &err) < 0) {
        fprintf (fp, "pmm: %s\n", err.text);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (v[i].layer == LAYER_INFINIBAND && v[i].node_guid)
            say_port (&v[i], nonce, fp);
    free (v);
}

/* How much more a port has waited; 0 where it began anew, or stands at its
 * end, or is another one.
 */
static uint64_t waited (const struct local_port *p,
                        const struct local_port *before)
{
    uint64_t now = p->counter[LOCAL_XMIT_WAIT];
    uint64_t then = before->counter[LOCAL_XMIT_WAIT];

    if (p->node_guid != before->node_guid || p->port != before->port
        || !p->has[LOCAL_XMIT_WAIT] || !before->has[LOCAL_XMIT_WAIT])
        return 0;
    return now > then ? now - then : 0;
}

void ports_say_waits (const char *sysfs, const char *nonce,
                      const struct local_port *before, size_t n, FILE *fp)
{
    struct local_port *v;
    size_t now;

    if (local_ports (sysfs, &v, &now, NULL) < 0)
        return;
    for (size_t i = 0; i < now; i++)
        for (size_t k = 0; k < n; k++) {
            uint64_t ticks = waited (&v[i], &before[k]);

            if (ticks > 0 && v[i].layer == LAYER_INFINIBAND
                && v[i].node_guid)
                fprintf (fp, "pmm-wait 1 %s %016" PRIx64 "/%u %" PRIu64 "\n",
                         nonce, v[i].node_guid, v[i].port, ticks);
        }
    free (v);
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

static bool take_name (const char **line, struct local_port *p)
{
    char word[WORD_BYTES];
    char guid[20] = "0x";
    uint64_t port;

    if (!take_word (line, word) || strcspn (word, "/") != 16 || !word[16]
        || text_u64 (word + 17, 1, UINT8_MAX, &port) < 0)
        return false;
    memcpy (guid + 2, word, 16);
    p->port = (unsigned int)port;
    return text_u64 (guid, 1, UINT64_MAX, &p->node_guid) == 0;
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
                       struct local_port *p)
{
    const char *const head[] = { kind, "1", nonce };
    char word[WORD_BYTES];

    for (size_t i = 0; i < 3; i++)
        if (!take_word (line, word) || strcmp (word, head[i]))
            return false;
    return take_name (line, p);
}

bool ports_parse (const char *line, const char *nonce, struct local_port *port)
{
    struct local_port p = { .layer = LAYER_INFINIBAND };
    char word[WORD_BYTES];

    if (!take_head (&line, "pmm-port", nonce, &p)
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

bool ports_parse_wait (const char *line, const char *nonce,
                       struct local_port *port)
{
    struct local_port p = { .layer = LAYER_INFINIBAND };
    char word[WORD_BYTES];

    if (!take_head (&line, "pmm-wait", nonce, &p) || !take_word (&line, word)
        || text_u64 (word, 1, INT64_MAX, &p.counter[LOCAL_XMIT_WAIT]) < 0
        || line[strspn (line, " ")])
        return false;
    p.has[LOCAL_XMIT_WAIT] = true;
    *port = p;
    return true;
}
