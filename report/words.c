/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "report/words.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

enum { NAMED = 3, LISTED = 8, TIME = 32 };

static const char *const against[] = {
    [BASIS_BASELINE] = "slower than in the baseline",
    [BASIS_CLASS] = "slower than its class; that may be its length",
    [BASIS_COUNTER] = "slower than its class, and counts errors",
    [BASIS_WIDTH] = "slower than its class, and lacks lanes",
    [BASIS_SPEED] = "slower than its class, and its lanes are, too",
    [BASIS_TRAFFIC] = "not judged",
    [BASIS_LOOPBACK] = "its own loopback is slower than in the baseline",
    [BASIS_BEHIND] = "slower than its class, which got faster",
    [BASIS_ALIKE] = "slower than in the baseline, as other hosts are by the same",
    [BASIS_LOSS] = "loses messages",
    [BASIS_SLOW] = "delays some messages",
    [BASIS_RATE] = "carries less than expected",
};

const char *words_against (enum finding_basis basis)
{
    return against[basis];
}

char *words_link (const struct fabric *f, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];
    const struct link_info *info = &f->link_info[link];

    if (info->kind == LINK_HOST && info->host)
        return xasprintf ("%s%s%s's", info->host, info->rail ? " " : "",
                          info->rail ? info->rail : "");
    return xasprintf ("%s -- %s", PORT_NAME (f, l->a), PORT_NAME (f, l->b));
}

/* "h0006 -- s1-0002/3": both ends of a host link; of others as above. */
static char *both_ends (const struct fabric *f, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];
    const struct link_info *info = &f->link_info[link];
    bool b_is_host = f->node[f->port[l->b].node].type == NODE_CA;
    char host[LINK_NAME];

    if (info->kind != LINK_HOST || !info->host)
        return words_link (f, link);
    link_name (info, host);
    return xasprintf ("%s -- %s", host, PORT_NAME (f, b_is_host ? l->a : l->b));
}

/* Some of the links that may be it: "X", "X or Y", "X, or 3 others". */
static char *suspect_names (const struct finding *x, const struct fabric *f,
                            char *(*name) (const struct fabric *, uint32_t))
{
    size_t n = x->nsuspects + x->noneway;
    size_t shown = n > NAMED ? 1 : n;
    char *text = NULL;

    for (size_t i = 0; i < shown; i++) {
        char *one = name (f, i < x->nsuspects ? x->suspect[i]
                                              : x->oneway[i - x->nsuspects]);

        xappend (&text, "%s%s", i > 0 ? ", or " : "", one);
        free (one);
    }
    if (n > shown)
        xappend (&text, ", or %s", COUNTED (n - shown, "other"));
    return text ? text : xstrdup ("?");
}

static const char *time_text (double ns, char text[TIME])
{
    if (fabs (ns) >= 950)
        snprintf (text, TIME, "%.1f us", ns / 1000);
    else
        snprintf (text, TIME, "%.0f ns", ns);
    return text;
}

static char *node_list (const struct finding *x)
{
    char *nodes = x->nnodes > 0 ? hostlist_fold (
                      (const char *const *)x->node, x->nnodes) : NULL;

    return nodes ? nodes : xstrdup ("?");
}

/* Whether it could be told, as far as latency goes, or may be others' traffic. */
static bool is_told (const struct finding *x)
{
    return x->level != VERDICT_UNKNOWN && !finding_is_at_once (x);
}

/* "is 1.0 us slow", "may be"; "is slow" where it is not known by how much */
static const char *fault_text (const struct finding *x, char text[3 * TIME])
{
    char time[TIME];

    if (x->basis == BASIS_SLOW && !is_told (x))
        return "may delay some messages";
    if (x->basis == BASIS_LOSS || x->basis == BASIS_SLOW
        || x->basis == BASIS_RATE)
        return against[x->basis];
    if (isnan (x->excess_ns))
        return is_told (x) ? "is slow" : "may be slow";
    snprintf (text, 3 * TIME,
              x->basis == BASIS_BEHIND  ? "is %s slower than others, which got faster"
              : x->basis == BASIS_ALIKE ? "is %s slower, as others are at once"
              : is_told (x)             ? "is %s slow"
                                        : "may be %s slow",
              time_text (x->excess_ns, time));
    return text;
}

/* In Gb/s, two digits or more. */
static double shown_gbps (double bits)
{
    return bits >= 9.95e9 ? round (bits / 1e9)
           : bits >= 1e9  ? round (bits / 1e8) / 10
                          : round (bits / 1e7) / 100;
}

static void add_gbps (char **text, double bits, double expected)
{
    xappend (text, "%g", shown_gbps (bits));
    if (!isnan (expected))
        xappend (text, " of %g", shown_gbps (expected));
    xappend (text, " Gb/s");
}

char *words_rate (double bits, double expected)
{
    char *text = NULL;

    add_gbps (&text, bits, expected);
    return text;
}

/* "Gen4"; PCIe's generations have these GT/s on each lane */
static const char *pcie_generation (double gts, char text[TIME])
{
    static const double of[] = { 2.5, 5, 8, 16, 32, 64, 128 };

    for (size_t i = 0; i < sizeof (of) / sizeof (*of); i++)
        if (gts == of[i]) {
            snprintf (text, TIME, "Gen%zu", i + 1);
            return text;
        }
    snprintf (text, TIME, "%g GT/s", gts);
    return text;
}

