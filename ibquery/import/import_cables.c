/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * ibnetdiscover (import_netdiscover) writes one paragraph per node, with a line
 * for each port that has a cable:
 *
 *     switchguid=0x100050(100050)
 *     Switch  8 "S-0000000000100050"  # "leaf 1" enhanced port 0 lid 11 lmc 0
 *     [1]  "H-00000000002000c0"[1](2000c1)  # "h1 mlx5_0" lid 19 4xHDR
 *     [5]  "S-0000000000100000"[7]  # "spine 1" lid 2 4xHDR
 *
 *     Ca  1 "H-00000000002000f0"  # "h1 mlx5_0"
 *     [1](2000f1)  "S-0000000000100050"[4]  # lid 22 lmc 0 "s" lid 11 4xHDR
 *
 * In a copy from a terminal, tabs are blanks.
 * With -f, more text follows the rate of a port. With -g, ports have a second
 * number in [ext N], there are headings between the paragraphs, and some
 * paragraphs occur twice.
 *
 * opensm-subnet.lst and ibdiagnet's .lst (import_list) have one cable per line:
 *
 *     { SW Ports:08 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:..
 *       Rev:.. {leaf 1} LID:0002 PN:01 } { CA-SM ... } PHY=4x LOG=ACT SPD=50
 *
 * The numbers in braces are hex. The description may be missing, and the fields
 * that are not read here may vary. opensm lists each cable from both ends.
 */
#include "config.h"
#include "ibquery/import/parser.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *word;
    enum node_type type;
    char letter; /* in its name */
} types[] = {
    { "Switch ", NODE_SWITCH, 'S' },
    { "Ca ", NODE_CA, 'H' },
    { "Rt ", NODE_ROUTER, 'R' },
};

/* Lines of ibnetdiscover to skip. */
static const char *const others[] = {
    "#",        "caguid=",           "rtguid=",
    "Chassis ", "Non-Chassis Nodes", "Hostname: ",
};

static const struct {
    const char *name;
    enum node_type type;
} list_types[] = {
    { "SW", NODE_SWITCH },
    { "CA", NODE_CA },
    { "Rt", NODE_ROUTER },
    { "RT", NODE_ROUTER },
};

static const struct {
    const char *name;
    enum port_state state;
} list_states[] = {
    { "INI", PORT_INIT },
    { "ARM", PORT_ARMED },
    { "ACT", PORT_ACTIVE },
};

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

/* "S-0000000000100050" with its quotes. */
static bool scan_name (char **p, char *letter, uint64_t *guid)
{
    char *start = *p;

    if (start[0] != '"' || !start[1] || start[2] != '-')
        return false;
    *letter = start[1];
    *p += 3;
    return scan_hex (p, UINT64_MAX, guid) && *p - start == 3 + 16
           && scan_text (p, "\"");
}

/* Move after the last quote. */
static bool scan_to_last_quote (char **p)
{
    char *quote = strrchr (*p, '"');

    if (quote)
        *p = quote + 1;
    return quote;
}

/* "(2000c1)", if there is one. */
static bool scan_guid (char **p, uint64_t *guid)
{
    *guid = 0;
    scan_blanks (p);
    return !scan_text (p, "(")
           || (scan_hex (p, UINT64_MAX, guid) && scan_text (p, ")"));
}

/* "[1]" or "[1][ext 5]", and the GUID that may follow */
static bool scan_port (char **p, unsigned int *port, uint64_t *guid)
{
    uint64_t number, ext;

    if (!scan_text (p, "[") || !scan_decimal (p, UINT8_MAX, &number)
        || !scan_text (p, "]"))
        return false;
    *port = number;
    return (!scan_text (p, "[ext ")
            || (scan_decimal (p, UINT8_MAX, &ext) && scan_text (p, "]")))
           && scan_guid (p, guid);
}

/* "lid 19 4xHDR"; with -f more text follows */
static bool scan_rate (char **p, struct import_cable *cable)
{
    uint64_t lid, width = 0;
    size_t len;

    if (!scan_text (p, " lid ") || !scan_decimal (p, FABRIC_MAX_LID, &lid)
        || !scan_text (p, " ")
        || (!scan_text (p, "??") && (!scan_decimal (p, UINT8_MAX, &width)
                                     || !scan_text (p, "x"))))
        return false;
    cable->far_lid = lid;
    cable->width = width;
    len = strcspn (*p, " \t");
    if (len >= sizeof (cable->speed))
        return false;
    if (strncmp (*p, "???", len) != 0 || len != 3)
        memcpy (cable->speed, *p, len);
    return true;
}

