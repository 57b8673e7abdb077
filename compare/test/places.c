/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes of an MPI program are called. */
#include "config.h"
#include "compare/mpi/places.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "probe/cpu.h"
#include "tests/tap.h"

enum { MAX = 4 };

static const struct {
    const char *what;
    enum place_naming naming;
    const char *place[MAX]; /* "host cores" */
    const char *label[MAX]; /* the first: NULL where there is an error */
    const char *error;      /* or, with labels, a warning */
    uint32_t hosts;
} cases[] = {
    { "one a host", PLACE_BY_ANY, { "b 0-3", "a 0-3" }, { "b", "a" }, NULL,
      2 },
    { "one a host, by core", PLACE_BY_CORE, { "b 2-3", "a 5" },
      { "b:2", "a:5" }, NULL, 2 },
    { "two a host", PLACE_BY_ANY, { "a 0-3", "a 0-3", "b 0-3" },
      { "a:0", "a:1", "b:0" }, NULL, 2 },
    { "in turns", PLACE_BY_ANY, { "a 1,3", "b 1,3", "a 1,3", "b 1,3" },
      { "a:1", "b:1", "a:3", "b:3" }, NULL, 2 },
    { "bound by the launcher", PLACE_BY_ANY, { "a 7", "a 2", "a 5" },
      { "a:7", "a:2", "a:5" }, NULL, 1 },
    { "bound to sockets", PLACE_BY_ANY, { "a 0-1", "a 4-5", "a 0-1", "a 4-5" },
      { "a:0", "a:4", "a:1", "a:5" }, NULL, 1 },
    { "two a host, by host", PLACE_BY_HOST, { "a 0-3", "b 0", "a 0-3" },
      { NULL }, "a has several processes", 2 },
    { "too many", PLACE_BY_ANY, { "a 0-1", "a 0-1", "a 0-1", "b 0" },
      { "a:0", "a:1", "a:0.2", "b:0" }, "a: more processes than the 2 cores",
      2 },
    { "cores that overlap", PLACE_BY_ANY, { "a 0-3", "a 0" }, { NULL },
      "a: two processes would share core 0", 1 },
    { "the same core of two hosts", PLACE_BY_CORE, { "a 0", "b 0" },
      { "a:0", "b:0" }, NULL, 2 },
};

static uint32_t fill (struct mpi_place *place, const char *const *text)
{
    uint32_t n = 0;

    memset (place, 0, MAX * sizeof (*place));
    for (; n < MAX && text[n]; n++) {
        size_t len = strcspn (text[n], " ");

        memcpy (place[n].host, text[n], len);
        cpu_parse_list (text[n] + len + 1, &place[n].cores);
    }
    return n;
}

static bool labelled (const struct place_name *name, uint32_t n,
                      const char *const *label)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp (name[i].label, label[i]))
            return false;
    return true;
}

int main (void)
{
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct mpi_place place[MAX];
        struct place_name name[MAX];
        struct error err = { .text = "" };
        uint32_t n = fill (place, cases[i].place);
        uint32_t hosts = 0;
        int rc = places_name (place, n, cases[i].naming, name, &err);

        ok (!cases[i].error || (err.fault == ERROR_INPUT
                && !strncmp (err.text, cases[i].error,
                             strlen (cases[i].error))),
            "%s: says '%s'", cases[i].what, err.text);
        if (!cases[i].label[0])
            ok (rc < 0, "... refused");
        else
            ok (rc == !!cases[i].error && labelled (name, n, cases[i].label),
                "... %s...", name[0].label);
        hosts = places_hosts (place, n);
        ok (hosts == cases[i].hosts, "... on %u hosts", hosts);
    }
    ok (!strcmp (place_namings[PLACE_BY_HOST], "host"), "the names of namings");
    return done_testing ();
}
