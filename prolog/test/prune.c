/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the service deletes as the site gets older, by a clock that is right, and
 * by one that is ahead, behind, or was.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/clock.h"

enum { HOUR = 3600, DAY = 24 * HOUR, START = 1800000000 };

static int64_t wall = START, boot = 5000;

int clock_gettime (clockid_t id, struct timespec *t)
{
    *t = (struct timespec){ .tv_sec = id == CLOCK_REALTIME ? wall : boot };
    return 0;
}

time_t time (time_t *t)
{
    (void)t;
    return wall;
}

static struct ledger *ledger;
static struct service_state state;
static struct service service = {
    .site = { .ledger_days = 90, .reports = "" },
};
static struct error err;
static struct fabric *fabric;

static void pass (int64_t s)
{
    wall += s;
    boot += s;
}

static void audit (void)
{
    static const struct ledger_cause cause = { .why = LEDGER_SWEEP };
    const char *const host[] = { "h0001", "h0002" };
    char nonce[LEDGER_NONCE_BYTES];

    if (ledger_begin (ledger, clock_date (), fabric->hash, &cause,
                      host, 2, nonce, &err) < 0)
        abort ();
}

static int64_t left (void)
{
    int64_t oldest, newest;

    return ledger_old (ledger, INT64_MAX, &oldest, &newest, &err);
}

/* The duty as the service has it: hourly, and as often as it is in a hurry. */
static void prune (int64_t hours)
{
    for (int64_t h = 0; h < hours; h++) {
        int rc;

        do
            if ((rc = duty_prune (&service, ledger, &state, &err)) < 0)
                abort ();
        while (rc & DUTY_HURRY);
        pass (HOUR);
    }
}

/* A site with so many days behind it, of four audits each. */
static void live (int64_t days)
{
    for (int64_t i = 0; i < 4 * days; i++) {
        audit ();
        prune (6);
    }
}

static void restart (void)
{
    state.prune = (struct prune){ 0 };
}

static char *said;
static size_t size;

/* What was logged since the last call. */
static const char *logged (void)
{
    static char text[1000];

    fflush (service.log);
    snprintf (text, sizeof (text), "%s", said);
    rewind (service.log);
    return text;
}

int main (void)
{
    char dir[] = "/tmp/pmm-test.XXXXXX";
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    const char *words;
    int64_t n;

    fabric = generate_fat_tree (&tree, &err);
    service.log = open_memstream (&said, &size);
    if (!fabric || !mkdtemp (dir) || chdir (dir) < 0 || chmod (dir, 0755) < 0
        || !(ledger = ledger_open ("led", LEDGER_CREATE, &err)))
        abort ();
    prune (2);
    ok (left () == 0, "nothing is there to delete");
    live (100);
    ok (left () == 4 * 90 + 1, "what is older than LedgerDays goes: %d left",
        (int)left ());
    words = logged ();
    ok (strstr (words, "audit older than 90 days deleted\n")
            && !strstr (words, "at once"), "... and is counted: %s", words);

    /* a clock that is ahead, seen by a service that starts then */
    n = left ();
    wall += 200 * DAY;
    pass (2 * HOUR);
    clock_date ();
    pass (2 * HOUR);
    ok (clock_date () == wall, "(the clock is ahead, and believed)");
    restart ();
    prune (24);
    ok (left () == n, "a clock 200 days ahead deletes nothing: %d",
        (int)left ());
    audit ();
    restart ();
    prune (24);
    words = logged ();
    ok (n - left () >= 11 && n - left () <= 4 * 3,
        "... with an audit by it, three days' worth in a day: %d",
        (int)(n - left ()));
    ok (strstr (words, " older than LedgerDays, which is 90: those of 3 days "
                       "are deleted in a day, all at once by pmm ledger prune "
                       "--days 90\n") != NULL,
        "... and it is said how much there is: %s", words);
    prune (24);
    wall -= 200 * DAY;
    for (int i = 0; i < 3; i++) {
        clock_date ();
        pass (HOUR);
    }
    n = left ();
    prune (24);
    ok (n == left (), "... nothing when it is back");
    live (10);
    prune (48);
    ok (left () <= 4 * 90, "... and later what is old, also of that time: %d",
        (int)left ());

    /* one that is behind, and one audit by it */
    n = left ();
    wall -= 1000 * DAY;
    for (int i = 0; i < 3; i++) {
        clock_date ();
        pass (HOUR);
    }
    audit ();
    prune (24);
    ok (left () == n + 1, "a clock that is behind deletes nothing");
    wall += 1000 * DAY;
    for (int i = 0; i < 3; i++) {
        clock_date ();
        pass (HOUR);
    }
    prune (24);
    ok (left () >= n - 4, "... nor when it is right again");

    /* LedgerDays lowered; then at once */
    live (2);
    n = left ();
    service.site.ledger_days = 10;
    logged ();
    prune (24);
    ok (n - left () >= 11 && n - left () <= 14 && strstr (logged (), "at once"),
        "LedgerDays is lowered: three days' worth a day: %d",
        (int)(n - left ()));
    prune (24 * 40);
    n = left (); /* in these ten days the clock was wrong for some */
    ok (n > 20 && n < 41, "... up to 10 days before the newest: %d", (int)n);
    prune (24 * 20);
    ok (left () == n, "... however long there is no audit");
    service.site.ledger_days = 0;
    restart ();
    n = left ();
    prune (24 * 10);
    ok (left () == n, "LedgerDays=0 keeps all");
    if (system ("rm -f led*") != 0 || rmdir (dir) < 0)
        diag ("%s is left", dir);
    return done_testing ();
}
