/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the tests of probe/: an emulator in a process of its own, and members
 * of a group in one each.
 */
#ifndef PROBE_TEST_ARENA_H
#define PROBE_TEST_ARENA_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/emu/model.h"
#include "tests/emu/server.h"
#include "probe/group.h"
#include "probe/transport.h"

struct arena {
    char dir[32];
    char socket[64];
    struct fabric *fabric;
    pid_t emu;
};

enum { ARENA_STALL_MS = 1000 };

enum { ARENA_SEED = 7 };

/* How the switches of the next arena spread messages. */
static struct fabric_spread arena_spread;

/* A fabric of 16 hosts of some LMC, with one command for the model (or NULL).
 */
__attribute__ ((unused)) static int
arena_start_lmc (struct arena *a, unsigned int lmc, const char *word,
                 const char *value)
{
    struct fat_tree tree = { .ports = 4, .levels = 3, .how.lmc = lmc };
    char *argv[] = { (char *)word, (char *)value, NULL };
    struct error err;
    int ready[2];
    char c;

    strcpy (a->dir, "/tmp/pmm-arena.XXXXXX");
    if (!mkdtemp (a->dir) || pipe (ready) < 0
        || !(a->fabric = generate_fat_tree (&tree, &err)))
        return -1;
    for (size_t i = 0; i < a->fabric->nnodes; i++)
        if (a->fabric->node[i].type == NODE_SWITCH)
            a->fabric->node[i].spread = arena_spread;
    snprintf (a->socket, sizeof (a->socket), "%s/emu", a->dir);
    fflush (stdout);
    if ((a->emu = fork ()) == 0) {
        struct emu_model *m = model_create (a->fabric, ARENA_SEED);
        struct server *srv;

        prctl (PR_SET_PDEATHSIG, SIGTERM);
        if (!m || (word && model_command (m, 2, argv, &err) < 0)
            || !(srv = server_create (m, a->socket, NULL, ARENA_STALL_MS,
                                      &err)))
            _exit (1);
        (void)!write (ready[1], "", 1);
        server_run (srv, &err);
        server_destroy (srv);
        model_destroy (m);
        fabric_destroy (a->fabric);
        _exit (0);
    }
    close (ready[1]);
    c = (char)read (ready[0], &c, 1);
    close (ready[0]);
    return c == 1 ? 0 : -1;
}

__attribute__ ((unused)) static int arena_start (struct arena *a,
                                                 const char *word,
                                                 const char *value)
{
    return arena_start_lmc (a, 0, word, value);
}

/* True if the emulator lived to its orderly end. */
__attribute__ ((unused)) static bool arena_stop (struct arena *a)
{
    int status;

    kill (a->emu, SIGTERM);
    waitpid (a->emu, &status, 0);
    fabric_destroy (a->fabric);
    rmdir (a->dir);
    return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

/* The service level that this member was told. */
static unsigned int arena_level;

static void arena_set_level (void *t, unsigned int level)
{
    arena_level = level;
    transport_emu.set_level (t, level);
}

/* A peer whose adapter does not loop back. */
static uint32_t arena_one_way = UINT32_MAX;
static uint32_t arena_me;
static __attribute__ ((unused)) void *arena_own; /* its transport */

static int arena_send (void *t, uint32_t rail, uint32_t peer,
                       const uint8_t *data, size_t len,
                       struct transport_timing *timing, struct error *err)
{
    if (peer == arena_me && peer == arena_one_way)
        return 0;
    return transport_emu.send (t, rail, peer, data, len, timing, err);
}

/* Changes the members' transport; may be NULL. */
static void (*arena_change) (struct transport *t);

/* The test's exit as a member of a group: 0 is well. */
typedef int (*member_f) (struct group *g, void *shared);

/* Run fn as n members, on the first n hosts. Returns how many did well. */
__attribute__ ((unused)) static size_t
arena_run (const struct arena *a, size_t n, uint64_t key, member_f fn,
           void *shared)
{
    struct site site = { .emu_socket = (char *)a->socket, .service = "ud" };
    struct transport transport = transport_emu;
    struct transport_address peer[16];
    uint32_t first[17];
    struct error err;
    size_t well = 0;
    pid_t pid[16];
    void *t[16];

    transport.set_level = arena_set_level;
    transport.send = arena_send;
    if (arena_change)
        arena_change (&transport);
    for (size_t i = 0; i <= n; i++)
        first[i] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        t[i] = transport_emu.open (&site, a->fabric->host[i].name, true,
                                   &err);
        if (!t[i])
            return 0;
        peer[i] = ((struct transport_handle *)t[i])->address[0];
    }
    fflush (stdout);
    for (size_t i = 0; i < n; i++) {
        if ((pid[i] = fork ()) == 0) {
            struct group *g = NULL;
            int rc = 1;

            arena_me = (uint32_t)i;
            arena_own = t[i];
            /* the others' connections must end with them */
            for (size_t k = 0; k < n; k++)
                if (k != i)
                    transport_emu.close (t[k]);
            if (transport_emu.connect (t[i], key, peer, n, n, &err) == 0
                && (g = group_create (&transport, t[i], key, n, i,
                                      first)))
                rc = fn (g, shared);
            group_destroy (g);
            transport_emu.close (t[i]);
            fabric_destroy (a->fabric);
            exit (rc);
        }
    }
    for (size_t i = 0; i < n; i++)
        transport_emu.close (t[i]);
    for (size_t i = 0; i < n; i++) {
        int status;

        waitpid (pid[i], &status, 0);
        well += WIFEXITED (status) && WEXITSTATUS (status) == 0;
    }
    return well;
}

#endif /* PROBE_TEST_ARENA_H */
