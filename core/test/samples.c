/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples: quantiles, what is written is read again, hostile files. */
#include "config.h"
#include "core/samples/samples.h"

#include <math.h>

#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"

static struct pathset *resolve (const char *const *name, size_t n, void *arg,
                                struct error *err)
{
    struct tablenet *net = arg;
    struct endpoint e[8];

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < net->n && strcmp (net->name[k], name[i]))
            k++;
        if (k == net->n || i == 8) {
            error_input (err, "no host %s", name[i]);
            return NULL;
        }
        e[i] = (struct endpoint){ (uint32_t)k, net->name[k], net->name[k] };
    }
    return pathset_create (&net->net, e, n, err);
}

static struct samples *read_text (const char *text, struct tablenet *net,
                                  struct pathset **ps, struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct samples *s = samples_read (fp, "file", net->net.hash, resolve, net,
                                      ps, err);

    fclose (fp);
    return s;
}

static void test_quantiles (void)
{
    struct sample s = { 0 };
    double v[5] = { 50, 10, 40, 20, 30 };
    static const double expected[RTT_COUNT] = { 10, 12, 20, 30, 40, 48, 50 };
    int same = 1;

    sample_quantiles (s.rtt_ns, v, 5);
    for (int q = 0; q < RTT_COUNT; q++)
        same &= s.rtt_ns[q] > expected[q] - 1e-9
                && s.rtt_ns[q] < expected[q] + 1e-9;
    ok (same, "quantiles of five");
}

/* Repeats that took much longer than the least are counted. */
static void test_slow (void)
{
    static const struct {
        const char *what;
        double ns[8];
        uint32_t slow[SLOW_LIMITS];
    } tab[] = {
        { "none", { 1, 2, 3, 4, 5, 6, 7, 8 }, { 0, 0, 0, 0 } },
        { "each limit", { 0, 250, 251, 826, 1001, 3301, 9, 9 },
          { 4, 3, 2, 1 } },
        { "a step of the clock is not taken for the least",
          { -5000, 1, 2, 3, 4, 5, 6, 7 }, { 0, 0, 0, 0 } },
        { "half of them", { 0, 2000, 1, 2001, 2, 2002, 3, 2003 },
          { 4, 4, 4, 0 } },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct sample s = { 0 };
        double v[8];

        memcpy (v, tab[i].ns, sizeof (v));
        sample_times (&s, v, 8, NULL);
        ok (!memcmp (s.slow, tab[i].slow, sizeof (s.slow)),
            "slow repeats, %s: %u %u %u %u", tab[i].what, s.slow[0], s.slow[1],
            s.slow[2], s.slow[3]);
    }
}

static char *written (const struct samples *s, const struct pathset *ps)
{
    struct error err;
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    if (samples_write (s, ps, fp, &err) < 0)
        abort ();
    fclose (fp);
    return text;
}

static const struct loopback loopbacks[] = {
    { .end = 1, .round = 0, .rtt_ns = { 1, 2, 3, 4, 5, 6, 7 } },
    { .end = 4, .round = 0, .rtt_ns = { 9, 9, 9, 9, 9, 9, 9 } },
    { .end = 1, .round = 5, .rtt_ns = { 1.5, 2, 3, 4, 5, 6, 8 } },
};

static const struct node nodes[] = {
    { .host = "k2", .boot = "01234567-89ab-cdef-0123-456789abcdef",
      .kernel = "6.1.0-25-amd64", .governor = "performance", .numa = 1,
      .adapter_numa = 0 },
    { .host = "k5", .numa = -1, .adapter_numa = -1 },
};

static const struct burst_flow burst_flows[] = {
    { .a = 1, .b = 4, .round = 2,
      .way = { { 3, 0, 98e9, 97e9 }, { 0, 2, 0, 0 } }, .crowd = 1 },
    { .a = 5, .b = 5, .round = 9, .way = { { .kept = 1, .best = 2.5 } } },
};

static const struct burst_port burst_ports[] = {
    { .end = 4, .bits = 1e11, .mtu = 4096, .able = { 16, 16000 },
      .now = { 8, 16000 }, .could = { 16, 32000 }, .others_bits = 3e9,
      .retries = 7, .errors = 8, .order = ORDER_BETTER },
    { .end = 1, .others_bits = NAN },
};

