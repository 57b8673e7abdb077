/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/verb.h"

#include <inttypes.h>
#include <pwd.h>
#include <unistd.h>

#include "util/json.h"
#include "util/site.h"

const char *user_name (void)
{
    const struct passwd *pw = getpwuid (geteuid ());

    return pw ? pw->pw_name : "unknown";
}

#ifdef HAVE_LEDGER
void inputs_ledger (struct inputs *in, enum ledger_mode mode)
{
    const char *path = in->ledger_path ? in->ledger_path
                                       : verb_site (in->conf, false)->ledger;

    in->ledger = need (ledger_open (path, mode, &fault));
}

void close_ledger (struct inputs *in)
{
    ledger_close (in->ledger);
    in->ledger = NULL;
}
#endif

json_t *fabric_node_json (const struct fabric *f, uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    return json_pack ("{s:o, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "name", n->desc);
}

json_t *fabric_spread_json (const struct fabric_spread *s)
{
    return !s->known ? json_null ()
                     : json_pack ("{s:i, s:i, s:i, s:b, s:b, s:o}", "ud", s->ud,
                                  "rc", s->rc, "hashed", s->hashed,
                                  "fast_recovery", s->recovery, "private_lfts",
                                  s->private_lfts, "groups",
                                  s->entry ? json_integer (s->ngroups)
                                           : json_null ());
}

json_t *fabric_port_json (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct fabric_node *n = &f->node[p->node];

    return json_pack ("{s:o, s:i, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "port", p->num,
                      "name", n->desc);
}

json_t *fabric_link_json (const struct fabric *f, uint32_t link)
{
    return json_pack ("{s:o, s:o}", "a", fabric_port_json (f, f->link[link].a),
                      "b", fabric_port_json (f, f->link[link].b));
}
