/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * opensm-subnet.lst and ibdiagnet's .lst have one cable per line:
 *
 *     { SW Ports:08 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:..
 *       Rev:.. {leaf 1} LID:0002 PN:01 } { CA-SM ... } PHY=4x LOG=ACT SPD=50
 *
 * The numbers in braces are hex. The description may be missing, and the fields
 * that are not read here may vary. opensm lists each cable from both ends.
 */
#include "config.h"
#include "ibquery/import/import.h"

#include <inttypes.h>
#include <string.h>

/* One end of a cable. */
struct end {
    struct draft_node node;
    uint64_t guid, lid, num;
};

static const struct {
    const char *name;
    enum node_type type;
} types[] = {
    { "SW", NODE_SWITCH },
    { "CA", NODE_CA },
    { "Rt", NODE_ROUTER },
    { "RT", NODE_ROUTER },
};

static const struct {
    const char *name;
    enum port_state state;
} states[] = {
    { "INI", PORT_INIT },
    { "ARM", PORT_ARMED },
    { "ACT", PORT_ACTIVE },
};

static bool scan_type (char **p, enum node_type *type)
{
    for (size_t i = 0; i < sizeof (types) / sizeof (types[0]); i++)
        if (scan_text (p, types[i].name)) {
            *type = types[i].type;
            scan_text (p, "-SM");
            return true;
        }
    return false;
}

/* "KEY:VALUE"; other fields may come before it. */
static bool scan_field (char **p, const char *key, uint64_t max,
                        uint64_t *value)
{
    return scan_to (p, key) && scan_hex (p, max, value)
           && (**p == ' ' || !**p);
}

/* "{ TYPE KEY:VALUE... {DESCRIPTION} LID:VALUE PN:VALUE } " */
static bool scan_end (char **p, struct end *e)
{
    char *desc, *lid;
    uint64_t ports;

    if (!scan_text (p, "{ ") || !scan_type (p, &e->node.type)
        || !scan_field (p, " Ports:", UINT8_MAX, &ports)
        || !scan_field (p, " SystemGUID:", UINT64_MAX, &e->node.system)
        || !scan_field (p, " NodeGUID:", UINT64_MAX, &e->node.guid)
        || !scan_field (p, " PortGUID:", UINT64_MAX, &e->guid)
        || !(lid = strstr (*p, " LID:")))
        return false;
    e->node.nports = ports;
    e->node.desc = "";
    desc = strchr (*p, '{');
    if (desc && desc < lid) {
        if (!(lid = strstr (desc, "} LID:")))
            return false;
        *lid++ = '\0';
        e->node.desc = desc + 1;
    }
    *p = lid;
    return scan_text (p, " LID:") && scan_hex (p, FABRIC_MAX_LID, &e->lid)
           && scan_text (p, " PN:") && scan_hex (p, UINT8_MAX, &e->num)
           && scan_text (p, " } ");
}

/* "PHY=4x LOG=ACT SPD=50" */
static bool scan_state (char **p, struct draft_cable *cable)
{
    uint64_t width = 0;

    if (!scan_text (p, "PHY=")
        || (!scan_text (p, "??") && !scan_decimal (p, UINT8_MAX, &width))
        || !scan_to (p, " LOG="))
        return false;
    cable->width = width;
    for (size_t i = 0; i < sizeof (states) / sizeof (states[0]); i++)
        if (scan_text (p, states[i].name))
            cable->state = states[i].state;
    if (!scan_to (p, " SPD="))
        return true;
    strcpy (cable->speed, rates_by_list (*p));
    return true;
}

static int64_t add_end (struct draft *d, const struct place *at,
                        const struct end *e, struct error *err)
{
    int64_t node = draft_node (d, at, &e->node, err);

    if (node < 0
        || draft_address (d, at, node, e->num, e->guid, e->lid, DRAFT_UNKNOWN,
                          err) < 0)
        return -1;
    return node;
}

/* A cable that is down is skipped. */
static int read_line (struct draft *d, char *line, const struct place *at,
                      struct error *err)
{
    struct draft_cable cable = { .far_lid = DRAFT_UNKNOWN, .both = true };
    struct end near, far;
    int64_t node;

    if (!*line || *line == '#')
        return 0;
    if (!scan_end (&line, &near) || !scan_end (&line, &far)
        || !scan_state (&line, &cable))
        return place_input (at, err, "this is no cable of a .lst");
    if (cable.state == PORT_UNKNOWN)
        return 0;
    node = add_end (d, at, &near, err);
    if (node < 0 || add_end (d, at, &far, err) < 0)
        return -1;
    cable.port = near.num;
    cable.far = far.node.guid;
    cable.far_port = far.num;
    return draft_cable (d, at, node, &cable, err);
}

int import_list (struct draft *d, struct scan *s, struct error *err)
{
    char *line;
    int rc;

    while ((rc = scan_line (s, &line, err)) > 0)
        if (read_line (d, line, &s->at, err) < 0)
            return -1;
    return rc;
}