/* "x8 of x16", "Gen3 x16 of Gen4 x16" */
static void add_pcie (char **text, const struct fact *pcie)
{
    char now[TIME], could[TIME];

    if (pcie->n[1] == pcie->n[3])
        xappend (text, "x%.0f of x%.0f", pcie->n[0], pcie->n[2]);
    else
        xappend (text, "%s x%.0f of %s x%.0f", pcie_generation (pcie->n[1], now),
                 pcie->n[0], pcie_generation (pcie->n[3], could), pcie->n[2]);
}

/* Whether the adapter's loopback is nearer to what the link carries than to what
 * was expected.
 */
static enum finding_loopback rate_loopback (const struct finding *x)
{
    const struct fact *own = finding_fact (x, FACT_RATE_LOOPBACK);

    if (!own)
        return x->basis == BASIS_RATE ? x->loopback : LOOPBACK_UNTOLD;
    return 2 * own->n[0] < x->rate_bits + x->rate_expected_bits ? LOOPBACK_SLOW
                                                                : LOOPBACK_FAST;
}

/* Whether it is of a host itself, not of its cable. */
static bool is_of_host (const struct finding *x)
{
    bool cable = x->basis != BASIS_RATE /* is slow, and its host is not */
                 && (finding_fact (x, FACT_LOOPBACK_FAST)
                     || finding_fact (x, FACT_LOOPBACK_AS_OTHERS));

    return x->kind == FINDING_NODE
           || (x->kind == FINDING_HOST_END && finding_has_rate (x) && !cable
               && (finding_fact (x, FACT_RATE_PCIE)
                   || rate_loopback (x) == LOOPBACK_SLOW));
}

/* Append "PCIe runs at x8 of x16: 98 of 197 Gb/s, in loopback, too"; of a switch
 * "57 % of what its ports allow".
 */
static void add_rate (char **text, const struct finding *x)
{
    const struct fact *pcie = finding_fact (x, FACT_RATE_PCIE);
    const struct fact *own = finding_fact (x, FACT_RATE_LOOPBACK);
    const struct fact *from = finding_fact (x, FACT_RATE);

    if (x->kind == FINDING_SWITCH) {
        xappend (text, "%.0f %% of what its ports allow",
                 100 * x->rate_bits / x->rate_expected_bits);
        return;
    }
    if (pcie) {
        xappend (text, "PCIe runs at ");
        add_pcie (text, pcie);
        xappend (text, ": ");
    }
    add_gbps (text, x->rate_bits, x->rate_expected_bits);
    if (finding_fact (x, FACT_RATE_SENT))
        xappend (text, " sent");
    else if (finding_fact (x, FACT_RATE_RECEIVED))
        xappend (text, " received");
    else if (from && from->name[0])
        xappend (text, " from %s", from->name[0]);
    if (rate_loopback (x) == LOOPBACK_SLOW)
        xappend (text, ", in loopback, too");
    else if (own)
        xappend (text, ", loopback %g", shown_gbps (own->n[0]));
}

/* Append the rate to what is wrong otherwise. */
static char *with_rate (char *text, const struct finding *x)
{
    if (!finding_has_rate (x))
        return text;
    xappend (&text, finding_fact (x, FACT_RATE_PCIE) ? "; " : "; it carries ");
    add_rate (&text, x);
    return text;
}

static char *of_cable (const struct finding *x, const struct fabric *f)
{
    size_t n = x->nsuspects + x->noneway;
    bool inside = x->nsuspects > 0 && f->link[x->suspect[0]].internal;
    bool rate = x->basis == BASIS_RATE && finding_has_rate (x);
    char *names = suspect_names (x, f, rate ? both_ends : words_link);
    char what[2 * TIME], fault[3 * TIME], *text = NULL;

    if (n > NAMED)
        snprintf (what, sizeof (what), "one of %zu cables", n);
    else
        snprintf (what, sizeof (what), "%s", inside ? "a link" : "a cable");
    if (rate && n <= NAMED) { /* "cable h0006 -- s1-0002/3: 98 of 197 Gb/s" */
        xappend (&text, "%s %s: ", what + strlen ("a "), names);
        add_rate (&text, x);
    }
    else if (x->basis == BASIS_TRAFFIC)
        xappend (&text, "others' traffic hides %s: %s", what, names);
    else
        text = with_rate (
            xasprintf ("%s %s: %s", what, fault_text (x, fault), names), x);
    free (names);
    return text;
}

/* "h0006: PCIe runs at ...", "h0006 itself is 1.0 us slow, not its cable" */
static char *of_host (const struct finding *x, const struct fabric *f)
{
    char name[LINK_NAME] = "", fault[3 * TIME];
    char *nodes, *text = NULL;

    if (x->nnodes == 1 && x->nsuspects == 1)
        link_name (&f->link_info[*x->suspect], name);
    nodes = node_list (x);
    if (x->basis == BASIS_RATE && finding_has_rate (x)) {
        xappend (&text, "%s: ", *name ? name : nodes);
        add_rate (&text, x);
    }
    else
        text = with_rate (xasprintf ("%s itself %s, not its cable", nodes,
                                     fault_text (x, fault)), x);
    free (nodes);
    return text;
}

