/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of pmm-emu: latencies, noise and faults of a fabric's links. */
#include "config.h"
#include "tests/emu/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/samples/simulate.h"
#include "tests/emu/adapters.h"
#include "util/alloc.h"
#include "util/rates.h"
#include "util/text.h"

enum {
    NS_MAX = 1000000000,     /* upper bound of a time in a command or file */
    GBPS_MAX = 10000,
    FLOWS_MAX = 4096,
    SLICE_NS = 1000000,      /* duration of a burst of others' traffic */
    HOST_BASE_NS = 700,      /* adapter, PCIe, software, half a switch */
    SWITCH_BASE_NS = 120,
    CABLE_NS_PER_M = 5,
    PACKET_NS = 30,
    ASYMMETRY_NS = 4,
};

#define LOAD_MAX 0.95 /* upper bound of the load that makes a queue */
#define GBPS_MIN 0.001
#define SHARE_MAX 0.9 /* of a rate that is lost */

struct emu_model {
    const struct fabric *fabric;
    const struct network *net;
    uint64_t seed;
    int64_t *latency; /* [2 * nlinks] by arc */
    int64_t *excess;  /* [2 * nlinks] of arcs */
    struct model_delay {
        double share; /* of the messages */
        double ns;    /* to ten times that */
    } *delay;         /* [nlinks] */
    int64_t *host_ns; /* [nhosts] additional time of the software */
    double *byte_ns;  /* [2 * nlinks] by arc */
    double *gbps;     /* [2 * nlinks] planted rate of arcs; 0: none */
    uint8_t *lanes;   /* [nlinks] planted; 0: the link's own */
    double *retried;  /* [nlinks] the share of bulk data that is sent again */
    struct adapter *adapter, *whole; /* [nnodes] now, and without commands */
    double *through; /* [nnodes] ns a byte, of a planted rate; 0: none */
    struct model_flow flow[FLOWS_MAX];
    size_t nflows;
    struct rng rng;   /* for latencies, noise and random flows */
    double noise_ns;
    struct noise *day; /* of the noise kind; NULL: none */
    const struct noise_kind *kind;
    double outlier_p;
    double outlier_ns;
    double loss;
    int64_t packet_ns;
    double rate_noise;      /* share of a burst's rate */
    double adapters_differ; /* by up to this share */
};

/* The latency of a random length of cable: 1 to 3 m to a host; between switches
 * a range of 10 m that starts at 3, 7, 11 or 15 m, depending on the class.
 */
static int64_t cable_ns (const struct fabric_link *link, struct rng *rng)
{
    double from = 1;
    double to = 3;

    if (link->kind == LINK_SWITCH) {
        from = 3 + 4 * (link->class_id % 4);
        to = from + 10;
    }
    return llround (CABLE_NS_PER_M * (from + (to - from) * rng_uniform (rng)));
}

static double lanes_bits (const struct fabric_link *link, unsigned int lanes)
{
    const struct rates rate
        = rates_of (lanes ? lanes : 4, *link->speed ? link->speed : "EDR");

    return rates_data_bits (&rate);
}

unsigned int model_lanes (const struct emu_model *m, uint32_t link)
{
    return m->lanes[link] ? m->lanes[link] : m->fabric->link[link].width;
}

double model_port_bits (const struct emu_model *m, uint32_t link)
{
    return lanes_bits (&m->fabric->link[link], model_lanes (m, link));
}

static void set_byte_ns (struct emu_model *m, uint32_t link)
{
    for (size_t i = 2 * (size_t)link; i < 2 * (size_t)link + 2; i++)
        m->byte_ns[i]
            = m->gbps[i] > 0 ? 8 / m->gbps[i] : 8e9 / model_port_bits (m, link);
}

static struct adapter *create_adapters (const struct fabric *f)
{
    double *bits = xarray (f->nlinks, sizeof (*bits));
    struct adapter *a;

    for (size_t i = 0; i < f->nlinks; i++)
        bits[i] = lanes_bits (&f->link[i], f->link[i].width);
    a = adapters_create (f, bits);
    free (bits);
    return a;
}

struct emu_model *model_create (const struct fabric *f, uint64_t seed)
{
    struct emu_model *m = xcalloc (1, sizeof (*m));
    size_t n = f->nlinks;

