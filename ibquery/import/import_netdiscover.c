/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * ibnetdiscover writes one paragraph per node, with a line for each port that
 * has a cable:
 *
 *     switchguid=0x100050(100050)
 *     Switch  8 "S-0000000000100050"  # "leaf 1" enhanced port 0 lid 11 lmc 0
 *     [1]  "H-00000000002000c0"[1](2000c1)  # "h1 mlx5_0" lid 19 4xHDR
 *     [5]  "S-0000000000100000"[7]  # "spine 1" lid 2 4xHDR
 *
 *     Ca  1 "H-00000000002000f0"  # "h1 mlx5_0"
 *     [1](2000f1)  "S-0000000000100050"[4]  # lid 22 lmc 0 "s" lid 11 4xHDR
 *
 * With -f, more text follows the rate of a port. With -g, ports have a second
 * number in [ext N], there are headings between the paragraphs, and some
 * paragraphs occur twice.
 */
#include "config.h"
#include "ibquery/import/import.h"

#include <string.h>

struct netdiscover {
    struct draft *d;
    struct scan *s;
    int64_t node;       /* of this paragraph; -1: none */
    enum node_type type;
    uint64_t system, port_guid; /* of the next node; 0: not given */
};

static const struct {
    const char *word;
    enum node_type type;
    char letter; /* in its name */
} types[] = {
    { "Switch\t", NODE_SWITCH, 'S' },
    { "Ca\t", NODE_CA, 'H' },
    { "Rt\t", NODE_ROUTER, 'R' },
};

static int fault (const struct netdiscover *n, struct error *err,
                  const char *what)
{
    return place_input (&n->s->at, err, "%s", what);
}

/* "S-0000000000100050" with its quotes. */
static bool scan_name (char **p, char *letter, uint64_t *guid)
{
    char *start;

    if (!scan_text (p, "\"") || !**p)
        return false;
    *letter = *(*p)++;
    if (!scan_text (p, "-"))
        return false;
    start = *p;
    return scan_hex (p, UINT64_MAX, guid) && *p - start == 16
           && scan_text (p, "\"");
}

/* "# "leaf 1" enhanced port 0 lid 11 lmc 0"; a description may contain quotes.
 */
static bool scan_desc (char **p, char **desc)
{
    char *quote;

    scan_blanks (p);
    if (!scan_text (p, "# \"") || !(quote = strrchr (*p, '"')))
        return false;
    *desc = *p;
    *quote = '\0';
    *p = quote + 1;
    return true;
}

static int read_node (struct netdiscover *n, char *p, size_t type,
                      struct error *err)
{
    struct draft_node node = { .type = types[type].type, .system = n->system };
    uint64_t ports, lid = 0, port_guid = n->port_guid;
    char letter, *desc;

    n->node = -1;
    n->system = n->port_guid = 0;
    if (!scan_decimal (&p, UINT8_MAX, &ports) || !scan_text (&p, " ")
        || !scan_name (&p, &letter, &node.guid)
        || letter != types[type].letter || !scan_desc (&p, &desc)
        || (node.type == NODE_SWITCH
            && (!scan_to (&p, " lid ")
                || !scan_decimal (&p, FABRIC_MAX_LID, &lid))))
        return fault (n, err, "this is no node as ibnetdiscover writes them");
    node.nports = ports;
    node.desc = desc;
    n->type = node.type;
    n->node = draft_node (n->d, &n->s->at, &node, err);
    if (n->node < 0)
        return -1;
    if (n->type != NODE_SWITCH)
        return 0;
    return draft_address (n->d, &n->s->at, n->node, 0, port_guid, lid,
                          DRAFT_UNKNOWN, err);
}

/* "lid 19 4xHDR"; with -f more text follows */
static bool scan_rate (char **p, struct draft_cable *cable)
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
    len = strcspn (*p, " ");
    if (len >= sizeof (cable->speed))
        return false;
    memcpy (cable->speed, *p, len);
    cable->speed[len] = '\0';
    if (strcmp (cable->speed, "???") == 0)
        cable->speed[0] = '\0';
    return true;
}