char *words_finding (const struct finding *x, const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    const char *sw = x->nsw > 0 ? net->sw[x->sw[0]].name : NULL;
    char fault[3 * TIME], *text = NULL;

    if (x->kind == FINDING_SWITCH && sw && x->basis == BASIS_RATE
        && finding_has_rate (x)) {
        xappend (&text, "%s: ", sw);
        add_rate (&text, x);
        return text;
    }
    if (x->kind == FINDING_SWITCH && sw)
        return with_rate (xasprintf ("switch %s %s", sw, fault_text (x, fault)),
                          x);
    if (x->kind == FINDING_ROUTE && finding_is_at_once (x))
        return xasprintf ("messages take %s %s there and back than by the way in "
                          "the tables", time_text (fabs (x->excess_ns), fault),
                          x->excess_ns > 0 ? "more" : "less");
    if (x->kind == FINDING_ROUTE && x->nsw == 1)
        return xasprintf ("messages leave switch %s by another way than the "
                          "tables say", sw);
    if (x->kind == FINDING_ROUTE)
        return xstrdup ("messages take another way than the tables say");
    return is_of_host (x) ? of_host (x, f) : of_cable (x, f);
}

__attribute__ ((format (printf, 2, 3))) static void
add_step (json_t *steps, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    json_add (steps, json_string (text_clean (text)));
    free (text);
}

static void add_cable_steps (json_t *steps, const struct finding *x,
                             const struct fabric *f)
{
    const struct fabric_link *l = x->nsuspects > 0 ? &f->link[*x->suspect]
                                                   : NULL;
    bool one = l && x->nsuspects + x->noneway == 1;
    char *name = one ? words_link (f, *x->suspect) : NULL;

    if (l && l->internal)
        add_step (steps, "ask the maker of the switch or card: this link has "
                         "no cable");
    else if (one && l->kind == LINK_HOST)
        add_step (steps, "reseat %s cable at both ends, then swap it", name);
    else if (one)
        add_step (steps, "reseat the cable %s at both ends, then swap it",
                  name);
    else
        add_step (steps, "reseat the plugs of the first cable, then of the "
                         "next; swap the one that stays slow");
    free (name);
}

static void add_host_steps (json_t *steps, const struct finding *x,
                            const char *nodes)
{
    if (x->loopback == LOOPBACK_FAST) {
        add_step (steps, "try another port of the switch; the adapter itself "
                         "is fast");
        return;
    }
    add_step (steps, "look at the adapter and PCIe slot of %s: width and speed "
                     "(lspci)", nodes);
    add_step (steps, "look at its software: clock governor, other processes, "
                     "kernel");
}

/* What limits a rate depends on the direction. */
static void add_rate_steps (json_t *steps, const struct finding *x,
                            const char *nodes)
{
    if (finding_fact (x, FACT_RATE_PCIE))
        add_step (steps, "reseat the adapter of %s in its PCIe slot, then try "
                         "another slot (lspci -vv: LnkSta beside LnkCap)",
                  nodes);
    else if (finding_fact (x, FACT_RATE_SENT))
        add_step (steps, "look at MaxReadReq of the adapter of %s (lspci -vv): "
                         "4096 is usual", nodes);
    else if (finding_fact (x, FACT_RATE_RECEIVED))
        add_step (steps, "look at %s: PCIe relaxed ordering, the IOMMU "
                         "(iommu=pt), the adapter's NUMA node", nodes);
    else
        add_step (steps, "look at the adapter and PCIe slot of %s: width, "
                         "speed, power (lspci -vv, dmesg); and at its MTU",
                  nodes);
    if (finding_fact (x, FACT_RATE_STRICT))
        add_step (steps, "it carries more without PCIe relaxed ordering: look "
                         "at the BIOS of %s", nodes);
}

json_t *words_steps (const struct finding *x, const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    json_t *steps = xcheck (json_array ());
    char *nodes = node_list (x);

    if (finding_is_at_once (x))
        add_step (steps, "measure again when others send less: a slow cable stays, "
                         "their traffic does not");
    else if (x->basis == BASIS_TRAFFIC)
        add_step (steps, "measure again when %s %s less: nothing is known to "
                         "be wrong", x->nnodes > 0 ? nodes : "others",
                  x->nnodes > 0 ? "sends and receives" : "send");
    else if (x->kind == FINDING_ROUTE) {
        add_step (steps, "read the fabric again (pmm fabric read): the "
                         "snapshot may be old");
        add_step (steps, "ask the subnet manager for the tables of the "
                         "switches on this path");
    }
    else if (x->kind == FINDING_SWITCH)
        for (size_t i = 0; i < x->nsw; i++)
            add_step (steps, "look at switch %s (%s): temperature, firmware, "
                             "load; all of its cables are slow alike, so it is "
                             "none of them", net->sw[x->sw[i]].name,
                      net->sw[x->sw[i]].id);
    else if (is_of_host (x)) {
        if (finding_has_rate (x))
            add_rate_steps (steps, x, nodes);
        if (x->basis != BASIS_RATE)
            add_host_steps (steps, x, nodes);
        add_step (steps, "leave its cable: that is not the cause");
    }
    else if (x->basis == BASIS_BEHIND)
        add_step (steps, "see whether %s %s left out of an upgrade that made the "
                         "others faster", x->nnodes > 0 ? nodes : "its switches",
                  x->nnodes == 1 ? "was" : "were");
    else if (x->basis == BASIS_ALIKE) {
        add_step (steps, "see what was changed at %s and others, as by an upgrade: "
                         "they got slower by the same",
                  x->nnodes > 0 ? nodes : "its switches");
        add_step (steps, "if it is to stay: pmm ledger rebase %s",
                  x->nsuspects == 1 ? net->link[*x->suspect].id : "CABLE");
    }
    else {
        if (x->basis == BASIS_LOSS || x->basis == BASIS_SLOW)
            add_step (steps, "read the error counters of the ports: pmm fabric "
                             "check");
        add_cable_steps (steps, x, f);
        if (x->kind == FINDING_HOST_END && finding_has_rate (x)
            && rate_loopback (x) != LOOPBACK_FAST)
            add_rate_steps (steps, x, nodes);
        if (x->kind == FINDING_HOST_END && x->basis != BASIS_RATE)
            add_host_steps (steps, x, nodes);
        else if (x->kind == FINDING_HOST_END
                 && rate_loopback (x) == LOOPBACK_FAST)
            add_step (steps, "try another port of the switch: the adapter's "
                             "own loopback carries what it should");
        add_step (steps, "after the repair: pmm ledger rebase %s",
                  x->nsuspects == 1 ? net->link[*x->suspect].id : "CABLE");
    }
    free (nodes);
    return steps;
}

