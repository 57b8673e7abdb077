/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-probe-mpi: the tests of pmm-probe over MPI, and what MPI's operations
 * cost. Built once for each MPI; see operations.h and probe/exchange.
 *
 * What is wrong with the arguments, or with where the processes are, is the
 * same for all: process 0 says so, all end in order. Later a process that
 * cannot go on says why and ends them all.
 */
#include "config.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/mpi/comm_mpi.h"
#include "probe/mpi/operations.h"
#include "util/file.h"
#include "util/options.h"
#include "util/text.h"

enum { REPEATS_MAX = 1000000 };

static const char prog[] = "pmm-probe-mpi";

/* What the options set. */
struct args {
    struct comm_mpi_options comm;
    struct operations_options operations;
    const char *output;
};

/* A test: all run it, then process 0 alone writes what came of it. */
struct verb {
    const char *name;
    const char *help;
    int processes; /* at least */
    const struct opt *options;
    int (*check) (const struct args *args, struct error *err);
    void *(*run) (const struct args *args, struct comm_mpi *c,
                  struct error *err); /* to free; NULL with err */
    int (*write) (const struct args *args, const struct comm_mpi *c,
                  const void *result, struct error *err);
};

/* The library's name and version, in a line. */
static void describe_mpi (char *buf, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len;

    MPI_Get_library_version (version, &len);
    version[strcspn (version, ",\n")] = '\0';
    for (char *s = version; *s; s++)
        if (*s == '\t')
            *s = ' ';
    snprintf (buf, size, "%.99s", text_clean (version));
}

/*
 * operations
 */

static int check_operations (const struct args *args, struct error *err)
{
    const struct operations_options *o = &args->operations;

    if (o->repeats < 1 || o->repeats > REPEATS_MAX)
        return error_input (err, "--repeats: 1 to %d", REPEATS_MAX);
    if (o->fast_repeats < 1 || o->fast_repeats > REPEATS_MAX)
        return error_input (err, "--fast-repeats: 1 to %d", REPEATS_MAX);
    if (o->warm_up > REPEATS_MAX)
        return error_input (err, "--warm-up: 0 to %d", REPEATS_MAX);
    return 0;
}

static void *run_operations (const struct args *args, struct comm_mpi *c,
                             struct error *err)
{
    struct operation_cost *cost = calloc (operations_count (), sizeof (*cost));

    if (!cost)
        error_nomem (err);
    else if (operations_run (comm_mpi_wire (c).comm, &args->operations, cost,
                             err) < 0) {
        free (cost);
        cost = NULL;
    }
    return cost;
}

static int save_operations (const struct operations_scene *scene,
                            const struct operation_cost *cost,
                            const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    if (operations_write (scene, cost, file_stream (out), err) < 0) {
        file_abort (out);
        return -1;
    }
    return file_commit (out, err);
}

static int write_operations (const struct args *args, const struct comm_mpi *c,
                             const void *cost, struct error *err)
{
    char mpi[100];
    struct operations_scene scene = {
        .mpi = mpi,
        .processes = comm_mpi.size (c),
        .hosts = comm_mpi_hosts (c),
        .opts = &args->operations,
    };

    describe_mpi (mpi, sizeof (mpi));
    operations_print (&scene, cost, stdout);
    if (fflush (stdout) != 0 || ferror (stdout))
        return error_errno (err, "cannot write the costs");
    return args->output ? save_operations (&scene, cost, args->output, err)
                        : 0;
}

/*
 * Arguments
 */

static int set_naming (void *field, const char *value, struct error *err)
{
    int naming = place_naming_find (value);

    if (naming < 0)
        return error_input (err, "'%.40s' is not any, host or core", value);
    *(enum place_naming *)field = (enum place_naming)naming;
    return 0;
}

static const struct opt common_options[] = {
    { "label", 0, "WHAT", set_naming, offsetof (struct args, comm.naming),
      "host, core, or any: by core where hosts have several (any)" },
    { 0 },
};

static const struct opt operations_table[] = {
    { "repeats", 0, "N", opt_u64, offsetof (struct args, operations.repeats),
      "of each operation (1000)" },
    { "fast-repeats", 0, "N", opt_u64,
      offsetof (struct args, operations.fast_repeats),
      "of the fast ones, at each of these (1000)" },
    { "warm-up", 0, "N", opt_u64, offsetof (struct args, operations.warm_up),
      "repeats before, which do not count (10)" },
    { "output", 'o', "FILE", opt_string, offsetof (struct args, output),
      "write the costs there, as JSON" },
    { 0 },
};