/* "[1]" or "[1][ext 5]" */
static bool scan_port (char **p, unsigned int *port)
{
    uint64_t number, ext;

    if (!scan_text (p, "[") || !scan_decimal (p, UINT8_MAX, &number)
        || !scan_text (p, "]"))
        return false;
    *port = number;
    return !scan_text (p, "[ext ")
           || (scan_decimal (p, UINT8_MAX, &ext) && scan_text (p, "]"));
}

/* "(2000c1)", if there is one. */
static bool scan_guid (char **p, uint64_t *guid)
{
    *guid = 0;
    scan_blanks (p);
    return !scan_text (p, "(")
           || (scan_hex (p, UINT64_MAX, guid) && scan_text (p, ")"));
}

static bool scan_cable (char **p, struct draft_cable *cable, uint64_t *guid)
{
    uint64_t far_guid;
    char letter;

    if (!scan_port (p, &cable->port) || !scan_guid (p, guid))
        return false;
    scan_blanks (p);
    if (!scan_name (p, &letter, &cable->far)
        || !scan_port (p, &cable->far_port) || !scan_guid (p, &far_guid))
        return false;
    scan_blanks (p);
    return scan_text (p, "# ");
}

static int read_port (struct netdiscover *n, char *p, struct error *err)
{
    struct draft_cable cable = { 0 };
    uint64_t guid, lid = 0, lmc = 0;

    if (n->node < 0)
        return fault (n, err, "this port is of no node");
    if (!scan_cable (&p, &cable, &guid)
        || (n->type != NODE_SWITCH
            && (!scan_text (&p, "lid ")
                || !scan_decimal (&p, FABRIC_MAX_LID, &lid)
                || !scan_text (&p, " lmc ")
                || !scan_decimal (&p, FABRIC_MAX_LMC, &lmc)))
        || !scan_to_last (&p, '"') || !scan_rate (&p, &cable))
        return fault (n, err, "this is no port as ibnetdiscover writes them");
    if (n->type != NODE_SWITCH
        && draft_address (n->d, &n->s->at, n->node, cable.port, guid, lid, lmc,
                          err) < 0)
        return -1;
    return draft_cable (n->d, &n->s->at, n->node, &cable, err);
}

/* "switchguid=0x100050(100050)", "sysimgguid=0x100050" */
static int read_guids (struct netdiscover *n, char *p, uint64_t *first,
                       uint64_t *second, struct error *err)
{
    if (!scan_text (&p, "0x") || !scan_hex (&p, UINT64_MAX, first)
        || !scan_guid (&p, second))
        return fault (n, err, "this is no GUID");
    return 0;
}

/* Lines to skip. */
static const char *const others[] = {
    "#",        "vendid=",           "devid=",     "caguid=", "rtguid=",
    "Chassis ", "Non-Chassis Nodes", "Hostname: ",
};

static int read_line (struct netdiscover *n, char *line, struct error *err)
{
    uint64_t unused;

    if (*line == '[')
        return read_port (n, line, err);
    if (scan_text (&line, "sysimgguid="))
        return read_guids (n, line, &n->system, &unused, err);
    if (scan_text (&line, "switchguid="))
        return read_guids (n, line, &unused, &n->port_guid, err);
    for (size_t i = 0; i < sizeof (types) / sizeof (types[0]); i++)
        if (scan_text (&line, types[i].word))
            return read_node (n, line, i, err);
    for (size_t i = 0; i < sizeof (others) / sizeof (others[0]); i++)
        if (scan_text (&line, others[i]))
            return 0;
    if (*line)
        return fault (n, err, "this is no line of ibnetdiscover's");
    n->node = -1;
    return 0;
}

int import_netdiscover (struct draft *d, struct scan *s, struct error *err)
{
    struct netdiscover n = { .d = d, .s = s, .node = -1 };
    char *line;
    int rc;

    while ((rc = scan_line (s, &line, err)) > 0)
        if (read_line (&n, line, err) < 0)
            return -1;
    return rc;
}