char *words_do (const struct finding *x, const struct fabric *f,
                enum words_for who)
{
    char *nodes, *text = NULL;
    json_t *steps, *v;
    size_t i;

    if (who == WORDS_STAFF) {
        steps = words_steps (x, f);
        json_array_foreach (steps, i, v)
            xappend (&text, "%s%s", i > 0 ? "; " : "", json_string_value (v));
        json_decref (steps);
        return text;
    }
    if (x->basis == BASIS_TRAFFIC
        || (x->nnodes == 0 && x->nsw == 0 && x->basis != BASIS_RATE && !is_told (x)))
        return xstrdup ("check again when others send less; nothing is known "
                        "to be wrong");
    if (x->nnodes == 0 || x->kind == FINDING_ROUTE)
        return xstrdup ("send this to your support; it is no node's fault");
    nodes = node_list (x);
    text = xasprintf (x->basis == BASIS_BEHIND
                          ? "ask your support whether %s missed an upgrade"
                      : x->basis == BASIS_ALIKE
                          ? "ask your support whether %s and others had an upgrade"
                          : "leave out %s, or send this to your support", nodes);
    free (nodes);
    return text;
}

/* "15 places between switches look slow at once, by up to 1.3 us: ..." */
char *words_at_once (const struct verdict *v)
{
    double most = 0;
    bool before = false; /* slower than they were themselves */
    char time[TIME];

    for (size_t i = 0; i < v->nfindings; i++)
        if (finding_is_at_once (&v->finding[i])) {
            most = fmax (most, fabs (v->finding[i].excess_ns));
            before |= v->finding[i].basis == BASIS_BASELINE;
        }
    return xasprintf ("%s between switches look slow at once, by up to %s: "
                      "others' traffic, or %s",
                      COUNTED (verdict_at_once (v), "place"),
                      time_text (most, time),
                      before ? "changes since the baseline"
                             : "the lengths of cables");
}

char *words_place (const struct finding *x, const struct fabric *f)
{
    char *text = suspect_names (x, f, words_link);

    xappend (&text, ": %+.0f ns (+-%.0f)%s", x->excess_ns, x->stderr_ns,
             x->kind == FINDING_ROUTE ? " there and back" : "");
    return text;
}

char *words_excess (const struct finding *x)
{
    char *text = NULL;

    if (!isnan (x->excess_ns) && x->basis != BASIS_RATE) {
        xappend (&text, "%+.0f ns (+-%.0f)", x->excess_ns, x->stderr_ns);
        /* that of a route is of round trips, and has either sign */
        if (x->kind == FINDING_ROUTE)
            xappend (&text, " there and back");
        else if (!isnan (x->expected_ns))
            xappend (&text, " over an expected %.0f ns", x->expected_ns);
        if (x->kind != FINDING_ROUTE)
            xappend (&text, ", %s", against[x->basis]);
    }
    if (finding_has_rate (x))
        xappend (&text, "%s%g of an expected %g Gb/s", text ? "; " : "",
                 shown_gbps (x->rate_bits), shown_gbps (x->rate_expected_bits));
    return text;
}

/* What facts are said with. In braces: {0} the first number, {+0} with its sign,
 * {g0} short, {r0} bits as Gb/s, {G0} GT/s as PCIe's generation, {0 link} so many
 * links, {0:was|were} by that number; {a} the first name, {a? from } that if there
 * is a name, {a|none} or else that.
 */