    m->fabric = f;
    m->net = fabric_network (f);
    m->seed = seed;
    m->packet_ns = PACKET_NS;
    m->latency = xcalloc (2 * n, sizeof (*m->latency));
    m->excess = xcalloc (2 * n, sizeof (*m->excess));
    m->delay = xcalloc (n, sizeof (*m->delay));
    m->host_ns = xcalloc (f->nhosts, sizeof (*m->host_ns));
    m->byte_ns = xcalloc (2 * n, sizeof (*m->byte_ns));
    m->gbps = xcalloc (2 * n, sizeof (*m->gbps));
    m->lanes = xcalloc (n, sizeof (*m->lanes));
    m->retried = xcalloc (n, sizeof (*m->retried));
    m->through = xcalloc (f->nnodes, sizeof (*m->through));
    rng_seed (&m->rng, seed);
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *link = &f->link[i];
        int64_t ns = link->kind == LINK_HOST ? HOST_BASE_NS : SWITCH_BASE_NS;
        int64_t skew;

        ns += cable_ns (link, &m->rng);
        skew = (int64_t)rng_below (&m->rng, 2 * ASYMMETRY_NS + 1);
        skew -= ASYMMETRY_NS;
        m->latency[2 * i] = ns + skew;
        m->latency[2 * i + 1] = ns - skew;
        set_byte_ns (m, (uint32_t)i);
    }
    m->adapter = create_adapters (f);
    m->whole = create_adapters (f);
    return m;
}

void model_destroy (struct emu_model *m)
{
    if (!m)
        return;
    free (m->latency);
    free (m->excess);
    free (m->delay);
    free (m->host_ns);
    noise_destroy (m->day);
    free (m->byte_ns);
    free (m->gbps);
    free (m->lanes);
    free (m->retried);
    free (m->adapter);
    free (m->whole);
    free (m->through);
    free (m);
}

const struct fabric *model_fabric (const struct emu_model *m)
{
    return m->fabric;
}

uint64_t model_seed (const struct emu_model *m)
{
    return m->seed;
}

static int find_link (const struct emu_model *m, const char *text,
                      uint32_t *link, struct error *err)
{
    *link = fabric_find_link (m->fabric, text);
    if (*link == FABRIC_NONE)
        return error_input (err, "no link '%s' in the fabric", text);
    return 0;
}

static int parse_ns (const char *what, const char *s, double min, double *ns,
                     struct error *err)
{
    if (text_double (s, min, NS_MAX, ns) < 0)
        return error_input (err, "%s: '%s' is no time from %g to %d ns", what,
                            s, min, NS_MAX);
    return 0;
}

/* Parse a line "LINK NS [NS]", or an empty one. Return 0, or -1 with err. */
static int parse_latency (const struct emu_model *m, char *line,
                          int64_t *latency, struct error *err)
{
    char *word[4];
    size_t n = 0;
    char *save;
    uint32_t link;
    double ns;

    line[strcspn (line, "#")] = '\0';
    for (char *w = strtok_r (line, " \t\r\n", &save); w && n < 4;
         w = strtok_r (NULL, " \t\r\n", &save))
        word[n++] = w;
    if (n == 0)
        return 0;
    if (n != 2 && n != 3)
        return error_input (err, "not LINK NS [NS]");
    if (find_link (m, word[0], &link, err) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        if (parse_ns ("latency", word[i + 1 < n ? i + 1 : 1], 1, &ns, err) < 0)
            return -1;
        latency[2 * link + i] = llround (ns);
    }
    return 0;
}

int model_read_latency (struct emu_model *m, FILE *fp, const char *name,
                        struct error *err)
{
    size_t size = 2 * m->fabric->nlinks;
    int64_t *latency = xarray (size, sizeof (*latency));
    char line[512];
    unsigned int lineno = 0;
    int rc = 0;

    memcpy (latency, m->latency, size * sizeof (*latency));
    while (rc == 0 && fgets (line, sizeof (line), fp)) {
        lineno++;
        if (!strchr (line, '\n') && !feof (fp))
            rc = error_input (err, "the line is too long");
        else
            rc = parse_latency (m, line, latency, err);
        if (rc < 0)
            error_prefix (err, "%s:%u", name, lineno);
    }
    if (rc == 0 && ferror (fp))
        rc = error_errno (err, "%s", name);
    if (rc < 0) {
        free (latency);
        return -1;
    }
    free (m->latency);
    m->latency = latency;
    return 0;
}

