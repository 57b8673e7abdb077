/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of transports. */
#include "config.h"
#include "probe/transport.h"

#include <string.h>

static const struct transport *const transports[] = {
    &transport_emu,
#ifdef HAVE_VERBS
    &transport_verbs,
#endif
};

const struct transport *transport_find (const char *name, struct error *err)
{
    for (size_t i = 0; i < sizeof (transports) / sizeof (transports[0]); i++)
        if (!strcmp (transports[i]->name, name))
            return transports[i];
    error_world (err, "this pmm-probe was built without %s", name);
    return NULL;
}
