/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "bench/networks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "util/rng.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* A clock of 100 ticks per second does not resolve less. */
#define CPU_SECONDS_MIN .1

static struct fabric *make_fabric (const struct shape *s, struct error *err)
{
    const unsigned int *v = s->size;
    struct choice how = { s->routing, 1, s->prune, 0 };

    switch (s->family) {
    case FAT_TREE:
        return generate_fat_tree (
            &(struct fat_tree){ v[0], v[1], how, v[2], v[3] }, err);
    case DRAGONFLY:
        return generate_dragonfly (
            &(struct dragonfly){ v[0], v[1], v[2], how }, err);
    case SLIMFLY:
        return generate_slimfly (&(struct slimfly){ v[0], v[1], how }, err);
    case IRREGULAR:
        return generate_irregular (
            &(struct irregular){ v[0], v[1], v[2], how }, err);
    default:
        error_input (err, "no fabric");
        return NULL;
    }
}

int instance_make (struct instance *net, const struct shape *s,
                   struct error *err)
{
    *net = (struct instance){ 0 };
    if (s->family == SAMPLE) {
        net->table = tablenet_paper ();
        net->n = net->table->n;
    } else if (s->family == BIG_TREE) {
        net->tree = treenet_create (s->size[0], s->size[1],
                                    s->routing == ROUTING_DMODK ? TREE_DMODK
                                                                : TREE_MINHOP,
                                    1);
        net->n = net->tree->n;
    } else {
        if (!(net->fabric = make_fabric (s, err)))
            return -1;
        net->n = net->fabric->nendpoints;
    }
    return 0;
}

void instance_clear (struct instance *net)
{
    fabric_destroy (net->fabric);
    if (net->tree)
        treenet_destroy (net->tree);
    if (net->table)
        tablenet_destroy (net->table);
}

struct pathset *instance_pathset (const struct instance *net,
                                  const uint32_t *who, size_t n,
                                  struct error *err)
{
    const struct fabric *f = net->fabric;
    struct endpoint *e;
    struct pathset *ps;

    if (net->tree)
        return treenet_pathset (net->tree, who, n);
    if (net->table)
        return tablenet_pathset (net->table, who, n);
    e = calloc (n + 1, sizeof (*e));
    if (!e) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        e[i] = (struct endpoint){
            .id = who[i],
            .name = f->endpoint[who[i]].name,
            .host = f->host[f->endpoint[who[i]].host].name,
        };
    ps = pathset_create (fabric_network (f), e, n, err);
    free (e);
    return ps;
}

struct pathset *draw_hosts (struct fabric *f, size_t n, struct rng *rng,
                            struct error *err)
{
    uint32_t *order = calloc (f->nhosts + 1, sizeof (*order));
    const char **name = calloc (f->nhosts + 1, sizeof (*name));
    struct pathset *ps = NULL;

    if (order && name) {
        for (size_t i = 0; i < f->nhosts; i++)
            order[i] = i;
        rng_shuffle (rng, order, f->nhosts);
        for (size_t i = 0; i < n; i++)
            name[i] = f->host[order[i]].name;
        ps = fabric_pathset (f, name, n, err);
    } else
        error_nomem (err);
    free (order);
    free (name);
    return ps;
}

static int rising (const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

uint32_t *instance_draw (const struct instance *net, enum draw how, size_t *n,
                         uint64_t seed, struct error *err)
{
    uint32_t *who = malloc (net->n * sizeof (*who));
    struct rng rng;

    if (!who) {
        error_nomem (err);
        return NULL;
    }
    if (how == WHOLE)
        *n = net->n;
    rng_seed (&rng, seed);
    for (size_t i = 0; i < net->n; i++)
        who[i] = i;
    if (how == RANDOM) {
        rng_shuffle (&rng, who, net->n);
        qsort (who, *n, sizeof (*who), rising);
    } else if (how == CONTIGUOUS) {
        uint32_t start = rng_below (&rng, net->n - *n + 1);

        memmove (who, who + start, *n * sizeof (*who));
    }
    return who;
}

int apart (int (*fn) (void *arg), void *arg, unsigned int limit)
{
    struct rlimit cpu;
    int status;
    pid_t pid;

    fflush (NULL);
    pid = fork ();
    if (pid == 0) {
        getrlimit (RLIMIT_CPU, &cpu);
        cpu.rlim_cur = limit;
        setrlimit (RLIMIT_CPU, &cpu);
        _exit (fn (arg) < 0);
    }
    if (pid < 0 || waitpid (pid, &status, 0) < 0)
        return -1;
    if (WIFSIGNALED (status) && WTERMSIG (status) == SIGXCPU)
        return 1;
    return WIFEXITED (status) && WEXITSTATUS (status) == 0 ? 0 : -1;
}

void *shared_alloc (size_t size)
{
    void *p = mmap (NULL, size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        abort ();
    return p;
}

void machine_name (char *buf, size_t size)
{
    FILE *fp = fopen ("/proc/cpuinfo", "r");
    char line[256], model[128] = "unknown CPU";

    while (fp && fgets (line, sizeof (line), fp))
        if (sscanf (line, "model name : %127[^\n]", model) == 1)
            break;
    if (fp)
        fclose (fp);
    snprintf (buf, size, "%ld x %s, %s", sysconf (_SC_NPROCESSORS_ONLN), model,
              COMPILER);
}

static double clock_seconds (clockid_t clock)
{
    struct timespec t;

    clock_gettime (clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

struct stopwatch stopwatch_start (void)
{
    return (struct stopwatch){ clock_seconds (CLOCK_PROCESS_CPUTIME_ID),
                               clock_seconds (CLOCK_MONOTONIC) };
}

double stopwatch_seconds (const struct stopwatch *start)
{
    struct stopwatch now = stopwatch_start ();

    return now.cpu - start->cpu > CPU_SECONDS_MIN ? now.cpu - start->cpu
                                                  : now.wall - start->wall;
}