static int parse_share (const char *what, const char *s, double max,
                        double *value, struct error *err)
{
    if (text_double (s, 0, max, value) < 0)
        return error_input (err, "%s: '%s' is no number from 0 to %g", what, s,
                            max);
    return 0;
}

static int parse_excess (const char *what, const char *s, int64_t *excess,
                         struct error *err)
{
    double ns;

    if (s[0] != '+')
        return error_input (err, "%s: '%s' does not start with +", what, s);
    if (parse_ns (what, s + 1, 0, &ns, err) < 0)
        return -1;
    *excess = llround (ns);
    return 0;
}

static int command_slow (struct emu_model *m, char *const arg[],
                         struct error *err)
{
    size_t there = strcspn (arg[1], ":");
    char buf[32];
    int64_t ns[2];
    uint32_t link;

    if (find_link (m, arg[0], &link, err) < 0)
        return -1;
    if (there >= sizeof (buf))
        return error_input (err, "slow: '%s' is too long", arg[1]);
    snprintf (buf, sizeof (buf), "%.*s", (int)there, arg[1]);
    if (parse_excess ("slow", buf, &ns[0], err) < 0
        || parse_excess ("slow", arg[1][there] ? arg[1] + there + 1 : buf,
                         &ns[1], err)
               < 0)
        return -1;
    memcpy (m->excess + 2 * (size_t)link, ns, sizeof (ns));
    return 0;
}

/* LINK SHARE:NS */
static int command_delay (struct emu_model *m, char *const arg[],
                          struct error *err)
{
    const char *colon = strchr (arg[1], ':');
    struct model_delay delay;
    uint32_t link;
    char share[32];

    if (find_link (m, arg[0], &link, err) < 0)
        return -1;
    if (!colon || colon - arg[1] >= (ptrdiff_t)sizeof (share))
        return error_input (err, "delay: '%.80s' is not SHARE:NS", arg[1]);
    snprintf (share, sizeof (share), "%.*s", (int)(colon - arg[1]), arg[1]);
    if (parse_share ("delay", share, 1, &delay.share, err) < 0
        || parse_ns ("delay", colon + 1, 0, &delay.ns, err) < 0)
        return -1;
    m->delay[link] = delay;
    return 0;
}

static int command_slow_host (struct emu_model *m, char *const arg[],
                              struct error *err)
{
    uint32_t host = fabric_find_host (m->fabric, arg[0]);

    if (host == FABRIC_NONE)
        return error_input (err, "no host '%s' in the fabric", arg[0]);
    return parse_excess ("slow-host", arg[1], &m->host_ns[host], err);
}

static int command_rate (struct emu_model *m, char *const arg[],
                         struct error *err)
{
    uint32_t link, node = fabric_find_switch (m->fabric, arg[0]);
    double gbps[2];

    if (node == FABRIC_NONE && find_link (m, arg[0], &link, err) < 0)
        return -1;
    if (adapters_parse_two (arg[1], GBPS_MIN, GBPS_MAX, gbps) < 0)
        return error_input (err,
                            "rate: '%.80s' is no number of Gb/s from %g "
                            "to %d",
                            arg[1], GBPS_MIN, GBPS_MAX);
    if (node != FABRIC_NONE) {
        m->through[node] = 8 / gbps[0];
        return 0;
    }
    memcpy (m->gbps + 2 * (size_t)link, gbps, sizeof (gbps));
    set_byte_ns (m, link);
    return 0;
}

static int command_width (struct emu_model *m, char *const arg[],
                          struct error *err)
{
    struct rates rate;
    uint32_t link;
    uint64_t lanes;

    if (find_link (m, arg[0], &link, err) < 0)
        return -1;
    if (text_u64 (arg[1], 1, UINT8_MAX, &lanes) < 0
        || (rate = rates_of ((unsigned)lanes, "EDR"), !rate.lanes))
        return error_input (err, "width: '%.80s' is not 1, 2, 4, 8 or 12",
                            arg[1]);
    m->lanes[link] = (uint8_t)lanes;
    set_byte_ns (m, link);
    return 0;
}

static int command_retries (struct emu_model *m, char *const arg[],
                            struct error *err)
{
    uint32_t link;

    if (find_link (m, arg[0], &link, err) < 0)
        return -1;
    return parse_share ("retries", arg[1], SHARE_MAX, &m->retried[link], err);
}

static int command_pcie (struct emu_model *m, char *const arg[],
                         struct error *err)
{
    return adapters_pcie (m->adapter, m->fabric, arg[0], arg[1], err);
}

