/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's queue of comments from the command line, for the system tests:
 *
 *   remark LEDGER queue     lines "JOB SUBMITTED TEXT" of standard input; makes
 *                           LEDGER where there is none
 *   remark LEDGER flush N   says how many are there now
 *
 * An error is said, and the exit status is its fault.
 */
#include "config.h"
#include "prolog/slurm/accounting.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct error err;

static int queue (struct ledger *l)
{
    char text[LEDGER_TEXT_MAX + 1];
    unsigned long long job;
    long long submitted;

    while (scanf ("%llu %lld %1023[^\n]", &job, &submitted, text) == 3)
        if (ledger_comment_add (l, time (NULL), job, submitted, text, &err)
            < 0)
            return -1;
    return 0;
}

static int flush (struct ledger *l, const char *n)
{
    int written;
    int rc = accounting_flush (l, time (NULL), (size_t)atoi (n), &written,
                               &err);

    if (rc >= 0)
        printf ("%d\n", written);
    return rc;
}

int main (int argc, char **argv)
{
    struct ledger *l;
    int rc;

    if (argc < 3)
        return ERROR_INPUT;
    if (!(l = ledger_open (argv[1], LEDGER_CREATE, &err)))
        rc = -1;
    else
        rc = argc > 3 ? flush (l, argv[3]) : queue (l);
    ledger_close (l);
    if (rc < 0)
        fprintf (stderr, "%s\n", err.text);
    return rc < 0 ? (int)err.fault : 0;
}
