/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of cores, and which to take. */
#include "config.h"
#include "probe/cpu.h"

#include "tests/tap.h"

static const struct {
    const char *text;
    int count; /* -1: no list */
    int last;
} lists[] = {
    { "0-3,8,10-11\n", 7, 11 }, { "5", 1, 5 },      { "0", 1, 0 },
    { "", 0, -1 },              { "\n", 0, -1 },    { "0-1\n", 2, 1 },
    { "1020-2000", 4, 1023 },   { "a", -1, 0 },     { "3-1", -1, 0 },
    { "1,", -1, 0 },            { "1-", -1, 0 },    { "-1", -1, 0 },
    { "1 2", -1, 0 },           { "1;2", -1, 0 },   { "1,,2", -1, 0 },
};

static int last_of (const cpu_set_t *set)
{
    int last = -1;

    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET (i, set))
            last = i;
    return last;
}

static const struct {
    const char *allowed, *near;
    size_t nth;
    int core;
} choices[] = {
    { "0-7", "4-5", 0, 5 },  { "0-7", "4-5", 1, 4 }, { "0-7", "4-5", 2, 5 },
    { "0-3", "4-5", 0, 3 },  { "0-3", "", 1, 2 },    { "2", "0-7", 5, 2 },
    { "", "0-7", 0, -1 },
};

static void test_cores (void)
{
    cpu_set_t all;
    cpu_set_t cores;
    cpu_set_t both;
    int last;

    sched_getaffinity (0, sizeof (all), &all);
    cpu_cores (&cores);
    CPU_AND (&both, &all, &cores);
    ok (CPU_COUNT (&cores) >= 1 && CPU_EQUAL (&both, &cores),
        "a processor of each core is one of those allowed");
    last = last_of (&cores);
    ok (cpu_bind (last) == 0 && cpu_count () == 1, "bound to the last");
    cpu_cores (&cores);
    ok (CPU_COUNT (&cores) == 1 && CPU_ISSET (last, &cores),
        "... it is the one of its core");
    sched_setaffinity (0, sizeof (all), &all);
}

int main (void)
{
    for (size_t i = 0; i < sizeof (lists) / sizeof (lists[0]); i++) {
        cpu_set_t set;
        int rc = cpu_parse_list (lists[i].text, &set);

        ok (lists[i].count < 0 ? rc < 0
                               : rc == 0 && CPU_COUNT (&set) == lists[i].count
                                     && last_of (&set) == lists[i].last,
            "list %zu is %s", i, lists[i].count < 0 ? "refused" : "taken");
    }
    for (size_t i = 0; i < sizeof (choices) / sizeof (choices[0]); i++) {
        cpu_set_t allowed;
        cpu_set_t near;

        cpu_parse_list (choices[i].allowed, &allowed);
        cpu_parse_list (choices[i].near, &near);
        ok (cpu_choose (&allowed, &near, choices[i].nth) == choices[i].core,
            "number %zu of %s near %s is %d", choices[i].nth,
            choices[i].allowed, choices[i].near, choices[i].core);
    }
    ok (cpu_machine () == cpu_machine () && cpu_count () >= 1,
        "this is one machine, with cores");
    test_cores ();
    return done_testing ();
}