static int command_order (struct emu_model *m, char *const arg[],
                          struct error *err)
{
    return adapters_order (m->adapter, m->fabric, arg[0], arg[1], err);
}

static int command_rate_noise (struct emu_model *m, char *const arg[],
                               struct error *err)
{
    double share[2];

    if (adapters_parse_two (arg[0], 0, SHARE_MAX, share) < 0)
        return error_input (err,
                            "rate-noise: '%.80s' is not a share from 0 to "
                            "%g, or two",
                            arg[0], SHARE_MAX);
    m->rate_noise = share[0];
    m->adapters_differ = strchr (arg[0], ':') ? share[1] : 0;
    return 0;
}

static void heal (struct emu_model *m, uint32_t link)
{
    m->excess[2 * (size_t)link] = m->excess[2 * (size_t)link + 1] = 0;
    m->delay[link] = (struct model_delay){ 0 };
    m->gbps[2 * (size_t)link] = m->gbps[2 * (size_t)link + 1] = 0;
    m->lanes[link] = 0;
    m->retried[link] = 0;
    set_byte_ns (m, link);
}

static void heal_host (struct emu_model *m, uint32_t host)
{
    const struct fabric *f = m->fabric;

    m->host_ns[host] = 0;
    for (uint32_t i = 0; i < f->host[host].count; i++) {
        uint32_t port = f->endpoint[f->host[host].first + i].port;

        m->adapter[f->port[port].node] = m->whole[f->port[port].node];
    }
}

static int command_heal (struct emu_model *m, char *const arg[],
                         struct error *err)
{
    uint32_t link, host = fabric_find_host (m->fabric, arg[0]);

    if (!strcmp (arg[0], "all")) {
        for (uint32_t i = 0; i < m->fabric->nlinks; i++)
            heal (m, i);
        for (uint32_t i = 0; i < m->fabric->nhosts; i++)
            heal_host (m, i);
        memset (m->through, 0, m->fabric->nnodes * sizeof (*m->through));
    }
    else if (host != FABRIC_NONE)
        heal_host (m, host);
    else if (find_link (m, arg[0], &link, err) < 0)
        return -1;
    else
        heal (m, link);
    return 0;
}

static int command_noise (struct emu_model *m, char *const arg[],
                          struct error *err)
{
    const struct noise_kind *kind = NULL;
    struct noise *day = NULL;
    double ns = 0;

    if (text_double (arg[0], 0, NS_MAX, &ns) < 0) {
        if (!(kind = noise_find (arg[0])))
            return error_input (err, "noise: '%.80s' is neither a time from 0 "
                                     "to %d ns nor one of %s", arg[0], NS_MAX,
                                noise_names ());
        day = noise_create (kind, fabric_network (m->fabric),
                            m->fabric->nendpoints, rng_next (&m->rng));
    }
    noise_destroy (m->day);
    m->day = day;
    m->kind = kind;
    m->noise_ns = ns;
    return 0;
}

static int command_outliers (struct emu_model *m, char *const arg[],
                             struct error *err)
{
    char p[32];
    const char *colon = strchr (arg[0], ':');
    double probability;
    double scale;

    if (!strcmp (arg[0], "off")) {
        m->outlier_p = 0;
        return 0;
    }
    if (!colon || (size_t)(colon - arg[0]) >= sizeof (p))
        return error_input (err, "outliers: '%s' is not P:SCALE", arg[0]);
    snprintf (p, sizeof (p), "%.*s", (int)(colon - arg[0]), arg[0]);
    if (parse_share ("outliers", p, 1, &probability, err) < 0
        || parse_ns ("outliers", colon + 1, 0, &scale, err) < 0)
        return -1;
    m->outlier_p = probability;
    m->outlier_ns = scale;
    return 0;
}

static int command_loss (struct emu_model *m, char *const arg[],
                         struct error *err)
{
    return parse_share ("loss", arg[0], 1, &m->loss, err);
}

static int command_packet (struct emu_model *m, char *const arg[],
                           struct error *err)
{
    double ns;

    if (parse_ns ("packet", arg[0], 0, &ns, err) < 0)
        return -1;
    m->packet_ns = llround (ns);
    return 0;
}

