/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm.conf. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "util/site.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct site site;
    struct error err;

    if (conf_defaults (site_options, &site) < 0)
        abort ();
    if (conf_read (site_options, &site, fp, "input", &err) == 0)
        site_check (&site, &err);
    fclose (fp);
    conf_clear (site_options, &site);
    return 0;
}