/* The rest of a line that begins with Switch, Ca or Rt; a description may
 * contain quotes.
 */
static int read_topology_node (struct import *d, char *p, size_t type,
                               struct error *err)
{
    uint64_t ports, guid, lid = 0, system = d->system, own = d->port_guid;
    uint64_t vendor = d->vendor, device = d->device;
    bool is_switch = types[type].type == NODE_SWITCH;
    char letter, *desc, *quote = NULL;

    d->paragraph = -1;
    d->system = d->port_guid = d->vendor = d->device = 0;
    if (scan_decimal (&p, UINT8_MAX, &ports) && scan_words (&p, " ")
        && scan_name (&p, &letter, &guid) && letter == types[type].letter) {
        scan_blanks (&p);
        if (scan_words (&p, "# \""))
            quote = strrchr (p, '"');
    }
    desc = p;
    if (quote) {
        *quote = '\0';
        p = quote + 1;
    }
    if (!quote
        || (is_switch && (!scan_to (&p, " lid ")
                          || !scan_decimal (&p, FABRIC_MAX_LID, &lid))))
        return import_fault (d, err, "this is not a node as ibnetdiscover "
                                     "writes them");
    d->paragraph = import_node (d, guid, types[type].type, ports, system, desc,
                               err);
    if (d->paragraph < 0)
        return -1;
    import_product (d, d->paragraph, vendor, device);
    return is_switch ? import_address (d, d->paragraph, 0, own, lid,
                                      IMPORT_UNKNOWN, err)
                     : 0;
}

/* The line of a port. */
static int read_topology_port (struct import *d, char *p, struct error *err)
{
    struct import_cable cable = { 0 };
    uint64_t guid, far_guid, lid = 0, lmc = 0;
    bool is_switch, good;
    char letter;

    if (d->paragraph < 0)
        return import_fault (d, err, "this port does not belong to a node");
    is_switch = d->f->node[d->paragraph].type == NODE_SWITCH;
    good = scan_port (&p, &cable.port, &guid);
    scan_blanks (&p);
    good = good && scan_name (&p, &letter, &cable.far)
           && scan_port (&p, &cable.far_port, &far_guid);
    scan_blanks (&p);
    if (!good || !scan_words (&p, "# ")
        || (!is_switch && (!scan_words (&p, "lid ")
                           || !scan_decimal (&p, FABRIC_MAX_LID, &lid)
                           || !scan_words (&p, " lmc ")
                           || !scan_decimal (&p, FABRIC_MAX_LMC, &lmc)))
        || !scan_to_last_quote (&p) || !scan_rate (&p, &cable))
        return import_fault (d, err, "this is not a port as ibnetdiscover "
                                     "writes them");
    if (!is_switch
        && import_address (d, d->paragraph, cable.port, guid, lid, lmc, err) < 0)
        return -1;
    return import_cable (d, d->paragraph, &cable, err);
}

/* "vendid=0x2c9" or "devid=0xcb20"; older ones may be written otherwise. */
static bool scan_product (char *line, struct import *d)
{
    bool vendor = scan_text (&line, "vendid=");

    if (!vendor && !scan_text (&line, "devid="))
        return false;
    if (!scan_text (&line, "0x")
        || !scan_hex (&line, UINT32_MAX, vendor ? &d->vendor : &d->device))
        *(vendor ? &d->vendor : &d->device) = 0;
    return true;
}

int import_netdiscover (struct import *d, char *line, struct error *err)
{
    uint64_t first, second;
    bool system;

    scan_blanks (&line);
    if (scan_product (line, d))
        return 0;
    system = scan_text (&line, "sysimgguid=");
    if (system || scan_text (&line, "switchguid=")) {
        if (!scan_text (&line, "0x") || !scan_hex (&line, UINT64_MAX, &first)
            || !scan_guid (&line, &second))
            return import_fault (d, err, "this is not a GUID");
        *(system ? &d->system : &d->port_guid) = system ? first : second;
        return 0;
    }
    if (*line == '[' && isdigit ((unsigned char)line[1]))
        return read_topology_port (d, line, err);
    for (size_t i = 0; i < COUNT (types); i++)
        if (scan_words (&line, types[i].word))
            return read_topology_node (d, line, i, err);
    for (size_t i = 0; i < COUNT (others); i++)
        if (scan_text (&line, others[i]))
            return 0;
    if (*line)
        return import_fault (d, err, "this is not a line of ibnetdiscover's: "
                                     "take it out, if ibnetdiscover did not "
                                     "print it");
    d->paragraph = -1;
    return 0;
}