static const struct verb verbs[] = {
    { "operations", "what MPI's operations cost", 2, operations_table,
      check_operations, run_operations, write_operations },
    { 0 },
};

static void usage (FILE *fp)
{
    fprintf (fp, "Usage: srun|mpirun ... %s TEST [OPTION]...\n\n", prog);
    for (const struct verb *v = verbs; v->name; v++)
        fprintf (fp, "  %-12s %s\n", v->name, v->help);
    fprintf (fp, "\n'%s TEST --help' shows a test's options; %s(1) has the "
                 "rest.\n", prog, prog);
}

static const struct verb *find_verb (const char *name, struct error *err)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (!strcmp (name, v->name))
            return v;
    error_input (err, "unknown test '%.40s'; '%s --help' lists them", name,
                 prog);
    return NULL;
}

/* Return 0, OPTIONS_HELP after it was printed, or -1 with err. */
static int parse (const struct verb *v, struct args *args, int argc,
                  char **argv, struct error *err)
{
    const struct opt_group group[] = {
        { v->options, args },
        { common_options, args },
        { 0 },
    };
    int first = options_get (group, argc, argv, err);

    if (first == OPTIONS_HELP) {
        printf ("Usage: srun|mpirun ... %s %s [OPTION]...\n\n", prog, v->name);
        options_help (group, stdout);
        return OPTIONS_HELP;
    }
    if (first < 0)
        return -1;
    if (first < argc)
        return error_input (err, "'%.40s' is no option", argv[first]);
    return v->check (args, err);
}

/*
 * A run
 */

static int check_size (const struct verb *v, struct error *err)
{
    char mpi[100];
    int size;

    MPI_Comm_size (MPI_COMM_WORLD, &size);
    if (size >= v->processes)
        return 0;
    describe_mpi (mpi, sizeof (mpi));
    return error_input (err, "%s needs %d processes, this is %d: start more, by "
                        "a launcher that knows %s", v->name, v->processes,
                        size, mpi);
}

/* All have come so far: process 0 says what there is to say, where there is.
 * Return the exit status.
 */
static int end_in_order (const struct error *err)
{
    int rank;

    MPI_Comm_rank (MPI_COMM_WORLD, &rank);
    if (err && rank == 0)
        fprintf (stderr, "%s: %s\n", prog, err->text);
    MPI_Finalize ();
    return err ? (int)err->fault : 0;
}

static int end_all (const char *label, const struct error *err)
{
    fprintf (stderr, "%s: %s%s%s\n", prog, label, *label ? ": " : "",
             err->text);
    MPI_Abort (MPI_COMM_WORLD, err->fault);
    return err->fault;
}

static int run (const struct verb *v, const struct args *args)
{
    struct error err = { .fault = ERROR_WORLD };
    struct comm_mpi *c;
    void *result;
    int rc = 0;

    if (check_size (v, &err) < 0)
        return end_in_order (&err);
    if (!(c = comm_mpi_open (MPI_COMM_WORLD, &args->comm, &err)))
        return err.fault == ERROR_INPUT ? end_in_order (&err)
                                        : end_all ("", &err);
    if (!(result = v->run (args, c, &err)))
        return end_all (comm_mpi.label (c, comm_mpi.rank (c)), &err);
    if (comm_mpi.rank (c) == 0)
        rc = v->write (args, c, result, &err);
    free (result);
    comm_mpi_close (c);
    return end_in_order (rc < 0 ? &err : NULL);
}

int main (int argc, char **argv)
{
    struct args args = {
        .operations = { .repeats = 1000, .fast_repeats = 1000, .warm_up = 10 },
    };
    struct error err = { .fault = ERROR_INPUT };
    const struct verb *v;
    int rc;

    if (argc < 2) {
        usage (stderr);
        return ERROR_INPUT;
    }
    if (!strcmp (argv[1], "--help") || !strcmp (argv[1], "-h")) {
        usage (stdout);
        return 0;
    }
    if (!strcmp (argv[1], "--version") || !strcmp (argv[1], "-V")) {
        printf ("%s %s\n", prog, PACKAGE_VERSION);
        return 0;
    }
    v = find_verb (argv[1], &err);
    rc = v ? parse (v, &args, argc - 1, argv + 1, &err) : -1;
    if (rc == OPTIONS_HELP)
        return 0;
    MPI_Init (&argc, &argv);
    return rc < 0 ? end_in_order (&err) : run (v, &args);
}