/* Rates are there again, by fields as NAN is not equal to itself. */
static void check_bursts (const struct samples *s)
{
    const struct bursts *b = s ? s->bursts : NULL;
    bool same = b && b->left == LEFT_TIME && b->nflows == 2 && b->nports == 2;

    ok (same && !memcmp (b->flow, burst_flows, sizeof (burst_flows)),
        "flows of bursts");
    ok (same && b->port[0].end == 4 && b->port[0].mtu == 4096
            && b->port[0].able.mts == 16000 && b->port[0].now.lanes == 8
            && b->port[0].could.mts == 32000 && b->port[0].others_bits == 3e9
            && b->port[0].retries == 7 && b->port[0].errors == 8
            && b->port[0].order == ORDER_BETTER && b->port[1].bits == 0
            && isnan (b->port[1].others_bits),
        "their ports, of which all or nothing is known");
}

/* What goes with the probes is there again. */
static void check_controls (const struct samples *s)
{
    bool same = s && s->nloopbacks == 3 && s->nnodes == 2;

    for (size_t i = 0; same && i < 3; i++)
        same = !memcmp (&s->loopback[i], &loopbacks[i], sizeof (*s->loopback));
    ok (same, "loopbacks");
    same = s && s->nnodes == 2;
    for (size_t i = 0; same && i < 2; i++)
        same = !memcmp (&s->node[i], &nodes[i], sizeof (*s->node));
    ok (same, "what is known of nodes, all or nothing");
}

static void test_round_trip (void)
{
    struct tablenet *net = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (net, NULL, 0);
    struct plan_options popts = { .extra_rounds = 2, .seed = 1 };
    struct simulate_options sim = {
        .noise_ns = 50,
        .outlier_share = 0.01,
        .outlier_ns = 2000,
        .repeats = 5,
        .seed = 1,
    };
    double latency[8] = { 3.5, 4.5, 4, 4.5, 6.5, 6, 5.5, 5 };
    struct error err;
    struct plan *plan = plan_make (ps, &popts, &err);
    struct samples *s = simulate (ps, plan, latency, &sim, &err);
    struct pathset *again_ps = NULL;
    struct samples *again;
    char *text;
    char *again_text;

    s->job = 4711;
    s->step = 3;
    strcpy (s->nonce, "0123456789abcdef0123456789abcdef");
    s->late = 1;
    s->repeated = 2;
    s->foreign = 3;
    s->level = 4;
    s->spread = 5;
    s->sample[1].lost = s->sample[1].sent;
    s->sample[2].sent = 40;
    s->sample[2].slow[0] = 17;
    s->sample[2].slow[3] = 2;
    for (uint32_t i = 0; i < 3; i++)
        samples_add_loopback (s, &loopbacks[i]);
    for (size_t i = 0; i < 2; i++)
        samples_add_node (s, &nodes[i]);
    samples_add_host (s, "gone", false);
    s->bursts = bursts_create ();
    s->bursts->left = LEFT_TIME;
    for (size_t i = 0; i < 2; i++) {
        bursts_add_flow (s->bursts, &burst_flows[i]);
        bursts_add_port (s->bursts, &burst_ports[i]);
    }
    text = written (s, ps);
    ok (strchr (text, '\n') == text + strlen (text) - 1,
        "written on one line");

    again = read_text (text, net, &again_ps, &err);
    ok (again && again->late == 1 && again->repeated == 2
            && again->foreign == 3,
        "messages that did not count");
    ok (again && again->level == 4 && again->spread == 5,
        "the service level, and who routes adaptively on it");
    check_controls (again);
    check_bursts (again);
    ok (again && again->sample[2].slow[0] == 17
            && again->sample[2].slow[3] == 2
            && !memcmp (again->sample[0].slow, s->sample[0].slow,
                        sizeof (s->sample[0].slow)),
        "how many are slow, of many or of few");
    ok (again && again->job == 4711 && again->step == 3 && again->complete
            && again->nanswered == 6 && again->nmissing == 1
            && again->nsamples == s->nsamples
            && again->sample[1].lost == again->sample[1].sent,
        "read again, with a set of its own");
    again_text = written (again, again_ps);
    ok (!strcmp (text, again_text), "and written again: the same");
    free (again_text);
    samples_destroy (again);
    pathset_destroy (again_ps);

    again_ps = ps;
    again = read_text (text, net, &again_ps, &err);
    ok (again && again_ps == ps
            && !memcmp (again->sample, s->sample, sizeof (*s->sample)),
        "read with the plan's set");
    samples_destroy (again);

    /* a set that lacks some of them */
    again_ps = tablenet_pathset (net, (uint32_t[]){ 0, 1 }, 2);
    again = read_text (text, net, &again_ps, &err);
    ok (!again, "read with another set: %s", err.text);
    pathset_destroy (again_ps);

    for (size_t len = 0; len < strlen (text) - 2; len += 97) {
        char *cut = strndup (text, len);

        again_ps = ps;
        again = len ? read_text (cut, net, &again_ps, &err) : NULL;
        free (cut);
        if (again)
            break;
    }
    ok (!again, "cut short anywhere: refused");
    free (text);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
    samples_destroy (NULL);
}

