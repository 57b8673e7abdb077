/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric read and counters: the verbs that query the live fabric.
 *
 * --publish keeps the site's snapshots up to date, a file for each subnet.
 * Which file that is, is decided under the lock of the first one that Snapshot
 * names.
 */
#include "config.h"

#include "pmm/verb.h"

#if HAVE_UMAD
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/links/counters.h"
#include "ibquery/publish.h"
#include "ibquery/read/collect.h"
#include "ibquery/read/discover.h"
#include "ibquery/read/netdisc.h"
#include "ibquery/snapshot.h"
#include "util/alloc.h"
#include "util/site.h"
#include "util/terminal.h"
#include "util/text.h"

enum { WAIT_MS = 120000 }; /* for another publisher */

/* Negative numbers: as in mads_defaults. */
static struct live_words {
    const char *ca, *hosts, *hint, *names;
    int port, timeout_ms, retries, window, rate, deadline_ms;
    uint64_t mkey, max;
    bool verbose, publish;
} given = { .timeout_ms = -1, .retries = -1, .window = -1, .rate = -1 };

#define FIELD(name) offsetof (struct live_words, name)
#define LIVE_OPTIONS                                                          \
    { "ca", 'C', "CA", opt_string, FIELD (ca),                                \
      "read through this adapter (default: the first active one)" },          \
    { "port", 'P', "PORT", opt_int, FIELD (port),                           \
      "read through this port of the adapter", 1, 254 },                      \
    { "mkey", 0, "KEY", opt_u64, FIELD (mkey),                                \
      "the fabric's M_Key (0x...)" },                                         \
    { "smps", 0, "N", opt_int, FIELD (window),                                \
      "queries in flight (default: 8)", 1, MADS_MAX_WINDOW },                 \
    { "rate", 0, "N", opt_int, FIELD (rate),                                  \
      "queries a second; 0: no limit (default: 20000)" },                     \
    { "timeout", 't', "MS", opt_int, FIELD (timeout_ms),                      \
      "the longest wait for an answer (default: 1000)", 1, 60000 },   \
    { "retries", 0, "N", opt_int, FIELD (retries),                            \
      "number of times to ask again (default: 15)", 0, 100 },                 \
    { "max-smps", 0, "N", opt_u64, FIELD (max),                               \
      "give up if it takes more queries" },                              \
    { "deadline", 0, "MS", opt_int, FIELD (deadline_ms),                      \
      "give up after this time" },                                            \
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),                        \
      "print how many queries it took" }

static const struct opt read_options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "read only what these hosts' messages use, " LIST_HELP },
    { "hint", 0, "FILE", opt_string, FIELD (hint),
      "a snapshot that may still know where these hosts are" },
    { "publish", 0, NULL, opt_true, FIELD (publish),
      "renew the site's snapshot if anything changed" },
    { "node-name-map", 0, "FILE", opt_string, FIELD (names),
      "opensm's file of nodes' names (default: NodeNameMap of pmm.conf)" },
    LIVE_OPTIONS,
    { 0 },
};
static const struct opt counters_options[] = { LIVE_OPTIONS, { 0 } };

/* The options of the engine. */
static struct discover_options find_options (void)
{
    struct discover_options opts = {
        .ca = given.ca, .port = given.port, .mads = mads_defaults,
    };
    struct mads_options *m = &opts.mads;

    m->mkey = given.mkey;
    m->max = given.max;
    m->deadline_ms = given.deadline_ms;
    if (given.timeout_ms >= 0)
        m->timeout_ms = given.timeout_ms;
    if (given.retries >= 0)
        m->retries = given.retries;
    if (given.window >= 0)
        m->window = given.window;
    if (given.rate >= 0)
        m->rate = given.rate;
    return opts;
}

/* With -v, print the number of queries on standard error. */
static void report_mad_counts (struct mads_counts counts)
{
    if (!given.verbose)
        return;
    terminal_clear ();
    fprintf (stderr, "%s, %" PRIu64 " of them without an answer",
             COUNTED (counts.sent, "query"), counts.lost);
    if (counts.silent > 0)
        fprintf (stderr, "; %s about adaptive routing, which a switch without "
                         "it need not answer",
                 COUNTED (counts.silent, "other"));
    fputc ('\n', stderr);
}

/*
 * --publish
 */

/* The published file of a subnet. */
struct subnet_file {
    struct discover_options opts;
    const struct site *site;
    uint64_t subnet;
    char *path;
    struct publish *publish;
    struct fabric *old;  /* the published one; NULL: no valid one */
};

