/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-emu: a fabric in virtual time, for pmm-probe's transport "emu".
 *
 * It replaces only the cables; the processes, their coordination and their
 * plans are real. A message occupies each link on its path for its size divided
 * by the link's rate; other messages wait meanwhile. Background flows that
 * offer more than a link carries saturate it and fill the links before it
 * (tests/emu/flood). Switches that hash or adapt by the snapshot choose the
 * port of each message (tests/emu/session). The files that the kernel would
 * show for a host's ports are written to a directory (tests/emu/sysfs).
 *
 * Not emulated:
 *
 *   - credits and flow control between the jobs' own messages
 *   - virtual lanes: a service level decides only which switches spread its
 *     messages, and which ports drop them. Switches adapt to the load of their
 *     own ports alone, and spread no background
 *   - retransmission on the link, bit errors, ports that change state
 *   - adapter queues, PCIe and CPU: for messages they are a constant in the host
 *     link, so none is slower because processor or memory are busy. The
 *     software of a host can be made slower, by the same time for all its
 *     messages
 *   - how bursts of bulk data begin: they have their fair rates at once, without
 *     queues and congestion: none that spreads to links that have room, no
 *     congestion control, no unfair switch. Their acknowledgements and PCIe's read
 *     requests take nothing from the other direction. Messages do not meet them.
 *     Others' traffic counts as one flow each, not one an input
 *   - messages of an endpoint to itself: they take a constant time plus noise,
 *     wait for no others and are not lost
 *   - clocks that drift
 *   - other jobs' messages: the only foreign traffic is the background (flows)
 *     and that of a kind of noise (core/samples/simulate)
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "tests/emu/model.h"
#include "tests/emu/server.h"
#include "util/file.h"
#include "util/text.h"

enum { COMMANDS_MAX = 1024 };

/* Options that are words of model_command, kept until the fabric is loaded. */
static const char *const model_options[] = {
    "slow", "rate", "noise", "outliers", "loss", "packet", "background",
    "slow-host", "rate-noise", "retries", "width", "pcie", "order",
};

/* Of these, "X=Y" is two words. */
static const char *const of_place[] = { "slow", "slow-host", "rate", "retries",
                                        "width", "pcie", "order" };

enum {
    OPT_SOCKET = 256,
    OPT_CONTROL,
    OPT_SEED,
    OPT_LATENCY,
    OPT_STALL,
    OPT_READY,
    OPT_MODEL, /* this and the following numbers: model_options */
};

static const struct option options[] = {
    { "fabric", required_argument, NULL, 'f' },
    { "socket", required_argument, NULL, OPT_SOCKET },
    { "control", required_argument, NULL, OPT_CONTROL },
    { "seed", required_argument, NULL, OPT_SEED },
    { "latency", required_argument, NULL, OPT_LATENCY },
    { "stall", required_argument, NULL, OPT_STALL },
    { "ready-fd", required_argument, NULL, OPT_READY },
    { "slow", required_argument, NULL, OPT_MODEL },
    { "rate", required_argument, NULL, OPT_MODEL + 1 },
    { "noise", required_argument, NULL, OPT_MODEL + 2 },
    { "outliers", required_argument, NULL, OPT_MODEL + 3 },
    { "loss", required_argument, NULL, OPT_MODEL + 4 },
    { "packet", required_argument, NULL, OPT_MODEL + 5 },
    { "background", required_argument, NULL, OPT_MODEL + 6 },
    { "slow-host", required_argument, NULL, OPT_MODEL + 7 },
    { "rate-noise", required_argument, NULL, OPT_MODEL + 8 },
    { "retries", required_argument, NULL, OPT_MODEL + 9 },
    { "width", required_argument, NULL, OPT_MODEL + 10 },
    { "pcie", required_argument, NULL, OPT_MODEL + 11 },
    { "order", required_argument, NULL, OPT_MODEL + 12 },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { 0 },
};

static const char usage[] =
    "Usage: pmm-emu -f SNAPSHOT --socket PATH [OPTION]...\n"
    "       pmm-emu --control PATH COMMAND [ARGUMENT]...\n"
    "Emulate a fabric in virtual time, or change one that runs.\n"
    "\n"
    "  -f, --fabric FILE       the fabric (pmm-fabric(5))\n"
    "  --socket PATH           where pmm-probe connects\n"
    "  --control PATH          where commands are taken\n"
    "  --seed N                seed of latencies and noise (default: 1)\n"
    "  --latency FILE          lines LINK NS [NS]\n"
    "  --slow LINK=+NS         plant a slow link (repeatable)\n"
    "  --slow-host HOST=+NS    slow software of a host (repeatable)\n"
    "  --rate LINK=GBPS        no more than that over a link (repeatable);\n"
    "                          GBPS:GBPS: there and back\n"
    "  --rate-noise SHARE      bursts lose this share, half-normal; :SHARE:\n"
    "                          adapters differ by up to that\n"
    "  --retries LINK=SHARE    packets of bursts that are sent again\n"
    "  --width LINK=LANES      as the link came up\n"
    "  --pcie HOST=NOW         PCIe as it runs, like 16x8; NOW/ABLE/SLOT, none,\n"
    "                          together in one slot, errors=N in each GB, or\n"
    "                          rate=GBPS[:GBPS] that no file shows\n"
    "  --order HOST=SHARE      of its rate that a host receives; SHARE:STRICT,\n"
    "                          or no:STRICT, without relaxed ordering\n"
    "  --noise SIGMA|NAME      half-normal, ns per message; or a day's name\n"
    "  --outliers P:SCALE      with probability P, exponential of mean SCALE\n"
    "  --loss P                lose messages with probability P\n"
    "  --packet NS             time that a packet keeps a link busy\n"
    "                          (default: 30)\n"
    "  --background A,B:LOAD   a flow between hosts, of up to 1 of what A's\n"
    "                          link carries; random:N:LOAD for any;\n"
    "                          :pausing after it: on and off, 1 to 100 ms\n"
    "  --stall SECONDS         when a client that computes is given up\n"
    "                          (default: 2)\n"
    "  --ready-fd FD           write a line there, not to standard output,\n"
    "                          when clients may connect\n"
    "  -h, --help              show this\n"
    "  -V, --version           tell the version\n"
    "\n"
    "Commands: slow LINK +NS, slow-host HOST +NS, rate LINK|SWITCH GBPS,\n"
    "delay LINK SHARE:NS (up to ten times that), retries, width, pcie, order,\n"
    "heal LINK|HOST|all, noise, rate-noise, outliers, loss, packet, background\n"
    "(each as above, or off), crash HOST (its process, at its next burst), show,\n"
    "stats.\n";

