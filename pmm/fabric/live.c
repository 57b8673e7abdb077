/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/fabric/live.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/text.h"

struct live_options live_defaults (void)
{
    return (struct live_options){
        .timeout_ms = mads_defaults.timeout_ms,
        .retries = mads_defaults.retries,
        .window = mads_defaults.window,
        .rate = mads_defaults.rate,
    };
}

int live_mads (const struct live_options *o, struct mads_options *mads,
               struct error *err)
{
    if (o->port > 254)
        return error_input (err, "--port is 1 to 254");
    if (o->timeout_ms < 1 || o->timeout_ms > 60000)
        return error_input (err, "--timeout is 1 to 60000 ms");
    if (o->retries > 100)
        return error_input (err, "--retries is at most 100");
    if (o->window < 1 || o->window > MADS_MAX_WINDOW)
        return error_input (err, "--smps is 1 to %d", MADS_MAX_WINDOW);
    *mads = (struct mads_options){
        .mkey = o->mkey,
        .timeout_ms = o->timeout_ms,
        .retries = o->retries,
        .window = o->window,
        .rate = o->rate,
        .max = o->max,
        .deadline_ms = o->deadline_ms,
    };
    return 0;
}

void live_report (const struct live_options *o, struct mads_counts counts)
{
    if (!o->verbose)
        return;
    fprintf (stderr, "%s, %" PRIu64 " of them without an answer",
             COUNTED (counts.sent, "query"), counts.lost);
    if (counts.silent > 0)
        fprintf (stderr, "; %s about adaptive routing, which a switch without "
                         "it need not answer",
                 COUNTED (counts.silent, "other"));
    fputc ('\n', stderr);
}