__attribute__ ((format (printf, 2, 3)))
static void print_verbose (const struct subnet_file *j, const char *fmt, ...)
{
    va_list ap;

    if (!given.verbose)
        return;
    terminal_clear ();
    fprintf (stderr, "%s: ", SHOWN (j->path));
    va_start (ap, fmt);
    vfprintf (stderr, fmt, ap);
    va_end (ap);
    fputc ('\n', stderr);
}

static void close_file (struct subnet_file *j)
{
    fabric_destroy (j->old);
    publish_close (j->publish);
    free (j->path);
    j->old = NULL;
    j->publish = NULL;
    j->path = NULL;
}

/* Lock the file, which is closed by close_file, and load it. */
static int open_file (struct subnet_file *j, char *path, struct error *err)
{
    struct error bad;

    j->path = path;
    j->publish = publish_open (path, WAIT_MS, err);
    if (!j->publish)
        return -1;
    j->old = fabric_load (path, &bad);
    if (!j->old && access (path, F_OK) == 0)
        print_verbose (j, "replaced, as it is not a snapshot: %s", bad.text);
    return 0;
}

/* Poll the fabric, if that may be enough. Return 0 if nothing changed, 1 if it
 * must be read, -1 with err.
 */
static int poll_subnet (const struct subnet_file *j, struct error *err)
{
    struct publish_state state = publish_state (j->publish);
    int64_t age = time (NULL) - state.read;
    struct mads_counts counts = { 0 };
    struct error why;
    int rc;

    if (!j->old || j->old->part || j->old->subnet != j->subnet || age < 0
        || age * 1000 >= j->site->read_every_ms)
        return 1;
    rc = discover_changed (j->old, &j->opts, state.looks, &counts, &why, err);
    if (rc == 0)
        print_verbose (j, "no change, %s", COUNTED (counts.sent, "query"));
    if (rc > 0)
        print_verbose (j, "%s", why.text);
    return rc;
}

/* Whether a file is the subnet's: it contains it, or has its prefix in its
 * name, or is the first one and of no other subnet yet.
 */
static bool is_subnet_file (const struct subnet_file *j, bool first)
{
    enum { DIGITS = 16 };
    size_t len = strlen (j->path);
    const char *name = j->path + (len > DIGITS ? len - DIGITS : len);

    if (j->old && (j->old->subnet != 0 || !first))
        return j->old->subnet == j->subnet;
    if (name[0] && name[-1] == '-'
        && strspn (name, "0123456789abcdef") == DIGITS)
        return strtoull (name, NULL, 16) == j->subnet;
    return first;
}

/* Open the file of the subnet: one that Snapshot names, or one next to the
 * first of these.
 */
static int find_file (struct subnet_file *j, struct error *err)
{
    const char *list = j->site->snapshot;
    char path[TEXT_PATH], *beside = NULL;

    while (text_next (&list, path)) {
        int rc = open_file (j, xstrdup (path), err);

        if (rc < 0 || is_subnet_file (j, !beside)) {
            free (beside);
            return rc;
        }
        close_file (j);
        if (!beside)
            beside = xasprintf ("%s-%016" PRIx64, path, j->subnet);
    }
    return open_file (j, beside, err);
}

/* Publish the subnet of a port. Return 0, or -1 with err. */
static int publish_port (struct subnet_file *j, struct error *err)
{
    struct mads_counts counts = { 0 };
    struct fabric *f;
    int rc;

    if (find_file (j, err) < 0 || (rc = poll_subnet (j, err)) < 0)
        return -1;
    if (rc == 0)
        return publish_looked (j->publish, err);
    if (!(f = discover (&j->opts, &counts, err)))
        return -1;
    rc = publish_put (j->publish, j->old, f, j->site->snapshots_kept, err);
    if (rc >= 0)
        print_verbose (j, "%s, %s", rc > 0 ? "published" : "the same",
                       COUNTED (counts.sent, "query"));
    fabric_destroy (f);
    return rc < 0 ? -1 : 0;
}

/* Whether the i-th port is selected and is the first of its subnet. */
static bool is_port_selected (const struct device_port *port, size_t i)
{
    if ((given.ca && strcmp (given.ca, port[i].ca) != 0)
        || (given.port != 0 && given.port != port[i].port))
        return false;
    for (size_t k = 0; k < i; k++)
        if (port[k].subnet == port[i].subnet && is_port_selected (port, k))
            return false;
    return true;
}

