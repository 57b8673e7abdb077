/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A port's subnet is that of Snapshot, unless that holds another one: then its
 * file is beside it. Which one that is, is decided under its lock.
 */
#include "config.h"
#include "pmm/fabric/publish.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/publish.h"
#include "ibquery/read/device.h"
#include "ibquery/read/discover.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "util/site.h"
#include "util/text.h"

enum { WAIT_MS = 120000 }; /* for another publisher */

struct job {
    struct discover_options opts;
    const struct site *site;
    uint64_t subnet;
    bool verbose;
    char *path;
    struct publish *publish;
    struct fabric *old;  /* what is published; NULL: nothing that is good */
};

__attribute__ ((format (printf, 2, 3)))
static void tell (const struct job *j, const char *fmt, ...)
{
    va_list ap;

    if (!j->verbose)
        return;
    fprintf (stderr, "%s: ", SHOWN (j->path));
    va_start (ap, fmt);
    vfprintf (stderr, fmt, ap);
    va_end (ap);
    fputc ('\n', stderr);
}

static void job_clear (struct job *j)
{
    fabric_destroy (j->old);
    publish_close (j->publish);
    free (j->path);
    j->old = NULL;
    j->publish = NULL;
    j->path = NULL;
}

/* Take the lock of j->path, and see what is there. */
static int open_file (struct job *j, struct error *err)
{
    struct error bad;

    if (!j->path)
        return error_nomem (err);
    j->publish = publish_open (j->path, WAIT_MS, err);
    if (!j->publish)
        return -1;
    j->old = fabric_load (j->path, &bad);
    if (!j->old && access (j->path, F_OK) == 0)
        tell (j, "is no snapshot, and replaced: %s", bad.text);
    return 0;
}

/* The file of the port's subnet. */
static int find_file (struct job *j, struct error *err)
{
    char *beside;

    j->path = strdup (j->site->snapshot);
    if (open_file (j, err) < 0)
        return -1;
    if (!j->old || j->old->subnet == 0 || j->old->subnet == j->subnet)
        return 0;
    if (asprintf (&beside, "%s-%016" PRIx64, j->path, j->subnet) < 0)
        return error_nomem (err);
    job_clear (j);
    j->path = beside;
    return open_file (j, err);
}

/* Whether a look may do. */
static bool may_look (const struct job *j)
{
    int64_t age = time (NULL) - publish_state (j->publish).read;

    return j->old && !j->old->part && j->old->subnet == j->subnet && age >= 0
           && age * 1000 < j->site->read_every_ms;
}

/* Return 0 where all is as it was, 1 where it is to be read, -1 with err. */
static int look (const struct job *j, struct error *err)
{
    struct mads_counts counts = { 0 };
    struct error why;
    int rc;

    if (!may_look (j))
        return 1;
    rc = discover_changed (j->old, &j->opts, publish_state (j->publish).looks,
                           &counts, &why, err);
    if (rc == 0)
        tell (j, "no change, %s", COUNTED (counts.sent, "query"));
    if (rc > 0)
        tell (j, "%s", why.text);
    return rc;
}

static int read_whole (const struct job *j, struct error *err)
{
    struct mads_counts counts = { 0 };
    struct fabric *f = discover (&j->opts, &counts, err);
    int rc;

    if (!f)
        return -1;
    rc = publish_put (j->publish, j->old, f, j->site->snapshots_kept, err);
    if (rc >= 0)
        tell (j, "%s, %s", rc > 0 ? "published" : "the same",
              COUNTED (counts.sent, "query"));
    fabric_destroy (f);
    return rc;
}

static int publish_port (struct job *j, struct error *err)
{
    int rc;

    if (find_file (j, err) < 0 || (rc = look (j, err)) < 0)
        return -1;
    if (rc == 0)
        return publish_looked (j->publish, err);
    return read_whole (j, err) < 0 ? -1 : 0;
}

/* Whether the i-th port is asked for, and the first of its subnet. */
static bool is_due (const struct live_options *o,
                    const struct device_port *port, size_t i)
{
    if ((o->ca && strcmp (o->ca, port[i].ca) != 0)
        || (o->port != 0 && o->port != port[i].port))
        return false;
    for (size_t k = 0; k < i; k++)
        if (port[k].subnet == port[i].subnet && is_due (o, port, k))
            return false;
    return true;
}

static int publish_ports (const char *verb, const struct site *site,
                          const struct live_options *o,
                          const struct mads_options *mads)
{
    int worst = EXIT_OK, status;
    struct device_port *port;
    size_t n, due = 0;
    struct error err;

    port = device_ports (&n, &err);
    if (!port)
        return fail (verb, &err);
    for (size_t i = 0; i < n; i++) {
        struct job j = {
            .opts = { .ca = port[i].ca, .port = port[i].port, .mads = *mads },
            .site = site,
            .subnet = port[i].subnet,
            .verbose = o->verbose,
        };

        if (!is_due (o, port, i))
            continue;
        due++;
        status = publish_port (&j, &err) < 0 ? fail (verb, &err) : EXIT_OK;
        if (status > worst)
            worst = status;
        job_clear (&j);
    }
    free (port);
    if (due > 0)
        return worst;
    error_world (&err, "the port asked for is not active in InfiniBand");
    return fail (verb, &err);
}

int fabric_publish (const char *verb, const struct live_options *o,
                    const char *conf)
{
    struct mads_options mads = { 0 };
    struct site site;
    struct error err;
    int status;

    if (site_read (&site, conf, 1, &err) < 0 || live_mads (o, &mads, &err) < 0)
        status = fail (verb, &err);
    else
        status = publish_ports (verb, &site, o, &mads);
    site_clear (&site);
    return status;
}
