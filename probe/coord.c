/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of coordinations. */
#include "config.h"
#include "probe/coord.h"

#include <string.h>

static const struct coord *const coords[] = {
#ifdef HAVE_PMIX
    &coord_pmix,
#endif
    &coord_local,
};

const struct coord *coord_find (const char *text, const char **arg,
                                struct error *err)
{
    size_t len = strcspn (text, ":");

    *arg = text[len] ? text + len + 1 : "";
    for (size_t i = 0; i < sizeof (coords) / sizeof (coords[0]); i++)
        if (strlen (coords[i]->name) == len
            && !strncmp (coords[i]->name, text, len))
            return coords[i];
    if (!strncmp (text, "pmix", len))
        error_world (err, "this pmm-probe was built without PMIx");
    else
        error_input (err, "there is no coordination called '%s'", text);
    return NULL;
}