static int random_flows (struct emu_model *m, uint64_t n,
                         struct model_flow like, struct error *err)
{
    if (m->fabric->nendpoints < 2)
        return error_input (err, "background: the fabric has no two hosts");
    if (n > FLOWS_MAX - m->nflows)
        return error_input (err, "background: more than %d flows", FLOWS_MAX);
    while (n-- > 0) {
        struct model_flow *flow = &m->flow[m->nflows++];

        *flow = like;
        flow->from = (uint32_t)rng_below (&m->rng, m->fabric->nendpoints);
        do
            flow->to = (uint32_t)rng_below (&m->rng, m->fabric->nendpoints);
        while (flow->to == flow->from);
    }
    return 0;
}

static int named_flow (struct emu_model *m, char *pair, struct model_flow like,
                       struct error *err)
{
    uint32_t end[2];
    char *comma = strchr (pair, ',');

    if (!comma)
        return error_input (err, "background: not A,B:LOAD, random:N:LOAD "
                            "or off");
    *comma = '\0';
    for (int i = 0; i < 2; i++) {
        const char *name = i ? comma + 1 : pair;

        end[i] = fabric_find_endpoint (m->fabric, name);
        if (end[i] == FABRIC_NONE)
            return error_input (err, "background: no host '%s' in the fabric",
                                name);
    }
    if (m->nflows == FLOWS_MAX)
        return error_input (err, "background: more than %d flows", FLOWS_MAX);
    like.from = end[0];
    like.to = end[1];
    m->flow[m->nflows++] = like;
    return 0;
}

static int command_background (struct emu_model *m, char *const arg[],
                               struct error *err)
{
    struct model_flow like = { 0 };
    char buf[256];
    char *colon;
    uint64_t n;

    if (!strcmp (arg[0], "off")) {
        m->nflows = 0;
        return 0;
    }
    snprintf (buf, sizeof (buf), "%s", arg[0]);
    if ((colon = strrchr (buf, ':')) && !strcmp (colon, ":pausing")) {
        like.pauses = true;
        *colon = '\0';
    }
    if (!(colon = strrchr (buf, ':')))
        return error_input (err, "background: not A,B:LOAD, random:N:LOAD "
                            "or off");
    *colon = '\0';
    if (parse_share ("background", colon + 1, 1, &like.load, err) < 0)
        return -1;
    if (!strncmp (buf, "random:", 7)) {
        if (text_u64 (buf + 7, 1, FLOWS_MAX, &n) < 0)
            return error_input (err, "background: '%s' is no number of flows",
                                buf + 7);
        return random_flows (m, n, like, err);
    }
    return named_flow (m, buf, like, err);
}

static const struct {
    const char *name;
    int args;
    int (*fn) (struct emu_model *m, char *const arg[], struct error *err);
} commands[] = {
    { "slow", 2, command_slow },
    { "slow-host", 2, command_slow_host },
    { "delay", 2, command_delay },
    { "rate", 2, command_rate },
    { "rate-noise", 1, command_rate_noise },
    { "retries", 2, command_retries },
    { "width", 2, command_width },
    { "pcie", 2, command_pcie },
    { "order", 2, command_order },
    { "heal", 1, command_heal },
    { "noise", 1, command_noise },
    { "outliers", 1, command_outliers },
    { "loss", 1, command_loss },
    { "packet", 1, command_packet },
    { "background", 1, command_background },
};

int model_command (struct emu_model *m, int argc, char *const argv[],
                   struct error *err)
{
    for (size_t i = 0; i < sizeof (commands) / sizeof (commands[0]); i++) {
        if (argc < 1 || strcmp (argv[0], commands[i].name))
            continue;
        if (argc - 1 != commands[i].args)
            return error_input (err, "%s takes %s", argv[0],
                                COUNTED ((uint64_t)commands[i].args,
                                       "argument"));
        return commands[i].fn (m, argv + 1, err);
    }
    return error_input (err, "unknown command '%s'", argc > 0 ? argv[0] : "");
}