#define HEAD(fabric) "{\"kind\":\"samples\",\"version\":2,\"fabric\":\"" \
    fabric "\",\"job\":1,\"step\":0,\"nonce\":\"ab\","
#define NODES "\"nodes\":{\"answered\":[\"k1\",\"k2\"],\"missing\":[]},"
#define RTT(min, max) "\"rtt_ns\":{\"min\":" min ",\"p05\":2,\"p25\":2," \
    "\"median\":2,\"p75\":2,\"p95\":2,\"max\":" max "}"
#define PROBE(a, b, init, sent, lost, rtt) "{\"a\":" a ",\"b\":" b \
    ",\"round\":0,\"initiator\":" init ",\"sent\":" sent ",\"lost\":" lost \
    "," rtt "}"
#define GOOD PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "0", RTT ("1", "3"))
#define NEW(version) "{\"kind\":\"samples\",\"version\":" version "," \
    "\"fabric\":\"table\",\"job\":1,\"step\":0,\"nonce\":\"ab\","
#define LOOP(end, round, rtt) "\"loopbacks\":[{\"end\":" end \
    ",\"round\":" round "," rtt "}],\"probes\":[" GOOD "]" TAIL
#define KNOWN(node) "\"nodes\":{\"answered\":[\"k1\",\"k2\"],\"missing\"" \
    ":[\"k3\"],\"known\":[" node "]},\"probes\":[" GOOD "]" TAIL
#define K1(field) KNOWN ("{\"host\":\"k1\"," field "}")
#define TAIL ",\"complete\":true}\n"
#define WAYS(there, back) "\"probes\":[" PROBE ("\"k1\"", "\"k2\"", \
    "\"k1\"", "5", "0", RTT ("1", "3") ",\"way_ns\":{\"there\":" there \
    ",\"back\":" back "}") "]" TAIL

#define BURSTS(left, flows, ports) NEW ("2") NODES "\"probes\":[" GOOD \
    "],\"bursts\":{\"left\":" left ",\"flows\":[" flows "],\"ports\":[" \
    ports "]}" TAIL
#define BURST(a, b, round, there, back) "{\"a\":\"" a "\",\"b\":\"" b \
    "\",\"round\":" round ",\"crowd\":0," there "," back "}"
#define BURST_WAY(way, kept, best, worst) "\"" way "_kept\":" kept ",\"" way \
    "_lost\":1,\"" way "_best\":" best ",\"" way "_worst\":" worst
#define BURST_PORT(bits, mtu, now, others, order) "{\"end\":\"k1\",\"bits\":" \
    bits ",\"mtu\":" mtu ",\"able_lanes\":0,\"able_mts\":0,\"now_lanes\":" now \
    ",\"now_mts\":0,\"could_lanes\":0,\"could_mts\":0,\"others_bits\":" \
    others ",\"retries\":0,\"errors\":0,\"order\":" order "}"
#define THERE BURST_WAY ("there", "1", "2e9", "1e9")
#define BACK BURST_WAY ("back", "1", "2e9", "1e9")