struct command {
    const char *name;
    char *value;
};

struct args {
    const char *fabric, *socket, *control, *latency;
    uint64_t seed;
    double stall;
    uint64_t ready_fd;
    struct command command[COMMANDS_MAX];
    int ncommands;
};

static int parse (struct args *a, int argc, char *argv[], struct error *err)
{
    int c;

    *a = (struct args){ .seed = 1, .stall = 2, .ready_fd = STDOUT_FILENO };
    while ((c = getopt_long (argc, argv, "+f:hV", options, NULL)) != -1) {
        switch (c) {
        case 'f':
            a->fabric = optarg;
            break;
        case OPT_SOCKET:
            a->socket = optarg;
            break;
        case OPT_CONTROL:
            a->control = optarg;
            break;
        case OPT_LATENCY:
            a->latency = optarg;
            break;
        case OPT_SEED:
            if (text_u64 (optarg, 0, UINT64_MAX, &a->seed) < 0)
                return error_input (err, "--seed: '%s' is no number", optarg);
            break;
        case OPT_STALL:
            if (text_double (optarg, 0.01, 3600, &a->stall) < 0)
                return error_input (err, "--stall: '%s' is no time from 0.01 "
                                    "to 3600 s", optarg);
            break;
        case OPT_READY:
            if (text_u64 (optarg, 0, 1023, &a->ready_fd) < 0)
                return error_input (err, "--ready-fd: '%s' is no descriptor",
                                    optarg);
            break;
        case 'h':
            fputs (usage, stdout);
            exit (0);
        case 'V':
            puts ("pmm-emu " PACKAGE_VERSION);
            exit (0);
        default:
            if (c < OPT_MODEL)
                return error_input (err, "try pmm-emu --help");
            if (a->ncommands == COMMANDS_MAX)
                return error_input (err, "more than %d faults", COMMANDS_MAX);
            a->command[a->ncommands++] = (struct command){
                model_options[c - OPT_MODEL], optarg
            };
        }
    }
    if (optind < argc)
        return a->control ? 0 : error_input (err, "%s: a command needs "
                                             "--control PATH", argv[optind]);
    if (!a->fabric || !a->socket)
        return error_input (err, "-f SNAPSHOT and --socket PATH are needed");
    return 0;
}

static int plant (struct emu_model *m, const struct command *cmd,
                  struct error *err)
{
    char *word[3] = { (char *)cmd->name, cmd->value, NULL };
    char *equals = strchr (cmd->value, '=');
    bool two = false;
    int rc;

    for (size_t i = 0; i < sizeof (of_place) / sizeof (of_place[0]); i++)
        two |= !strcmp (cmd->name, of_place[i]);
    if (!two)
        return model_command (m, 2, word, err);
    if (!equals)
        return error_input (err, "--%s: '%s' is not LINK=VALUE or HOST=VALUE",
                            cmd->name, cmd->value);
    *equals = '\0';
    word[2] = equals + 1;
    rc = model_command (m, 3, word, err);
    *equals = '=';
    return rc;
}

static int setup (struct emu_model *m, const struct args *a, struct error *err)
{
    if (a->latency) {
        FILE *fp = file_open_input (a->latency, err);
        int rc;

        if (!fp)
            return -1;
        rc = model_read_latency (m, fp, a->latency, err);
        file_close_input (fp);
        if (rc < 0)
            return -1;
    }
    for (int i = 0; i < a->ncommands; i++)
        if (plant (m, &a->command[i], err) < 0)
            return -1;
    return 0;
}

static int serve (const struct args *a, struct error *err)
{
    struct fabric *f = NULL;
    struct emu_model *m = NULL;
    struct server *srv = NULL;
    int rc = -1;

    if (!(f = fabric_load (a->fabric, err)))
        goto error;
    m = model_create (f, a->seed);
    if (setup (m, a, err) < 0
        || !(srv = server_create (m, a->socket, a->control,
                                  (int)(a->stall * 1000), err)))
        goto error;
    dprintf ((int)a->ready_fd, "pmm-emu: %zu hosts, %zu links at %s\n",
             f->nhosts, f->nlinks, a->socket);
    rc = server_run (srv, err);
error:
    server_destroy (srv);
    model_destroy (m);
    fabric_destroy (f);
    return rc;
}

int main (int argc, char *argv[])
{
    static struct args a;
    struct error err = { .fault = ERROR_WORLD };
    int rc;

    rc = parse (&a, argc, argv, &err);
    if (rc == 0) {
        if (optind < argc)
            rc = control_command (a.control, argc - optind, argv + optind,
                                  stdout, &err);
        else
            rc = serve (&a, &err);
    }
    if (rc == 0)
        return 0;
    fprintf (stderr, "pmm-emu: %s\n", err.text);
    return err.fault;
}