/* What was planted for bursts: at links, and at adapters. */
static void show_bulk (const struct emu_model *m, FILE *fp)
{
    const struct fabric *f = m->fabric;
    const char *sep = "";

    fprintf (fp,
             "],\"rate_noise\":%.17g,\"adapters_differ\":%.17g,"
             "\"narrowed\":[",
             m->rate_noise, m->adapters_differ);
    for (size_t i = 0; i < f->nlinks; i++) {
        if (m->lanes[i] == 0 && m->retried[i] <= 0)
            continue;
        fprintf (fp, "%s{\"link\":\"%s\",\"lanes\":%u,\"retries\":%.17g}", sep,
                 f->link[i].id, model_lanes (m, (uint32_t)i), m->retried[i]);
        sep = ",";
    }
    fprintf (fp, "],\"adapters\":[");
    sep = "";
    for (uint32_t i = 0; i < f->nendpoints; i++) {
        uint32_t node = f->port[f->endpoint[i].port].node;
        const struct adapter *a = &m->adapter[node];

        if (!a->planted)
            continue;
        fprintf (fp,
                 "%s{\"endpoint\":\"%s\",\"pcie\":\"%s\",\"shown\":%s,"
                 "\"sends_gbps\":%.6g,\"receives_gbps\":%.6g,"
                 "\"relaxed\":%.17g,\"strict\":%.17g,\"refuses\":%s}",
                 sep, f->endpoint[i].name, PCIE_SHOWN (&a->now),
                 a->hidden ? "false" : "true",
                 adapter_bits (a, ADAPTER_SENDS) / 1e9,
                 adapter_bits (a, ADAPTER_RECEIVES) / 1e9, a->relaxed,
                 a->strict, a->refuses ? "true" : "false");
        sep = ",";
    }
}

char *model_show (const struct emu_model *m)
{
    char *buf = NULL;
    size_t size = 0;
    const struct fabric *f = m->fabric;
    FILE *fp = xcheck (open_memstream (&buf, &size));
    const char *sep = "";

    /* no escapes: the fabric checks that ids, hash and host names are plain */
    fprintf (fp, "{\"fabric\":\"%s\",\"seed\":%" PRIu64 ",\"noise_ns\":%.17g,"
             "\"noise\":%s%s%s,"
             "\"outliers\":{\"probability\":%.17g,\"scale_ns\":%.17g},"
             "\"loss\":%.17g,\"packet_ns\":%" PRId64 ",\"slow\":[",
             f->hash, m->seed, m->noise_ns, m->kind ? "\"" : "",
             m->kind ? m->kind->name : "null", m->kind ? "\"" : "",
             m->outlier_p, m->outlier_ns, m->loss, m->packet_ns);
    for (size_t i = 0; i < f->nlinks; i++) {
        double sum = (double)(m->excess[2 * i] + m->excess[2 * i + 1]);

        if (sum == 0)
            continue;
        fprintf (fp, "%s{\"link\":\"%s\",\"excess_ns\":%.17g}", sep,
                 f->link[i].id, sum / 2);
        sep = ",";
    }
    fprintf (fp, "],\"delays\":[");
    sep = "";
    for (size_t i = 0; i < f->nlinks; i++) {
        if (m->delay[i].share <= 0)
            continue;
        fprintf (fp, "%s{\"link\":\"%s\",\"share\":%.17g,\"ns\":%.17g}",
                 sep, f->link[i].id, m->delay[i].share, m->delay[i].ns);
        sep = ",";
    }
    fprintf (fp, "],\"slow_hosts\":[");
    sep = "";
    for (size_t i = 0; i < f->nhosts; i++) {
        if (!m->host_ns[i])
            continue;
        fprintf (fp, "%s{\"host\":\"%s\",\"excess_ns\":%" PRId64 "}", sep,
                 f->host[i].name, m->host_ns[i]);
        sep = ",";
    }
    fprintf (fp, "],\"limited\":[");
    sep = "";
    for (size_t i = 0; i < f->nlinks; i++) {
        if (m->gbps[2 * i] <= 0)
            continue;
        fprintf (fp,
                 "%s{\"link\":\"%s\",\"gbps\":%.17g,"
                 "\"back_gbps\":%.17g}",
                 sep, f->link[i].id, m->gbps[2 * i], m->gbps[2 * i + 1]);
        sep = ",";
    }
    show_bulk (m, fp);
    fprintf (fp, "],\"background\":[");
    for (size_t i = 0; i < m->nflows; i++)
        fprintf (fp,
                 "%s{\"from\":\"%s\",\"to\":\"%s\",\"load\":%.17g,"
                 "\"pauses\":%s}",
                 i ? "," : "", f->endpoint[m->flow[i].from].name,
                 f->endpoint[m->flow[i].to].name, m->flow[i].load,
                 m->flow[i].pauses ? "true" : "false");
    fprintf (fp, "],\"links\":[");
    for (size_t i = 0; i < f->nlinks; i++) {
        int64_t there = model_latency (m, (uint32_t)(2 * i));
        int64_t back = model_latency (m, (uint32_t)(2 * i + 1));

        fprintf (fp,
                 "%s{\"id\":\"%s\",\"a_to_b_ns\":%" PRId64
                 ",\"b_to_a_ns\":%" PRId64 ",\"latency_ns\":%.1f"
                 ",\"gbps\":%.6g,\"back_gbps\":%.6g}",
                 i ? "," : "", f->link[i].id, there, back,
                 (double)(there + back) / 2, 8 / m->byte_ns[2 * i],
                 8 / m->byte_ns[2 * i + 1]);
    }
    fprintf (fp, "]}\n");
    xcheck (fclose (fp) == 0 ? buf : NULL);
    return buf;
}