/* One end of a cable in a .lst. */
struct list_end {
    enum node_type type;
    uint64_t ports, system, node_guid, guid, vendor, device, lid, num;
    const char *desc;
};

/* "KEY:VALUE"; other fields may come before it. */
static bool scan_field (char **p, const char *key, uint64_t max,
                        uint64_t *value)
{
    return scan_to (p, key) && scan_hex (p, max, value)
           && (**p == ' ' || !**p);
}

/* Which product an end is, if its fields have it. opensm writes a far end's
 * DeviceID in the upper half of 32 bits.
 */
static void scan_list_product (char *p, struct list_end *e)
{
    uint64_t vendor, device;

    e->vendor = e->device = 0;
    if (!scan_text (&p, " VenID:") || !scan_hex (&p, UINT32_MAX, &vendor)
        || !scan_text (&p, " DevID:") || !scan_hex (&p, UINT32_MAX, &device))
        return;
    e->vendor = vendor;
    e->device = device & UINT16_MAX ? device : device >> 16;
}

/* "{ TYPE KEY:VALUE... {DESCRIPTION} LID:VALUE PN:VALUE } " */
static bool scan_end (char **p, struct list_end *e)
{
    size_t type = 0;
    char *desc, *lid;

    if (!scan_text (p, "{ "))
        return false;
    while (type < COUNT (list_types) && !scan_text (p, list_types[type].name))
        type++;
    scan_text (p, "-SM");
    if (type == COUNT (list_types)
        || !scan_field (p, " Ports:", UINT8_MAX, &e->ports)
        || !scan_field (p, " SystemGUID:", UINT64_MAX, &e->system)
        || !scan_field (p, " NodeGUID:", UINT64_MAX, &e->node_guid)
        || !scan_field (p, " PortGUID:", UINT64_MAX, &e->guid))
        return false;
    scan_list_product (*p, e);
    if (!(lid = strstr (*p, " LID:")))
        return false;
    e->type = list_types[type].type;
    e->desc = "";
    desc = strchr (*p, '{');
    if (desc && desc < lid) {
        if (!(lid = strstr (desc, "} LID:")))
            return false;
        *lid++ = '\0';
        e->desc = desc + 1;
    }
    *p = lid;
    return scan_text (p, " LID:") && scan_hex (p, FABRIC_MAX_LID, &e->lid)
           && scan_text (p, " PN:") && scan_hex (p, UINT8_MAX, &e->num)
           && scan_text (p, " } ");
}

/* "PHY=4x LOG=ACT SPD=50" */
static bool scan_state (char *p, struct import_cable *cable)
{
    uint64_t width = 0;

    if (!scan_text (&p, "PHY=")
        || (!scan_text (&p, "??") && !scan_decimal (&p, UINT8_MAX, &width))
        || !scan_to (&p, " LOG="))
        return false;
    cable->width = width;
    for (size_t i = 0; i < COUNT (list_states); i++)
        if (scan_text (&p, list_states[i].name))
            cable->state = list_states[i].state;
    if (scan_to (&p, " SPD="))
        strcpy (cable->speed, rates_by_list (p));
    return true;
}

/* A cable that is down is skipped. */
int import_list (struct import *d, char *line, struct error *err)
{
    struct import_cable cable = { .far_lid = IMPORT_UNKNOWN, .both = true };
    struct list_end end[2];
    int64_t node[2];

    if (!*line || *line == '#')
        return 0;
    if (!scan_end (&line, &end[0]) || !scan_end (&line, &end[1])
        || !scan_state (line, &cable))
        return import_fault (d, err, "this is not a cable of a .lst");
    if (cable.state == PORT_UNKNOWN)
        return 0;
    for (int i = 0; i < 2; i++) {
        const struct list_end *e = &end[i];

        node[i] = import_node (d, e->node_guid, e->type, e->ports, e->system,
                              e->desc, err);
        if (node[i] < 0
            || import_address (d, node[i], e->num, e->guid, e->lid,
                              IMPORT_UNKNOWN, err) < 0)
            return -1;
        import_product (d, node[i], e->vendor, e->device);
    }
    cable.port = end[0].num;
    cable.far = end[1].node_guid;
    cable.far_port = end[1].num;
    return import_cable (d, node[0], &cable, err);
}
