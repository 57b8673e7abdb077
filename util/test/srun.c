/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What srun says, in the words of several releases. */
#include "config.h"
#include "util/srun.h"

#include <string.h>

#include "tests/tap.h"

#define AT "[2026-11-22T22:42:32.104] "

static void test_hear (void)
{
    static const struct {
        const char *line[3];
        const char *complaint; /* NULL: the first line is not Slurm's */
        bool cancelled;
    } tab[] = {
        { { "srun: job 7 queued" }, "", false },
        { { "pmm-probe: error: no device" }, NULL, false },
        { { "[2026] error: of a program" }, NULL, false },
        { { "[2026-11-22T22:42:32] error: of a program" }, NULL, false },
        { { "slurmstepd: error: x" }, "slurmstepd: error: x", false },
        { { AT "error: x" }, AT "error: x", false },
        { { AT "debug: x" }, "", false },
        { { "srun: error: n1: task 0: Exited with exit code 2",
            "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22 ***",
            "srun: error: n2: task 1: Killed" },
          "srun: error: n1: task 0: Exited with exit code 2", true },
        { { AT "error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22 DUE TO TASK "
               "FAILURE ***",
            "srun: error: n1: task 0: Exited with exit code 2" },
          "srun: error: n1: task 0: Exited with exit code 2", false },
        { { "srun: error: plugin_load_from_file: dlopen(x11.so): x11.so: cannot "
            "open shared object file: No such file or directory",
            "srun: error: spank: x11.so: Dlopen of plugin file failed",
            "slurmstepd-n1: error: execve(): /x: No such file or directory" },
          "slurmstepd-n1: error: execve(): /x: No such file or directory",
          false },
        { { "srun: error: IO: Hey, you told me node 1 was down!",
            "srun: error: n1: task 0: Killed" },
          "srun: error: n1: task 0: Killed", false },
        { { "srun: error: n1: task 0: Killed",
            "srun: error: Timed out waiting for job step to complete" },
          "srun: error: n1: task 0: Killed", false },
        { { "srun: error: n1: task 0: Killed",
            AT "error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22 DUE TO TIME "
               "LIMIT ***" },
          AT "error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22 DUE TO TIME "
             "LIMIT ***",
          true },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct srun_words words = { 0 };
        bool slurms = false;

        for (size_t k = 0; k < 3 && tab[i].line[k]; k++)
            slurms |= srun_hear (&words, tab[i].line[k]);
        ok (slurms == (tab[i].complaint != NULL)
                && (!slurms || !strcmp (words.complaint, tab[i].complaint))
                && words.cancelled == tab[i].cancelled,
            "heard %s: '%s'", tab[i].line[0], words.complaint);
    }
}

static void test_no_mpi (void)
{
    static const struct {
        const char *line;
        bool none;
    } tab[] = {
        { "srun: error: Couldn't find the specified plugin name for mpi/pmix",
          true },
        { "srun: error: Try --mpi=list", true }, /* up to 23.02 */
        { "srun: error: MPI: Cannot create context for mpi/pmix", true },
        { "srun: error: Unable to allocate resources", false },
        { "probe: Cannot create context for mpi/pmix", false },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct srun_words words = { 0 };

        srun_hear (&words, tab[i].line);
        ok (words.no_mpi == tab[i].none, "%s", tab[i].line);
    }
}

int main (void)
{
    test_hear ();
    test_no_mpi ();
    return done_testing ();
}