int model_path (const struct emu_model *m, uint32_t from, uint32_t to,
                uint32_t *arc)
{
    return m->net->walk (m->net->net, from, to, arc, NULL);
}

uint32_t model_first_arc (const struct emu_model *m, uint32_t endpoint)
{
    const struct fabric *f = m->fabric;
    uint32_t port = f->endpoint[endpoint].port;
    uint32_t link = f->port[port].link;

    return 2 * link + (f->link[link].a != port);
}

int64_t model_latency (const struct emu_model *m, uint32_t arc)
{
    return m->latency[arc] + m->excess[arc];
}

int64_t model_busy (const struct emu_model *m, uint32_t arc, size_t bytes)
{
    return m->packet_ns + model_bytes_ns (m, arc, bytes);
}

int64_t model_switch_busy (const struct emu_model *m, uint32_t node,
                           size_t bytes)
{
    return llround ((double)bytes * m->through[node]);
}

double model_byte_ns (const struct emu_model *m, uint32_t arc)
{
    return m->byte_ns[arc];
}

int64_t model_bytes_ns (const struct emu_model *m, uint32_t arc, size_t bytes)
{
    return llround ((double)bytes * m->byte_ns[arc]);
}

bool model_lost (const struct emu_model *m, struct rng *rng)
{
    /* a round trip has two ways to be lost */
    if (m->day && rng_uniform (rng) < 1 - sqrt (1 - m->kind->loss_share))
        return true;
    return m->loss > 0 && rng_uniform (rng) < m->loss;
}

int64_t model_noise (const struct emu_model *m, uint32_t endpoint, int64_t now,
                     const uint32_t *arc, int narcs, struct rng *rng)
{
    double ns = (double)m->host_ns[m->fabric->endpoint[endpoint].host];

    if (m->noise_ns > 0)
        ns += fabs (rng_normal (rng)) * m->noise_ns;
    if (m->outlier_p > 0 && rng_uniform (rng) < m->outlier_p)
        ns += rng_exponential (rng) * m->outlier_ns;
    for (int i = 0; i < narcs; i++) {
        const struct model_delay *d = &m->delay[arc_link (arc[i])];

        if (d->share > 0 && rng_uniform (rng) < d->share)
            ns += d->ns * (1 + 9 * rng_uniform (rng));
    }
    if (m->day)
        ns += noise_way_ns (m->day, endpoint, (uint32_t)(now / SLICE_NS), arc,
                            narcs, rng);
    return llround (ns);
}

const struct model_flow *model_flows (const struct emu_model *m, size_t *n)
{
    *n = m->nflows;
    return m->flow;
}

const double *model_bytes_ns_of_arcs (const struct emu_model *m)
{
    return m->byte_ns;
}

/* The wait in ns at a link that is not saturated. With probability `load` a
 * message finds it busy and waits for the rest of the packet under way, then
 * for those that are queued behind it.
 */
static double queue (const struct emu_model *m, const struct flood_arc *flood,
                     uint32_t arc, struct rng *rng)
{
    double byte_ns = m->byte_ns[arc];
    double load = fmin (flood[arc].rate * byte_ns, LOAD_MAX);

    if (load <= 0 || rng_uniform (rng) >= load)
        return 0;
    return FLOOD_PACKET * byte_ns
           * (rng_uniform (rng) + rng_exponential (rng) * load / (1 - load));
}

int64_t model_background (const struct emu_model *m,
                          const struct flood_arc *flood, const uint32_t *from,
                          uint32_t arc, struct rng *rng)
{
    double ns = from ? flood[*from].ahead_ns : 0;

    if (flood[arc].turn_ns > 0)
        ns += flood[arc].turn_ns * rng_uniform (rng);
    else
        ns += queue (m, flood, arc, rng);
    return llround (ns);
}

