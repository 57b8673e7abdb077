/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates: what links carried in bursts (core/samples/bursts), beside what was
 * expected of them.
 *
 * Expected of a flow in one direction is its max-min fair share among the flows
 * of its round. A host end's arc has the least of the rates of link and port and
 * of the payload that the PCIe path is able to carry, times what is usual for
 * ports of its kind (same rate, MTU and path) in that direction: the median of
 * their best shares, if there are four; else that of all ports. A switch link has
 * its nominal rate, times the greatest usual share. Where the baseline knows an
 * arc, and it was not below 90 % of that then, or ports of its kind are fewer,
 * its own best share takes the place of the usual one.
 *
 * A flow is slow below 93 % of that. The fewest links that explain the slow flows
 * are low (core/rate/carry): those that never carried more. Links that explain the
 * same flows are suspects of one finding; of these a host end whose port, PCIe or
 * loopback is as low is it alone.
 *
 *   error    twice the usual difference between a flow's best and worst burst;
 *            without four ports of a kind also what 128 instead of 256 bytes of
 *            payload would cost PCIe. A share counts with the error added
 *   WARN     below 90 % of what was expected; below 93 % of its own baseline
 *   FAIL     below 75 %, and it is in the baseline, or its port or PCIe says that
 *            it runs below what both ends are able to. A host end whose port did
 *            not count others' traffic needs, for that, a loopback as low, or
 *            what port or PCIe say. If it is one of several host ends, this holds of
 *            all of them
 *   nothing  (a limit counts them) if the port counted others' traffic of half of
 *            what lacks, or the judge's options name the link as busy
 *   UNKNOWN  a switch link, as others' flows that never pause look the same. A crowd
 *            tells them apart (core/rate/crowd): WARN if it can carry less than 80 %
 *            by that; nothing (a limit counts them) if others use it and it can carry
 *            90 %. Without a crowd it is a WARN if it was low in the two newest runs of
 *            the baseline, too. Counters that show lanes, speed or errors decide it,
 *            too (corroborate). Above 75 %, if crowds show others' traffic anywhere, or
 *            if another one is open, only a limit counts those that would be UNKNOWN,
 *            or low before; the list of rates has them. Open ones that all meet at one
 *            switch count as one. Still a WARN is what lasts: what a slow link carried
 *            at most, in any run, is what it can carry, and is the same both ways;
 *            others' flows come and go, at times both ways. So of the newest runs, one
 *            after the other, in which it carried less than it was asked for, those
 *            count in which it carried as much as the most, in the better direction.
 *            Chance does that with p^(runs - 1), where p is how often other low links
 *            did in the next run; it must show at less than .02 of the open links that
 *            are alike both ways. A run in which it carried less, beside others, counts
 *            neither way: there are more ways to choose the runs then, but to be low in
 *            those as well is a matter of chance, too. If it carries less now, another
 *            one with the same most may have been the limit before: it is not named. If
 *            a crowd shows others where it carries the most now, these explain it
 *
 * A switch is one finding, a WARN, and no link of it, if three quarters of its
 * links are low, none by others' traffic, at least three of them explain flows of
 * their own, and so many are by chance at less than .02 switches, if links are
 * low as often as those of others are.
 *
 * If most ports of a kind are below 90 %, a limit says so, and they are compared
 * with that. A slot below its adapter is a limit, too.
 */
#ifndef CORE_JUDGE_RATES_H
#define CORE_JUDGE_RATES_H

#include "core/baseline/baseline.h"
#include "core/judge/judge.h"
#include "core/judge/verdict.h"
#include "core/samples/bursts.h"

#define RATES_WARN .9  /* of what was expected: less is a WARN, */
#define RATES_FAIL .75 /* or a FAIL */

/* Add findings, or to findings of the same links the facts of rates; limits; and the
 * list of rates, which has the arcs that were asked for CARRY_LOADED of what they
 * should be able to carry, but no bundles: nobody knows what each of their cables
 * carried. ps: on the network of places where messages were spread. 0,
 * or -1 with err: a path is broken.
 */
int judge_rates (struct verdict *v, const struct pathset *ps,
                 const struct bursts *b, const struct baseline *base,
                 const struct judge_options *opts, struct error *err);

#endif /* CORE_JUDGE_RATES_H */
