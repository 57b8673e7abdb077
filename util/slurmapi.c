/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check the release of Slurm's C library. */
#include "config.h"
#include "util/slurmapi.h"

int slurmapi_start (struct error *err)
{
    long built = slurmapi_interface ();
    long found = slurm_api_version () >> 16;

    if (built != found)
        return error_world (err, "slurm-pmm is built for Slurm %d.%02d "
                                 "(libslurm.so.%ld), but the libslurm that is "
                                 "loaded is of %s release (libslurm.so.%ld): "
                                 "install slurm-pmm of that release",
                            SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER),
                            SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER), built,
                            found < built ? "an earlier" : "a later", found);
    slurm_init (NULL);
    return 0;
}
