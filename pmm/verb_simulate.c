/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm simulate: the round-trip times a plan would see. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/simulate.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/rng.h"
#include "util/text.h"

enum {
    REPEATS_MAX = 100000,
    LATENCY_BYTES_MAX = 1 << 28,
};

#define LATENCY_MAX_NS 1e9
#define HOST_NS 400.0
#define SWITCH_NS 150.0

struct options {
    const char *fabric, *plan, *latency, *outliers, *output;
    struct strings slow;
    double noise;
    int repeats;
    uint64_t seed;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "what to measure" },
    { "latency", 0, "HOW", opt_string, FIELD (latency),
      "FILE of lines 'LINK ns', or random:MIN:MAX[:SEED]" },
    { "slow", 0, "LINK=+NS", opt_append, FIELD (slow),
      "add this much to one; may be given several times" },
    { "noise", 0, "NS", opt_double, FIELD (noise),
      "standard deviation of one RTT: 0" },
    { "outliers", 0, "P:NS", opt_string, FIELD (outliers),
      "this share takes longer by an exponential of mean NS" },
    { "repeats", 0, "N", opt_int, FIELD (repeats),
      "of each probe from either side: 5" },
    { "seed", 0, "N", opt_u64, FIELD (seed), "of noise and outliers: 1" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

/* Split s, a copy, at colons. Return the number of parts, at most max. */
static size_t split (char *s, char **part, size_t max)
{
    size_t n = 0;

    for (char *p = s; p && n < max; n++) {
        part[n] = p;
        if ((p = strchr (p, ':')))
            *p++ = '\0';
    }
    return n;
}

static int random_latencies (const struct fabric *f, const char *how,
                             double *latency, struct error *err)
{
    char *copy = strdup (how);
    char *part[4];
    size_t n = copy ? split (copy, part, 4) : 0;
    uint64_t seed = 1;
    struct rng rng;
    double min;
    double max;
    int rc = 0;

    if (n < 3 || text_double (part[1], 0, LATENCY_MAX_NS, &min) < 0
        || text_double (part[2], min, LATENCY_MAX_NS, &max) < 0
        || (n == 4 && text_u64 (part[3], 0, UINT64_MAX, &seed) < 0))
        rc = error_input (err, "--latency %.80s: random:MIN:MAX[:SEED] is "
                               "wanted, in ns", how);
    free (copy);
    if (rc < 0)
        return -1;
    rng_seed (&rng, seed);
    for (size_t l = 0; l < f->nlinks; l++)
        latency[l] = min + (max - min) * rng_uniform (&rng);
    return 0;
}

/* Find the end of the link's name and the number behind it. */
static int parse_line (const struct fabric *f, char *line, uint32_t *link,
                       double *ns, struct error *err)
{
    size_t len = strlen (line);
    char *number;

    while (len > 0 && strchr (" \t\r", line[len - 1]))
        line[--len] = '\0';
    number = line + len;
    while (number > line && !strchr (" \t", number[-1]))
        number--;
    if (number == line || text_double (number, 0, LATENCY_MAX_NS, ns) < 0)
        return error_input (err, "'LINK ns' is wanted");
    while (number > line && strchr (" \t", number[-1]))
        *--number = '\0';
    if ((*link = fabric_find_link (f, line)) == FABRIC_NONE)
        return error_input (err, "no link '%.80s'", line);
    return 0;
}

static int read_latencies (const struct fabric *f, const char *path,
                           double *latency, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    char *text = NULL;
    char *save = NULL;
    bool *seen = NULL;
    size_t number = 0;
    size_t len;
    int rc = -1;

    if (!fp)
        return -1;
    text = file_slurp (fp, LATENCY_BYTES_MAX, &len, err);
    file_close_input (fp);
    if (!text)
        return -1;
    if (!(seen = calloc (f->nlinks + 1, sizeof (*seen)))) {
        error_nomem (err);
        goto done;
    }
    for (char *line = text; line; line = save) {
        uint32_t link;
        double ns;

        number++;
        if ((save = strchr (line, '\n')))
            *save++ = '\0';
        line += strspn (line, " \t\r");
        if (!*line || *line == '#')
            continue;
        if (parse_line (f, line, &link, &ns, err) < 0) {
            error_prefix (err, "%s:%zu", path, number);
            goto done;
        }
        if (seen[link]) {
            error_input (err, "%s:%zu: a link for the second time", path,
                         number);
            goto done;
        }
        seen[link] = true;
        latency[link] = ns;
    }
    rc = 0;
done:
    free (seen);
    free (text);
    return rc;
}

static int add_slow (const struct fabric *f, const char *word,
                     double *latency, struct error *err)
{
    const char *equals = strrchr (word, '=');
    uint32_t link = FABRIC_NONE;
    double ns = 0;
    char *name;

    if (!equals
        || text_double (equals + 1, -LATENCY_MAX_NS, LATENCY_MAX_NS, &ns) < 0)
        return error_input (err, "--slow %.80s: LINK=+NS is wanted", word);
    if (!(name = strndup (word, (size_t)(equals - word))))
        return error_nomem (err);
    link = fabric_find_link (f, name);
    free (name);
    if (link == FABRIC_NONE)
        return error_input (err, "--slow %.80s: no such link", word);
    latency[link] += ns;
    if (latency[link] < 0)
        return error_input (err, "--slow %.80s: below 0 ns", word);
    return 0;
}

static double *make_latencies (const struct fabric *f,
                               const struct options *o, struct error *err)
{
    double *latency = malloc ((f->nlinks + 1) * sizeof (*latency));
    int rc = 0;

    if (!latency) {
        error_nomem (err);
        return NULL;
    }
    for (size_t l = 0; l < f->nlinks; l++)
        latency[l] = f->link[l].kind == LINK_HOST ? HOST_NS : SWITCH_NS;
    if (o->latency && !strncmp (o->latency, "random:", strlen ("random:")))
        rc = random_latencies (f, o->latency, latency, err);
    else if (o->latency)
        rc = read_latencies (f, o->latency, latency, err);
    for (size_t i = 0; i < o->slow.n && rc == 0; i++)
        rc = add_slow (f, o->slow.v[i], latency, err);
    if (rc < 0) {
        free (latency);
        return NULL;
    }
    return latency;
}

static int parse_outliers (const char *word, struct simulate_options *opts,
                           struct error *err)
{
    char *copy;
    char *part[2];
    int rc = 0;

    if (!word)
        return 0;
    if (!(copy = strdup (word)))
        return error_nomem (err);
    if (split (copy, part, 2) < 2
        || text_double (part[0], 0, 1, &opts->outlier_share) < 0
        || text_double (part[1], 0, LATENCY_MAX_NS, &opts->outlier_ns) < 0)
        rc = error_input (err, "--outliers %.80s: SHARE:NS is wanted", word);
    free (copy);
    return rc;
}

static int save (const struct samples *s, const struct pathset *ps,
                 const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    if (samples_write (s, ps, file_stream (out), err) < 0) {
        file_abort (out);
        return -1;
    }
    return file_commit (out, err);
}

static int run (const struct options *o, struct error *err)
{
    struct simulate_options opts = {
        .noise_ns = o->noise,
        .repeats = (unsigned int)o->repeats,
        .seed = o->seed,
    };
    struct samples *samples = NULL;
    double *latency = NULL;
    struct inputs in;
    int rc = -1;

    if (inputs_load (&in, o->fabric, o->plan, NULL, err) == 0
        && parse_outliers (o->outliers, &opts, err) == 0
        && (latency = make_latencies (in.fabric, o, err))
        && (samples = simulate (in.ps, in.plan, latency, &opts, err)))
        rc = save (samples, in.ps, o->output, err);
    samples_destroy (samples);
    free (latency);
    inputs_clear (&in);
    return rc;
}

int verb_simulate (int argc, char **argv)
{
    struct options o = { .repeats = 5, .seed = 1 };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        goto done;
    status = EXIT_OK;
    if (o.repeats < 1 || o.repeats > REPEATS_MAX) {
        error_input (&err, "--repeats: 1 to %d is wanted", REPEATS_MAX);
        status = fail (argv[0], &err);
    }
    else if (run (&o, &err) < 0)
        status = fail (argv[0], &err);
done:
    free (o.slow.v);
    return status;
}