static const char *const fact_words[FACT_KINDS] = {
    [FACT_SAID] = "{a}",

    [FACT_ACROSS] = "{0 probe} across {1:it|them} show{0:s|} {+2} ns (+-{3})",
    [FACT_ONE_WAY] = " one way",
    [FACT_ONE_WAY_MEAN] = " (in one direction, the mean of both)",
    [FACT_MESSAGES] = " in messages{a? from }{a}{b? to }{b}",
    [FACT_MESSAGES_MEAN] = " (in messages{a? from }{a}{b? to }{b}, the mean "
        "of both directions)",
    [FACT_ABOVE_BASELINE] = " above the value expected from the baseline",
    [FACT_ABOVE_LRTL] = " above cables of its class and LinkRoundTripLatency; "
        "without a baseline this need not be new",
    [FACT_ABOVE_CLASS] = " above its class; without a baseline this need not "
        "be new",
    [FACT_ROUTE] = "{0 probe} by the route from switch {a} ({b}) to {c} "
        "differ{0:s|} by {+1} ns (+-{2}) from the value that the forwarding "
        "tables predict",
    [FACT_HOST] = "its round trips take {+0} ns (+-{1}) one way over the "
        "baseline's; its loopback, which crosses no cable, shows {+2} ns of "
        "that",
    [FACT_HOST_LOOPBACK] = "its loopback, which crosses no cable, shows {+0} "
        "ns (+-{1}) one way over the baseline's",
    [FACT_DELAYED] = "{0} of {1} messages across it take {g2} us more than "
        "the least or longer, of all others {3} of {4}",
    [FACT_LOST] = "{0} of {1} messages across it were lost, of all others {2} "
        "of {3}",
    [FACT_FLOWS] = "{0} of {1 flow} that may cross {5:it|one of them} "
        "show{0:s|} {+2} ns (+-{3}) one way; about {4} do cross each",
    [FACT_TRAFFIC_SENT] = "{a} carries others' traffic: sent {0} % of what "
        "its link carries",
    [FACT_TRAFFIC_RECEIVED] = "{a} carries others' traffic: received {0} % of "
        "what its link carries",
    [FACT_TRAFFIC_BOTH] = "{a} carries others' traffic: sent {0} % and "
        "received {1} % of what its link carries",

    [FACT_SWITCH_TOO] = "; a slow switch is as likely",
    [FACT_GREW] = "; it grew while it was measured",
    [FACT_TRAFFIC_TOO] = "; others' traffic met all messages across it, and "
        "is as likely",
    [FACT_SOFTWARE_TOO] = "; without a loopback, the host's software is as "
        "likely",
    [FACT_LOOPBACK_FAST] = "; the adapter's own loopback is as fast as before",
    [FACT_LOOPBACK_AS_OTHERS] = "; the adapter's own loopback is as fast as "
        "those of the other hosts",
    [FACT_LOOPBACK_SLOW] = "; its loopback is slower, too, by {0} ns, which "
        "do not count here",
    [FACT_LOOPBACK_SLOWEST] = "; its loopback is slower by {0} ns than those "
        "of the other hosts",
    [FACT_CLASS_LESS] = "; the others of its class take {0} ns less than "
        "before",
    [FACT_CLASS_DIFFERS] = "; a whole class of links differs by {+0} ns from "
        "before, which may be a part of this",
    [FACT_NONE_BEFORE] = ", and none did so in the baseline",
    [FACT_CAGE] = "; it and {a} are both in cage {0} of switch {b} ({c}): one "
        "transceiver",
    [FACT_COUNTS] = "; a port of it counts errors",
    [FACT_LANES_LOST] = "; it has lost lanes",
    [FACT_LANES_SLOW] = "; its lanes are slower than they could be",
    [FACT_WAITED] = "; others' traffic was in its way meanwhile",

    [FACT_RATE] = "{0 flow} across it carried {r1} of {r2} Gb/s{a? from }{a}",
    [FACT_RATE_SENT] = "what it sends: {0 flow} carried {r1} of {r2} Gb/s",
    [FACT_RATE_RECEIVED] = "what it receives: {0 flow} carried {r1} of {r2} "
        "Gb/s",
    [FACT_RATE_BEFORE] = "; in the baseline {r0} Gb/s",
    [FACT_RATE_CROWD]
    = "; {0 flow} at once, through different ports, {r1} Gb/s",
    [FACT_RATE_LOOPBACK] = "; its loopback, which crosses no cable, {r0} Gb/s",
    [FACT_RATE_PORT] = "; the port came up at {r0} of {r1} Gb/s",
    [FACT_RATE_PCIE] = "; PCIe runs at {G1} x{0} of {G3} x{2}, which carries "
        "{r4} Gb/s",
    [FACT_RATE_STRICT] = "; better without relaxed ordering",
    [FACT_RATE_RETRIES] = "; its adapter counted {0 retransmission} meanwhile",
    [FACT_RATE_ERRORS] = "; PCIe corrected {0 error} meanwhile",
    [FACT_RATE_AT_TIMES] = "; at times {r0} Gb/s",
    [FACT_RATE_LOST] = "; {0} of {1 burst} did not arrive in time",

    [FACT_RATE_SLOT] = "{a}: its slot allows {G1} x{0}: {r2} of {r3} Gb/s",
    [FACT_RATE_ALIKE] = "{a}: most carry {r1} of {r2} Gb/s: {0 host} alike",
    [FACT_RATE_FILLED] = "{0} of {2 cable} between switches could be filled "
        "to {1} % at most",
    [FACT_RATE_UNTOLD] = "the rate of {0 cable} could not be judged: others' "
        "traffic, or too few flows",
    [FACT_RATE_FORBIDDEN] = "rates were not measured: the site does not allow "
        "it here (Rates in pmm.conf)",
    [FACT_RATE_TRANSPORT] = "rates were not measured: bursts are not possible "
        "over this transport",
    [FACT_RATE_SITE] = "rates were measured of host links alone, as this site "
        "allows no more",
    [FACT_RATE_TIME] = "rates were measured of host links alone: the others "
        "would take too long",
    [FACT_RATE_SPREAD] = "rates were measured of host links alone, as "
        "messages are spread over the others",
    [FACT_RATE_WHY] = "rates: {b?not those of }{b}{b?: }{a}",
    [FACT_RATE_HOSTS] = "rates of some hosts were not measured: no bursts "
        "were possible with them",
    [FACT_ALONE] = "{0 port} not measured, alone in {0:its subnet|their "
        "subnets} of the job: {a}{0:|, ...}",
    [FACT_SILENT_NODES] = "{0 node} did not answer: {a}",
    [FACT_INCOMPLETE] = "the measurement was not completed",
    [FACT_ABSENT_PROBES] = "{0 planned probe} {0:was|were} not measured",
    [FACT_SILENT_PROBES] = "{0 probe} lost all of {0:its|their} messages",
    [FACT_SPREAD] = "{0 switch} spread{0:s|} messages of service level {1} "
        "over several paths (adaptive or hashed routing)",
    [FACT_SPREAD_BEFORE] = "the baseline's messages were spread over several "
        "paths (adaptive or hashed routing)",
    [FACT_UNSEEN_LINKS] = "{0 link} {0:was|were} not measured by any probe",
    [FACT_UNRESOLVED] = "{0} of the {1} links cannot be resolved by this "
        "job's paths",
    [FACT_NO_BASELINE] = "no baseline: links were compared with their classes "
        "only",
    [FACT_NO_BASELINE_LRTL] = "no baseline: links were compared with their "
        "classes, {0} of the {1} by their LinkRoundTripLatency",
    [FACT_NOT_IN_BASELINE] = "{0} of the {1} links are not in the baseline",
    [FACT_STAYED] = "{a} takes what it took before, where the others of its "
        "class take {0} ns more",
    [FACT_FASTER] = "{a} takes {0} ns less than expected: it was repaired or "
        "changed, or was slow when the baseline was taken",
    [FACT_UNEVEN] = "{1:one direction of |}{b?switch }{a}{b? (}{b}{b?)} looks "
        "slow by {+0} ns, or paths across it are longer than others: only a "
        "baseline can tell",
    [FACT_CLASS_SHIFT] = "all links of class {a} differ by {+0} ns from the "
        "expected value; this shift was removed",
    [FACT_DRIFT] = "all links took {+0} ns more at the end of the first stage "
        "than at its beginning; this drift was removed",
    [FACT_UNJUDGED] = "others' traffic filled host ends and may have filled "
        "{0 link} on its way, which were not judged",
    [FACT_LOOPBACKS_SHIFT] = "the loopbacks of most hosts take {+0} ns one "
        "way over the baseline's",
    [FACT_LOST_NOWHERE] = "{0} of {1} messages were lost, on no link in "
        "particular: InfiniBand loses none; look at the switches' discards, "
        "the MTU, receive queues, and for nodes that are too slow to answer",
    [FACT_LOST_SOME] = "{0} of {1} messages were lost",
    [FACT_SOME_LINK_LOSES] = "some link between switches loses messages",
    [FACT_SOME_LINK_DELAYS] = "some link between switches delays messages",
    [FACT_UNEVEN_PAIRS] = "the paths of {0 pair} differ in length: their "
        "flows do not show whether a cable between switches is slow",
    [FACT_FLOWS_ENOUGH] = "of {1 cable} that only some flows cross, {0} had "
        "enough flows to show whether one is slow",
    [FACT_OPEN] = "{0} of {1 host end} and {2} of {3 other link} were judged; "
        "not judged, because others' traffic or too few probes would hide {4} "
        "ns: {a}{5:, ...|}; the verdict does not include them",
    [FACT_TOO_MANY] = "more is slow than can be resolved",
    [FACT_DISTURBED] = "{0 probe} {0:was|were} disturbed and ignored",
    [FACT_DISTRUSTED] = "the loopbacks of {0 host} differ from the "
        "baseline's, while round trips do not, and were ignored",
    [FACT_NOTHING] = "nothing to measure",
    [FACT_STAGE_SHIFT] = "all round trips took {+0} ns more when suspects "
        "were measured again; this was subtracted",
    [FACT_LEVEL] = "measured on {a}",
    [FACT_PRIVATE_LFTS] = "private LFTs: {0 switch} may forward by other "
        "tables than those that were read",
    [FACT_FAST_RECOVERY] = "fast recovery: the cable at {a} is not active, "
        "and its messages may take another way",
    [FACT_NO_PORT] = "{a} ha{0:s|ve} no InfiniBand port: the other nodes were "
        "measured",
    [FACT_UNCONFIRMED] = "the second stage failed: {a}",
    [FACT_MORE_NODES] = "something is wrong with {0} more nodes",
    [FACT_STOOD_IN] = "{a} was to lead and printed no result: {b|another "
        "node} did",
    [FACT_ASTRAY] = "{a} printed a result, but {b} led: it does not count",
    [FACT_TRAFFIC_UNTOLD] = "{0} of {1} ports did not report their traffic: "
        "traffic of others is not seen there",
    [FACT_PCIE_LANES] = "{a}: PCIe runs at x{0} of x{1}",
};