/*
 * Bulk data
 */

/* Resources: arcs, then switches, then adapters, each way, then endpoints. */
struct resource_places {
    uint32_t switches, adapters, endpoints, all;
};

static struct resource_places model_places (const struct fabric *f)
{
    uint32_t at = (uint32_t)(2 * f->nlinks);
    uint32_t adapters = at + (uint32_t)f->nnodes;
    uint32_t endpoints = adapters + 2 * (uint32_t)f->nnodes;

    return (struct resource_places){ at, adapters, endpoints,
                                     endpoints + (uint32_t)f->nendpoints };
}

size_t model_resources (const struct emu_model *m)
{
    return model_places (m->fabric).all;
}

/* Of a rate of packets, what is payload. */
static double payload (double bytes)
{
    return bytes * MODEL_MTU / (MODEL_MTU + MODEL_MTU_HEADER);
}

/* The rate of an endpoint's port as it left the factory, bytes per ns. */
static double endpoint_rate (const struct emu_model *m, uint32_t endpoint)
{
    const struct fabric *f = m->fabric;
    const struct fabric_link *link
        = &f->link[f->port[f->endpoint[endpoint].port].link];

    return payload (lanes_bits (link, link->width) / 8e9);
}

double model_resource_rate (const struct emu_model *m, uint32_t resource)
{
    const struct resource_places at = model_places (m->fabric);

    if (resource < at.switches)
        return payload ((1 - m->retried[arc_link (resource)])
                        / m->byte_ns[resource]);
    if (resource < at.adapters)
        return payload (1 / m->through[resource - at.switches]);
    if (resource < at.endpoints) {
        uint32_t k = resource - at.adapters;

        return adapter_bits (&m->adapter[k / 2], k % 2) / 8e9;
    }
    return endpoint_rate (m, resource - at.endpoints);
}

size_t model_uses (const struct emu_model *m, uint32_t from, uint32_t to,
                   const uint32_t *arc, int narcs, uint32_t *resource)
{
    const struct resource_places at = model_places (m->fabric);
    const struct fabric *f = m->fabric;
    size_t n = 0;

    resource[n++] = at.adapters + ADAPTER_SENDS
                    + 2 * f->port[f->endpoint[from].port].node;
    resource[n++] = at.adapters + ADAPTER_RECEIVES
                    + 2 * f->port[f->endpoint[to].port].node;
    if (from == to)
        resource[n++] = at.endpoints + from;
    for (int i = 0; i < narcs; i++) {
        const struct fabric_link *link = &f->link[arc_link (arc[i])];
        uint32_t node = f->port[arc[i] % 2 ? link->b : link->a].node;

        resource[n++] = arc[i];
        if (m->through[node] > 0)
            resource[n++] = at.switches + node;
    }
    return n;
}

/* Adapters of a kind differ, each always in the same way. */
static double endpoint_cap (const struct emu_model *m, uint32_t endpoint)
{
    uint64_t x = rng_mix (m->seed ^ (uint64_t)endpoint << 32);
    double part = (double)(x >> 11) / (double)(UINT64_C (1) << 53);

    return endpoint_rate (m, endpoint) * (1 - m->adapters_differ * part);
}

double model_burst_cap (const struct emu_model *m, uint32_t from, uint32_t to,
                        bool strict, const uint32_t *resource, size_t n,
                        struct rng *rng)
{
    const struct fabric *f = m->fabric;
    const struct adapter *a = &m->adapter[f->port[f->endpoint[to].port].node];
    double share = strict || a->refuses ? a->strict : a->relaxed;
    double most = fmin (endpoint_cap (m, from), endpoint_cap (m, to));

    if (share < 1)
        most = fmin (most, share * endpoint_rate (m, to));
    if (m->rate_noise <= 0)
        return most;
    for (size_t i = 0; i < n; i++)
        most = fmin (most, model_resource_rate (m, resource[i]));
    return most
           * fmax (1 - m->rate_noise * fabs (rng_normal (rng)), 1 - SHARE_MAX);
}

const struct adapter *model_adapter (const struct emu_model *m,
                                     uint32_t endpoint)
{
    return &m->adapter[m->fabric->port[m->fabric->endpoint[endpoint].port]
                           .node];
}

double model_retried (const struct emu_model *m, uint32_t link)
{
    return m->retried[link];
}