/* Publish each subnet in which this machine has an active port, or that of the
 * given port, to the files named in pmm.conf. The fabric is polled first; it is
 * read if it changed, or if ReadEvery has passed. Returns the worst exit
 * status.
 */
static int publish_subnets (const char *conf,
                            const struct discover_options *opts)
{
    int worst = EXIT_OK;
    size_t n, due = 0;
    struct node_names *names = NULL;
    struct device_port *port;
    struct site site;
    const char *map;

    need_ok (site_read (&site, conf, 1, &fault));
    map = given.names ? given.names : site.node_name_map;
    if (*map)
        names = need (names_load_trusted (map, 0, &fault));
    port = need (device_ports (&n, &fault));
    for (size_t i = 0; i < n; i++) {
        struct subnet_file j = {
            .opts = *opts, .site = &site, .subnet = port[i].subnet,
        };
        int status;

        if (!is_port_selected (port, i))
            continue;
        due++;
        j.opts.ca = port[i].ca;
        j.opts.port = port[i].port;
        j.opts.names = names;
        status = publish_port (&j, &fault) < 0 ? fail ("fabric read", &fault)
                                               : EXIT_OK;
        if (status > worst)
            worst = status;
        close_file (&j);
    }
    if (due == 0)
        die_world ("the port asked for is not active in InfiniBand");
    free (port);
    names_destroy (names);
    site_clear (&site);
    return worst;
}

/*
 * Reading
 */

static const struct opt_rule read_rules[] = {
    { "hint", OPT_NEEDS, "hosts" },
    { "publish", OPT_EXCLUDES, "hosts output" },
    { 0 },
};

static int run_fabric_read (struct inputs *in)
{
    struct discover_options opts = find_options ();
    struct mads_counts counts;
    struct reach_hosts hosts;
    struct hostlist hl = { 0 };
    struct node_names *names;
    struct fabric *hint = NULL;

    if (given.publish)
        return publish_subnets (in->conf, &opts);
    opts.names = names = inputs_names (in, given.names);
    if (given.hosts) {
        hl = inputs_hostlist ("hosts", given.hosts, FABRIC_MAX_LID);
        if (given.hint)
            hint = need (fabric_load (given.hint, &fault));
        hosts = (struct reach_hosts){
            .name = (const char *const *)hl.name, .n = hl.count, .hint = hint,
        };
        opts.hosts = &hosts;
    }
    in->fabric = need (discover (&opts, &counts, &fault));
    report_mad_counts (counts);
    need_ok (fabric_write (in->fabric, inputs_output (in), &fault));
    fabric_destroy (hint);
    hostlist_clear (&hl);
    names_destroy (names);
    return EXIT_OK;
}

static int run_netdisc (struct inputs *in)
{
    int status = netdisc_answer ();

    (void)in;
    if (status == ERROR_INPUT)
        die_input ("this is for pmm fabric read alone");
    return status;
}

static int run_counters (struct inputs *in)
{
    struct discover_options opts = find_options ();
    struct device_port used;
    struct counters *c;
    struct mads *m;

    if (!in->fabric)
        in->fabric = need (discover (&opts, NULL, &fault));
    else
        inputs_need_one (in->fabric, in->fabric_path);
    m = need (device_open (given.ca, given.port, &opts.mads, &used, &fault));
    c = need (collect (m, in->fabric, &fault));
    snprintf (c->source, sizeof (c->source), "%s/%d", used.ca, used.port);
    report_mad_counts (mads_counts (m));
    need_ok (counters_write (c, inputs_output (in), &fault));
    counters_destroy (c);
    mads_destroy (m);
    return EXIT_OK;
}

#else
static const struct opt read_options[1], counters_options[1];
static const struct opt_rule read_rules[1];
static int given;

static int run_fabric_read (struct inputs *in)
{
    (void)in;
    die_world ("this pmm was built without the libraries that read live"
               " fabrics");
}
#define run_counters run_fabric_read
#define run_netdisc run_fabric_read
#endif

const struct verb verb_fabric_read = {
    .name = "read", .help = "read a snapshot of the live fabric",
    .may = TAKES_CONF | TAKES_OUTPUT,
    .options = read_options, .rules = read_rules, .given = &given,
    .run = run_fabric_read,
};

const struct verb verb_fabric_netdisc = {
    .name = "netdisc", .run = run_netdisc,
};

const struct verb verb_fabric_counters = {
    .name = "counters", .help = "read the counters at both ends of each cable",
    .may = TAKES_FABRIC | TAKES_OUTPUT,
    .options = counters_options, .given = &given, .run = run_counters,
};