/* One or the other side of what `of` has before its end, which has '|'. */
static void print_fact_choice (const char *of, const char *end, bool first,
                               FILE *fp)
{
    const char *bar = memchr (of, '|', (size_t)(end - of));
    const char *from = first ? of : bar + 1;

    fprintf (fp, "%.*s", (int)((first ? bar : end) - from), from);
}

static void print_fact_name (const char *name, const char *of, const char *end,
                             FILE *fp)
{
    if (*of == '?')
        fprintf (fp, "%.*s", name ? (int)(end - of - 1) : 0, of + 1);
    else
        fprintf (fp, "%.*s",
                 name ? INT_MAX : *of == '|' ? (int)(end - of - 1) : 0,
                 name ? name : of + 1);
}

/* What is in braces, up to its end. */
static void print_fact_field (const struct fact *x, const char *of,
                              const char *end, FILE *fp)
{
    const char *format = *of == '+'                 ? "%+.0f"
                         : *of == 'g' || *of == 'r' ? "%g"
                                                    : "%.0f";
    bool rate = *of == 'r';
    char noun[TIME];
    double n;

    if (*of >= 'a' && *of <= 'c') {
        print_fact_name (x->name[*of - 'a'], of + 1, end, fp);
        return;
    }
    if (*of == 'G') {
        fputs (pcie_generation (x->n[of[1] - '0'], noun), fp);
        return;
    }
    of += *of == '+' || *of == 'g' || rate;
    n = x->n[*of++ - '0'];
    if (rate)
        n = shown_gbps (n);
    if (*of == ' ') {
        snprintf (noun, sizeof (noun), "%.*s", (int)(end - of - 1), of + 1);
        fputs (COUNTED ((size_t)n, noun), fp);
    }
    else if (*of == ':')
        print_fact_choice (of + 1, end, n == 1, fp);
    else
        fprintf (fp, format, n);
}