static const struct {
    const char *what;
    const char *text;
    int good;
} hostile[] = {
    { "a good one", HEAD ("table") NODES "\"probes\":[" GOOD "]" TAIL, 1 },
    { "no probes", HEAD ("table") NODES "\"probes\":[]" TAIL, 1 },
    { "with a result line behind it",
      HEAD ("table") NODES "\"probes\":[" GOOD "]" TAIL
      "pmm-result 1 OK ab fine\n", 1 },
    { "empty object", "{}\n", 0 },
    { "no JSON", "hello\n", 0 },
    { "an array", "[1]\n", 0 },
    { "another fabric", HEAD ("other") NODES "\"probes\":[" GOOD "]" TAIL,
      0 },
    { "no nodes", HEAD ("table") "\"probes\":[" GOOD "]" TAIL, 0 },
    { "no probes key", HEAD ("table") NODES "\"x\":[]" TAIL, 0 },
    { "a host with a bad name",
      HEAD ("table") "\"nodes\":{\"answered\":[\"k 1;\"],\"missing\":[]},"
      "\"probes\":[]" TAIL, 0 },
    { "a host that is a number",
      HEAD ("table") "\"nodes\":{\"answered\":[1],\"missing\":[]},"
      "\"probes\":[]" TAIL, 0 },
    { "nobody at all",
      HEAD ("table") "\"nodes\":{\"answered\":[],\"missing\":[]},"
      "\"probes\":[]" TAIL, 0 },
    { "a probe that is a number",
      HEAD ("table") NODES "\"probes\":[3]" TAIL, 0 },
    { "a probe without a",
      HEAD ("table") NODES "\"probes\":[{\"b\":\"k2\"}]" TAIL, 0 },
    { "an unknown endpoint",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"x9\"", "\"k1\"", "5", "0", RTT ("1", "3")) "]"
      TAIL, 0 },
    { "a probe of itself",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k1\"", "\"k1\"", "5", "0", RTT ("1", "3")) "]"
      TAIL, 0 },
    { "a third initiator",
      HEAD ("table") NODES "\"probes\":[" GOOD ","
      PROBE ("\"k1\"", "\"k2\"", "\"k3\"", "5", "0", RTT ("1", "3")) "]"
      TAIL, 0 },
    { "more lost than sent",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "6", RTT ("1", "3")) "]"
      TAIL, 0 },
    { "negative counts",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "-5", "-6", RTT ("1", "3")) "]"
      TAIL, 0 },
    { "quantiles that fall",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "0", RTT ("4", "5")) "]"
      TAIL, 0 },
    { "a negative time",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "0", RTT ("-1", "3")) "]"
      TAIL, 0 },
    { "a time beyond all times",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "0", RTT ("1", "1e300")) "]"
      TAIL, 0 },
    { "a time that is text",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "0", RTT ("1", "\"3\"")) "]"
      TAIL, 0 },
    { "no times though some came back",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "0", "\"x\":0") "]" TAIL,
      0 },
    { "no times, all lost",
      HEAD ("table") NODES "\"probes\":["
      PROBE ("\"k1\"", "\"k2\"", "\"k1\"", "5", "5", "\"x\":0") "]" TAIL,
      1 },
    { "messages that did not count",
      HEAD ("table") NODES "\"messages\":{\"late\":1,\"repeated\":2,"
      "\"foreign\":3},\"probes\":[]" TAIL, 1 },
    { "less than none",
      HEAD ("table") NODES "\"messages\":{\"late\":-1,\"repeated\":2,"
      "\"foreign\":3},\"probes\":[]" TAIL, 0 },
    { "without the repeated ones",
      HEAD ("table") NODES "\"messages\":{\"late\":1,\"foreign\":3},"
      "\"probes\":[]" TAIL, 0 },
    { "a service level, and who routes adaptively on it",
      HEAD ("table") NODES "\"service_level\":15,\"adaptive_switches\":2,"
      "\"probes\":[]" TAIL, 1 },
    { "a service level that is none",
      HEAD ("table") NODES "\"service_level\":16,\"adaptive_switches\":0,"
      "\"probes\":[]" TAIL, 0 },
    { "a service level on its own",
      HEAD ("table") NODES "\"service_level\":1,\"probes\":[]" TAIL, 0 },
    { "a version that there is not yet",
      NEW ("3") NODES "\"probes\":[" GOOD "]" TAIL, 0 },
    { "a version before it",
      NEW ("1") NODES "\"probes\":[" GOOD "]" TAIL, 0 },
    { "flows, but none",
      NEW ("2") NODES "\"probes\":[" PROBE ("\"k1\"", "\"k2\"", "\"k1\"",
      "5", "0", RTT ("1", "3") ",\"flow_ns\":[]") "]" TAIL, 1 },
    { "the newest version",
      NEW ("2") NODES "\"probes\":[" GOOD "]" TAIL, 1 },
    { "a loopback",
      NEW ("2") NODES LOOP ("\"k1\"", "3", RTT ("1", "3")), 1 },
    { "a loopback of who was not probed",
      NEW ("2") NODES LOOP ("\"k3\"", "3", RTT ("1", "3")), 1 },
    { "a loopback of nobody",
      NEW ("2") NODES LOOP ("\"x9\"", "3", RTT ("1", "3")), 0 },
    { "a loopback of a number",
      NEW ("2") NODES LOOP ("9", "3", RTT ("1", "3")), 0 },
    { "a loopback before the beginning",
      NEW ("2") NODES LOOP ("\"k1\"", "-1", RTT ("1", "3")), 0 },
    { "a loopback without times",
      NEW ("2") NODES LOOP ("\"k1\"", "1", "\"x\":0"), 0 },
    { "a loopback whose quantiles fall",
      NEW ("2") NODES LOOP ("\"k1\"", "1", RTT ("4", "5")), 0 },
    { "loopbacks that are no list",
      NEW ("2") NODES "\"loopbacks\":{},\"probes\":[" GOOD "]" TAIL, 0 },
    { "a loopback that is a number",
      NEW ("2") NODES "\"loopbacks\":[7],\"probes\":[" GOOD "]" TAIL, 0 },
    { "no runs", NEW ("2") "\"runs\":[]," NODES "\"probes\":[" GOOD "]" TAIL,
      1 },
    { "a baseline of an earlier release",
      NEW ("2") "\"runs\":[3]," NODES "\"probes\":[" GOOD "]" TAIL, 0 },
    { "a node of which all is known",
      NEW ("2") K1 ("\"boot\":\"01234567-89ab-cdef-0123-456789abcdef\","
                    "\"kernel\":\"6.1\",\"governor\":\"powersave\","
                    "\"numa\":0,\"adapter_numa\":1023"), 1 },
    { "a node that is known from before",
      NEW ("2") KNOWN ("{\"host\":\"k3\"}"), 1 },
    { "a node twice",
      NEW ("2") KNOWN ("{\"host\":\"k1\"},{\"host\":\"k1\"}"), 0 },
    { "a node without a name", NEW ("2") KNOWN ("{\"kernel\":\"6\"}"), 0 },
    { "a node that is a number", NEW ("2") KNOWN ("1"), 0 },
    { "a boot that is no UUID",
      NEW ("2") K1 ("\"boot\":\"01234567-89ab-cdef-0123-456789abcdeg\""),
      0 },
    { "a boot that is too short", NEW ("2") K1 ("\"boot\":\"0123\""), 0 },
    { "a kernel with spaces", NEW ("2") K1 ("\"kernel\":\"6 1\""), 0 },
    { "a kernel that is a number", NEW ("2") K1 ("\"kernel\":6"), 0 },
    { "a governor that is too long",
      NEW ("2") K1 ("\"governor\":\"abcdefghijklmnopq\""), 0 },
    { "a NUMA node below 0", NEW ("2") K1 ("\"numa\":-2"), 0 },
    { "a NUMA node that is too large",
      NEW ("2") K1 ("\"adapter_numa\":1024"), 0 },
    { "each way", NEW ("2") NODES WAYS ("1", "1e12"), 1 },
    { "a way that takes no time", NEW ("2") NODES WAYS ("1", "0"), 0 },
    { "a way beyond all times", NEW ("2") NODES WAYS ("2e12", "1"), 0 },
    { "a way that is text", NEW ("2") NODES WAYS ("\"1\"", "1"), 0 },
    { "only one of the ways",
      NEW ("2") NODES "\"probes\":[" PROBE ("\"k1\"", "\"k2\"", "\"k1\"",
      "5", "0", RTT ("1", "3") ",\"way_ns\":{\"there\":1}") "]" TAIL, 0 },
    { "ways that are a list",
      NEW ("2") NODES "\"probes\":[" PROBE ("\"k1\"", "\"k2\"", "\"k1\"",
      "5", "0", RTT ("1", "3") ",\"way_ns\":[1,2]") "]" TAIL, 0 },
    { "bursts, but none", BURSTS ("1", "", ""), 1 },
    { "bursts of a pair",
      BURSTS ("0", BURST ("k1", "k2", "0", THERE, BACK),
              BURST_PORT ("1e11", "4096", "16", "null", "2")), 1 },
    { "bursts of whom no probe knows",
      BURSTS ("0", BURST ("k1", "k3", "0", THERE, BACK), ""), 1 },
    { "bursts of nobody",
      BURSTS ("0", BURST ("k1", "x9", "0", THERE, BACK), ""), 0 },
    { "bursts before the beginning",
      BURSTS ("0", BURST ("k1", "k2", "-1", THERE, BACK), ""), 0 },
    { "bursts that are a list",
      NEW ("2") NODES "\"probes\":[" GOOD "],\"bursts\":[]" TAIL, 0 },
    { "bursts without flows",
      NEW ("2") NODES "\"probes\":[" GOOD "],\"bursts\":{\"left\":0}" TAIL, 0 },
    { "bursts left out for a reason that there is not",
      BURSTS ("64", "", ""), 0 },
    { "a burst that is a number", BURSTS ("0", "7", ""), 0 },
    { "a loopback of two ways",
      BURSTS ("0", BURST ("k1", "k1", "0", THERE, BACK), ""), 0 },
    { "a loopback of bursts",
      BURSTS ("0", BURST ("k1", "k1", "0", THERE,
                          BURST_WAY ("back", "0", "0", "0")), ""), 1 },
    { "a worst burst above the best",
      BURSTS ("0", BURST ("k1", "k2", "0",
                          BURST_WAY ("there", "2", "1e9", "2e9"), BACK), ""),
      0 },
    { "a rate of no bursts",
      BURSTS ("0", BURST ("k1", "k2", "0",
                          BURST_WAY ("there", "0", "1e9", "1e9"), BACK), ""),
      0 },
    { "a rate that is not known",
      BURSTS ("0", BURST ("k1", "k2", "0",
                          BURST_WAY ("there", "1", "null", "1e9"), BACK), ""),
      0 },
    { "a rate beyond all rates",
      BURSTS ("0", BURST ("k1", "k2", "0",
                          BURST_WAY ("there", "1", "1e16", "1e9"), BACK), ""),
      0 },
    { "a negative rate",
      BURSTS ("0", BURST ("k1", "k2", "0",
                          BURST_WAY ("there", "1", "1e9", "-1"), BACK), ""),
      0 },
    { "a port twice",
      BURSTS ("0", "", BURST_PORT ("0", "0", "0", "0", "0") ","
                       BURST_PORT ("0", "0", "0", "0", "0")), 0 },
    { "a port whose rate is null",
      BURSTS ("0", "", BURST_PORT ("null", "0", "0", "0", "0")), 0 },
    { "a port with an MTU beyond all",
      BURSTS ("0", "", BURST_PORT ("0", "65537", "0", "0", "0")), 0 },
    { "a port with too many lanes",
      BURSTS ("0", "", BURST_PORT ("0", "0", "256", "0", "0")), 0 },
    { "a port with others' traffic that is text",
      BURSTS ("0", "", BURST_PORT ("0", "0", "0", "\"1\"", "0")), 0 },
    { "a port in an order that there is not",
      BURSTS ("0", "", BURST_PORT ("0", "0", "0", "0", "3")), 0 },
    { "a nonce that is not hex",
      "{\"kind\":\"samples\",\"version\":2,\"fabric\":\"table\",\"job\":1,"
      "\"step\":0,\"nonce\":\"../x\"," NODES "\"probes\":[]" TAIL, 0 },
};

static void test_hostile (void)
{
    struct tablenet *net = tablenet_paper ();

    for (size_t i = 0; i < sizeof (hostile) / sizeof (hostile[0]); i++) {
        struct pathset *ps = NULL;
        struct error err = { 0 };
        struct samples *s = read_text (hostile[i].text, net, &ps, &err);

        ok (!s == !hostile[i].good
                && (s || (err.fault == ERROR_INPUT && *err.text)),
            "%s: %s", hostile[i].what, s ? "read" : err.text);
        samples_destroy (s);
        pathset_destroy (ps);
    }
    tablenet_destroy (net);
}

int main (void)
{
    test_quantiles ();
    test_slow ();
    test_round_trip ();
    test_hostile ();
    return done_testing ();
}