static char *fact_list (const struct fact *fact, size_t n)
{
    char *text;
    size_t size;
    FILE *fp = xcheck (open_memstream (&text, &size));

    for (size_t i = 0; i < n; i++) {
        const char *s = fact_words[fact[i].kind];
        const char *begin = fact[i].kind == FACT_SAID ? fact[i].name[0] : s;

        if (i > 0 && begin && !strchr (" ,;", *begin))
            fputs ("; ", fp);
        for (; *s; s++) {
            const char *end = *s == '{' ? strchr (s, '}') : NULL;

            if (end)
                print_fact_field (&fact[i], s + 1, end, fp);
            else
                fputc (*s, fp);
            s = end ? end : s;
        }
    }
    xcheck (fclose (fp) == 0 ? text : NULL);
    return text_clean (text);
}

char *words_fact (const struct fact *fact)
{
    return fact_list (fact, 1);
}

char *words_why (const struct finding *x)
{
    return fact_list (x->fact, x->nfacts);
}

char *words_headline (const struct verdict *v)
{
    if (v->status != VERDICT_OK && v->nlimits > 0)
        return words_fact (&v->limit[0]);
    return xstrdup (v->status != VERDICT_OK ? "it could not be judged"
                    : v->probes > 0         ? "nothing is slow"
                                            : "nothing was measured");
}

/* What was measured, where nothing was found. */
static char *measured_text (const struct verdict *v)
{
    double share = v->links ? (double)v->separable / (double)v->links : 1;

    if (v->probes == 0)
        return xasprintf ("%s, nothing to measure", COUNTED (v->nodes, "node"));
    return xasprintf ("%s by %s in %s, %s; %.0f %% of the links resolved",
                      COUNTED (v->links, "link"), COUNTED (v->probes, "probe"),
                      COUNTED (v->rounds, "round"), COUNTED (v->nodes, "node"),
                      floor (100 * share));
}

static size_t rated_links (const struct verdict *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->nrates; i++)
        n += i == 0 || v->rate[i].arc / 2 != v->rate[i - 1].arc / 2;
    return n;
}

char *words_resolved (const struct verdict *v)
{
    double share = floor (100.0 * (double)v->separable / (double)v->links);
    char *text;

    if (v->probes == 0)
        return xasprintf ("nothing, of %s", COUNTED (v->nodes, "node"));
    text = xasprintf ("%s of %s by %s in %s", COUNTED (v->links, "link"),
                      COUNTED (v->nodes, "node"), COUNTED (v->probes, "probe"),
                      COUNTED (v->rounds, "round"));
    if (v->nrates > 0)
        xappend (&text, ", rates of %s", COUNTED (rated_links (v), "link"));
    if (v->separable > 0)
        xappend (&text, "; %.0f %% of the links resolved", share);
    else if (v->links > 0)
        xappend (&text, v->nfindings > 0
                            ? "; so few nodes cannot tell which of them is slow"
                            : "; only their sums are known");
    return text;
}

char *words_sentence (const struct verdict *v, const struct fabric *f)
{
    char *text;
    size_t alike;

    if (verdict_is_limited (v))
        return words_fact (&v->limit[0]);
    if (v->nfindings == 0)
        return measured_text (v);
    alike = finding_is_at_once (v->finding) ? verdict_at_once (v) : 1;
    text = alike > 1 ? words_at_once (v) : words_finding (v->finding, f);
    if (v->nfindings > alike)
        xappend (&text, ", and %s%s",
                 COUNTED (v->nfindings - alike, "more finding"),
                 verdict_rail (v, fabric_network (f)) ? " of this rail" : "");
    return text_clean (text);
}

char *words_cable (const struct words_drain *d)
{
    const struct finding *x = &d->of;
    bool rate = finding_has_rate (x);
    char *text = xasprintf ("%.63s%s%.32s", d->host, *d->port ? " " : "", d->port);
    char fault[3 * TIME];

    if (is_of_host (x) && rate) {
        xappend (&text, ": ");
        add_rate (&text, x);
    }
    else if (rate && x->basis == BASIS_RATE) {
        xappend (&text, "'s cable carries ");
        add_rate (&text, x);
    }
    else {
        xappend (&text, "'s cable %s", fault_text (x, fault));
        text = with_rate (text, x);
    }
    xappend (&text, ": %s", !is_of_host (x) ? "reseat it, then swap it"
                            : finding_fact (x, FACT_RATE_PCIE)
                                ? "reseat the adapter in its slot"
                                : "look at its adapter and PCIe slot");
    return text;
}

char *words_drain (const struct words_drain *d)
{
    char *text = words_cable (d);

    xappend (&text, "; audit %" PRIu64 ", link %.32s", d->audit, d->link);
    if (d->of.basis == BASIS_LOSS || d->of.basis == BASIS_RATE)
        return text;
    xappend (&text, ", %+.0f ns", d->of.excess_ns);
    if (isfinite (d->of.expected_ns))
        xappend (&text, " over its %.0f ns", d->of.expected_ns);
    return text;
}

const struct event_words event_words[] = {
    [EVENT_DRAIN] = { "drain", NULL },
    [EVENT_RESUME] = { "resume", NULL },
    [EVENT_WOULD_DRAIN] = { "would-drain", NULL },
    [EVENT_CABLE] = { "cable", NULL },
    [EVENT_BLOCKED] = { "blocked", "pmm policy explain; pmm doctor" },
    [EVENT_TROUBLE] = { "trouble", "pmm doctor; journalctl -u pmm-audit" },
    [EVENT_DIGEST] = { "digest", NULL },
};
_Static_assert(sizeof (event_words) / sizeof (event_words[0]) == EVENTS,
               "each event has words");

static void print_places (const struct finding *x, const struct fabric *f,
                          const char *const *label, FILE *fp)
{
    size_t n = x->nsuspects + x->noneway;
    char plugs[FABRIC_PLUGS];

    for (size_t i = 0; i < n && i < LISTED; i++) {
        uint32_t link = i < x->nsuspects ? x->suspect[i]
                                         : x->oneway[i - x->nsuspects];
        const struct fabric_link *l = &f->link[link];

        fprintf (fp, "%s %s -- %s (%s)", i ? "   or:" : "Where:",
                 PORT_NAME (f, l->a), PORT_NAME (f, l->b), l->id);
        if (label && *label[i])
            fprintf (fp, ", label %s", label[i]);
        if (*fabric_plugs (f, link, plugs))
            fprintf (fp, ", %s", plugs);
        fputc ('\n', fp);
    }
    if (n > LISTED)
        fprintf (fp, "   or: %s\n", COUNTED (n - LISTED, "other"));
}

static const char *utc_text (int64_t time, char text[TIME])
{
    time_t t = (time_t)time;
    struct tm tm;

    if (t <= 0 || !gmtime_r (&t, &tm)
        || strftime (text, TIME, "%Y-%m-%d %H:%M UTC", &tm) == 0)
        *text = '\0';
    return text;
}

static void print_times (const struct words_case *c, FILE *fp)
{
    char since[TIME], seen[TIME];

    if (!*utc_text (c->since, since))
        return;
    fprintf (fp, "Since: %s", since);
    if (*utc_text (c->seen, seen))
        fprintf (fp, ", last seen %s", seen);
    if (c->audits > 0)
        fprintf (fp, ", in %s", COUNTED (c->audits, "audit"));
    fputc ('\n', fp);
}

char *words_ticket (const struct finding *x, const struct fabric *f,
                    const struct words_case *c)
{
    char *says = words_finding (x, f), *excess = words_excess (x);
    char *why = words_why (x), *text, *s;
    json_t *steps = words_steps (x, f), *v;
    size_t i, size;
    FILE *fp = xcheck (open_memstream (&text, &size));

    fprintf (fp, "%s: %s\n", verdict_status_name (x->level), says);
    json_array_foreach (steps, i, v)
        fprintf (fp, "%s %s\n", i ? "     " : "Do:  ", json_string_value (v));
    print_places (x, f, c->label, fp);
    print_times (c, fp);
    json_array_foreach (c->jobs, i, v)
        fprintf (fp, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "Jobs: ",
                 json_integer_value (v));
    if (json_array_size (c->jobs) > 0)
        fputc ('\n', fp);
    for (i = 0; i < json_array_size (c->nodes) && i < LISTED; i++) {
        const json_t *node = json_array_get (c->nodes, i);
        const char *state = json_text (node, "state");

        fprintf (fp, "Node: %s, %s\n", json_text (node, "node"),
                 *state ? state
                        : "not " WORDS_DRAINED " when this was written; now: "
                          "sinfo -R");
    }
    if (c->muted)
        fprintf (fp, "Muted: %s\n", c->muted);
    if (*c->about)
        fprintf (fp, "Found by: %s\n", c->about);
    fprintf (fp, "Measured: %s%s%s\n", excess ? excess : "",
             excess && *why ? "; " : "", why);
    xcheck (fclose (fp) == 0 ? text : NULL);
    for (s = text; *s; s++)
        if (*s != '\n' && (*s < ' ' || *s > '~'))
            *s = '?';
    json_decref (steps);
    free (says);
    free (excess);
    free (why);
    return text;
}
