/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * ibdiagnet2.db_csv (import_csv) has sections of rows:
 *
 *     # Running timestamp : 2026-11-26 17:45:38 UTC +0000
 *     START_LINKS
 *     NodeGuid1,PortNum1,NodeGuid2,PortNum2
 *     0x00000000002000c0,1,0x0000000000100050,1
 *     END_LINKS
 *
 * Numbers are decimal, or hex after 0x; N/A is not known. Columns are found by
 * their names. Those that are not read here may vary, and so may other
 * sections. NODES comes before what refers to it.
 *
 * A speed is a mask of PortInfo's speeds (util/rates). AR_INFO has a column for
 * each field of AdaptiveRoutingInfo, which is put together again. PM_INFO names
 * counters as InfiniBand does, and with "Ext" or "Extended" those of 64 bits.
 * CABLE_INFO has what a port reads from the memory of its plug, whose texts have
 * 16 bytes each.
 *
 * PHY_DB16 has bit error rates in field12 to field17: raw, effective and of
 * symbols, each as a factor and a power of 0.1. NVIDIA does not document these
 * columns; programs that read such files say so, not verified.
 *
 * ibdiagnet2.net_dump_ext (import_ber) has the same rates in plain columns, for
 * nodes that another file has given before:
 *
 *     Ty : # : #IB : GUID : ... : Raw BER : Effective BER : Symbol BER : ...
 *     SW : 1/1/1 : 1 : 0x0000000000100050 : ... : 4e-08 : 0 : 0 : ...
 */
#include "config.h"
#include "ibquery/import/parser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "ibquery/links/counters.h"
#include "ibquery/spread.h"

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

enum {
    SLOTS = 2 + 2 * COUNTERS_COUNTS, /* columns of a section that are read */
    NO_SLOT = UINT8_MAX,
    NO_LID = 0xffff,
    PLUG_TEXT = 16, /* bytes */
    INFO_WORD = 4, /* bytes */
    DAY_HHMM = 2400, /* hours and minutes */
};

/* What a row has in these columns. */
struct csv_row {
    uint64_t v[SLOTS];
    bool known[SLOTS];
    const char *text[SLOTS]; /* of columns with text */
};

struct csv_column {
    const char *name;
    uint64_t max;      /* 0: it is text */
    bool needed;
    uint8_t word, bit; /* of AdaptiveRoutingInfo */
};

struct csv_section {
    const char *name;
    bool needed, counters; /* counters: they follow the first two columns */
    const struct csv_column *column;
    int (*read) (struct import *d, const struct csv_row *r, struct error *err);
};

/* The order is that of these names, and of r->v. */
enum { GUID, NUM };
enum { NPORTS = 1, TYPE, SYSTEM, DESC, DEVICE_ID, VENDOR_ID };
enum { PORT_GUID = 2, PREFIX, LID, LMC, STATE, RATES, LRTL = RATES + 6, FEC };
enum { GUID_B = 2, NUM_B };
enum { PORTS = 1 }; /* of sections */
enum { BER = 2 };
enum { VENDOR = PORT_GUID + 1, PART, SERIAL };

/*
 * Rows
 */

static int find_csv_node (struct import *d, uint64_t guid, uint32_t *node,
                          struct error *err)
{
    *node = fabric_find_node (d->f, guid);
    return *node != FABRIC_NONE
               ? 0
               : import_fault (d, err, "no section NODES above has %016" PRIx64,
                              guid);
}

/* The port of a row, which in r->v follows its node; NULL in *p is port 0 of a
 * switch.
 */
static int find_csv_port (struct import *d, const uint64_t v[2], uint32_t *node,
                          struct fabric_port **p, struct error *err)
{
    *p = NULL;
    if (find_csv_node (d, v[0], node, err) < 0)
        return -1;
    if (d->f->node[*node].type == NODE_SWITCH && v[1] == 0)
        return 0;
    *p = fabric_port_at (d->f, *node, v[1], err);
    return *p ? 0 : place_error (&d->s.at, err);
}

/* Check that the section, or another file, has its node or port for the first
 * time.
 */
static int check_csv_first (struct import *d, uint32_t *seen, struct error *err)
{
    if (*seen & d->csv.bit)
        return import_fault (d, err, "%s%s has this node or port twice",
                             d->csv.section ? "section " : "the file",
                             d->csv.name);
    *seen |= d->csv.bit;
    return 0;
}

static int read_csv_node (struct import *d, const struct csv_row *r,
                          struct error *err)
{
    int64_t node;

    if (r->v[TYPE] < NODE_CA)
        return import_fault (d, err, "%" PRIu64 " is not a type of node",
                             r->v[TYPE]);
    node = import_node (d, r->v[GUID], r->v[TYPE], r->v[NPORTS], r->v[SYSTEM],
                       r->text[DESC], err);
    if (node < 0)
        return -1;
    import_product (d, node, r->v[VENDOR_ID], r->v[DEVICE_ID]);
    return check_csv_first (d, &d->node[node].sections, err);
}

static int read_csv_port (struct import *d, const struct csv_row *r,
                          struct error *err)
{
    static const enum fec fecs[] = { FEC_NONE, FEC_FIRECODE, FEC_RS,
                                     FEC_RS_LOW_LATENCY, FEC_RS2 };
    enum { VENDORS_FECS = 8, FECS_END = 15 }; /* all of Reed and Solomon's */
    unsigned int lid = r->v[LID] == NO_LID ? 0 : r->v[LID], fec = r->v[FEC];
    struct fabric_port *p;
    struct rates *set[3];
    uint32_t node;

    if (find_csv_port (d, r->v, &node, &p, err) < 0)
        return -1;
    if (d->f->subnet == 0)
        d->f->subnet = r->v[PREFIX];
    if (!p)
        return check_csv_first (d, &d->node[node].sections, err) < 0
                   ? -1
                   : import_address (d, node, 0, r->v[PORT_GUID], lid,
                                    IMPORT_UNKNOWN, err);
    if (check_csv_first (d, &d->port[p - d->f->port].sections, err) < 0)
        return -1;
    set[0] = &p->rates.supported;
    set[1] = &p->rates.enabled;
    set[2] = &p->rates.active;
    for (int i = 0; i < 3; i++)
        *set[i] = rates_of_masks (r->v[RATES + 2 * i],
                                  r->v[RATES + 2 * i + 1]);
    p->rates.active = rates_common (set[2], set[2]);
    p->state = r->v[STATE] <= PORT_ACTIVE ? r->v[STATE] : PORT_UNKNOWN;
    p->lrtl = r->v[LRTL] <= FABRIC_MAX_LRTL ? r->v[LRTL] : 0;
    if (r->known[FEC] && fec < COUNT (fecs))
        d->port[p - d->f->port].fec = fecs[fec];
    else if (r->known[FEC] && fec >= VENDORS_FECS && fec < FECS_END)
        d->port[p - d->f->port].fec = FEC_RS;
    if (d->f->node[node].type == NODE_SWITCH || p->state == PORT_DOWN)
        return 0;
    return import_address (d, node, p->num, r->v[PORT_GUID], lid, r->v[LMC],
                          err);
}

static int read_link (struct import *d, const struct csv_row *r,
                      struct error *err)
{
    struct import_cable cable = {
        .port = r->v[NUM], .far = r->v[GUID_B], .far_port = r->v[NUM_B],
        .far_lid = IMPORT_UNKNOWN, .both = true,
    };
    struct fabric_port *p, *end[2];
    uint32_t node;

    if (find_csv_port (d, &r->v[GUID_B], &node, &end[1], err) < 0
        || find_csv_port (d, r->v, &node, &end[0], err) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if (!end[i] || !(d->port[end[i] - d->f->port].sections >> PORTS & 1))
            return import_fault (d, err, "no section PORTS above has port %016"
                                         PRIx64 "/%" PRIu64, r->v[2 * i],
                                 r->v[2 * i + 1]);
    p = end[0];
    cable.width = rates_lanes (&p->rates.active);
    strcpy (cable.speed, rates_speed (&p->rates.active));
    cable.state = p->state;
    return import_cable (d, node, &cable, err);
}

static int read_csv_spread (struct import *d, const struct csv_row *r,
                            struct error *err)
{
    const struct csv_column *c = d->csv.section->column;
    uint8_t info[SPREAD_INFO] = { 0 };
    struct fabric_node *n;
    uint32_t node;

    if (find_csv_node (d, r->v[GUID], &node, err) < 0
        || check_csv_first (d, &d->node[node].sections, err) < 0)
        return -1;
    n = &d->f->node[node];
    if (n->type != NODE_SWITCH)
        return import_fault (d, err, "%016" PRIx64 " is not a switch", n->guid);
    for (size_t i = 1; c[i].name; i++)
        for (unsigned int k = 0; k < 32; k++)
            if ((r->v[i] << c[i].bit) >> k & 1)
                info[INFO_WORD * c[i].word + 3 - k / 8] |= 1U << k % 8;
    n->spread = spread_decode (info);
    return 0;
}

/* The counters of a port. */
static struct port_counters *find_counters (struct import *d,
                                            const struct fabric_port *p,
                                            struct error *err)
{
    struct port_note *note = &d->port[p - d->f->port];
    struct port_counters *c;

    if (!d->counters)
        d->counters = counters_create ();
    if (note->counters == 0) {
        c = counters_add (d->counters, d->f->node[p->node].guid, p->num, err);
        if (!c)
            return NULL;
        c->fec = note->fec;
        note->counters = d->counters->nports;
    }
    return &d->counters->port[note->counters - 1];
}

/* The port of a row that is not port 0, for the first time, and its counters;
 * *c is NULL for port 0.
 */
static int start_counters (struct import *d, const uint64_t v[2],
                           struct port_counters **c, struct error *err)
{
    struct fabric_port *p;
    uint32_t node;

    *c = NULL;
    if (find_csv_port (d, v, &node, &p, err) < 0
        || (p
            && check_csv_first (d, &d->port[p - d->f->port].sections, err) < 0))
        return -1;
    return !p || (*c = find_counters (d, p, err)) ? 0 : -1;
}

static int read_counters (struct import *d, const struct csv_row *r,
                          struct error *err)
{
    struct port_counters *c;

    if (start_counters (d, r->v, &c, err) < 0)
        return -1;
    for (unsigned int i = 2; c && i < SLOTS; i++)
        if (r->known[i] && !counter_take (c, i / 2 - 1, i % 2, r->v[i]))
            return import_fault (d, err, "%s has no more than %u bits",
                                 counter_name (i / 2 - 1),
                                 counter_bits (i / 2 - 1));
    return 0;
}

static int read_ber (struct import *d, const struct csv_row *r,
                     struct error *err)
{
    struct port_counters *c;

    if (start_counters (d, r->v, &c, err) < 0)
        return -1;
    for (unsigned int i = 0; c && i < COUNTERS - COUNTERS_COUNTS; i++) {
        const unsigned int k = BER + 2 * i;
        double ber = r->v[k] * pow (10, -1. * r->v[k + 1]);

        if (r->known[k] && r->known[k + 1] && ber <= 1)
            counter_take (c, COUNTERS_COUNTS + i, true,
                          ber / COUNTER_BER_UNIT + 0.5);
    }
    return 0;
}

/* What a plug says of itself, its words parted by one blank. */
static int read_csv_plug (struct import *d, const struct csv_row *r,
                          struct error *err)
{
    char text[8 + 3 * (PLUG_TEXT + 1) + 1] = "";
    struct fabric_port *p;
    uint32_t node;

    if (find_csv_port (d, r->v, &node, &p, err) < 0
        || (p
            && check_csv_first (d, &d->port[p - d->f->port].sections, err) < 0))
        return -1;
    if (!p) /* of a switch within */
        return 0;
    if (r->known[PORT_GUID] && d->f->node[node].type != NODE_SWITCH
        && r->v[PORT_GUID] != p->guid)
        return import_fault (d, err, "port GUID %016" PRIx64 " is %016" PRIx64
                                     " in section PORTS", r->v[PORT_GUID],
                             p->guid);
    for (unsigned int i = VENDOR; i <= SERIAL; i++) {
        char part[PLUG_TEXT + 1], *save, *word;

        if (!r->known[i] || !strcmp (r->text[i], "NA"))
            continue;
        snprintf (part, sizeof (part), "%s", r->text[i]);
        word = strtok_r (part, " ", &save);
        if (word && i == SERIAL)
            strcat (text, *text ? " serial" : "serial");
        for (; word; word = strtok_r (NULL, " ", &save))
            strcat (strcat (text, *text ? " " : ""), word);
    }
    fabric_set_plug (d->f, p, text);
    return 0;
}

static const struct csv_section sections[] = {
    { "NODES", true, false, (const struct csv_column[]){
        { "NodeGUID", UINT64_MAX, true, 0, 0 },
        { "NumPorts", UINT8_MAX, true, 0, 0 },
        { "NodeType", NODE_ROUTER, true, 0, 0 },
        { "SystemImageGUID", UINT64_MAX, false, 0, 0 },
        { "NodeDesc", 0, true, 0, 0 },
        { "DeviceID", UINT32_MAX, false, 0, 0 },
        { "VendorID", UINT32_MAX, false, 0, 0 },
        { 0 } }, read_csv_node },
    { "PORTS", true, false, (const struct csv_column[]){
        { "NodeGuid", UINT64_MAX, true, 0, 0 },
        { "PortNum", UINT8_MAX, true, 0, 0 },
        { "PortGuid", UINT64_MAX, true, 0, 0 },
        { "GIDPrfx", UINT64_MAX, false, 0, 0 },
        { "LID", UINT16_MAX, true, 0, 0 },
        { "LMC", FABRIC_MAX_LMC, true, 0, 0 },
        { "PortState", UINT8_MAX, true, 0, 0 },
        { "LinkWidthSup", UINT8_MAX, true, 0, 0 },
        { "LinkSpeedSup", UINT32_MAX, true, 0, 0 },
        { "LinkWidthEn", UINT8_MAX, true, 0, 0 },
        { "LinkSpeedEn", UINT32_MAX, true, 0, 0 },
        { "LinkWidthActv", UINT8_MAX, true, 0, 0 },
        { "LinkSpeedActv", UINT32_MAX, true, 0, 0 },
        { "LinkRoundTripLatency", UINT32_MAX, false, 0, 0 },
        { "FECActv", UINT8_MAX, false, 0, 0 },
        { 0 } }, read_csv_port },
    { "LINKS", true, false, (const struct csv_column[]){
        { "NodeGuid1", UINT64_MAX, true, 0, 0 },
        { "PortNum1", UINT8_MAX, true, 0, 0 },
        { "NodeGuid2", UINT64_MAX, true, 0, 0 },
        { "PortNum2", UINT8_MAX, true, 0, 0 },
        { 0 } }, read_link },
    { "AR_INFO", false, false, (const struct csv_column[]){
        { "NodeGUID", UINT64_MAX, true, 0, 0 },
        { "e", 1, true, 0, 0 },
        { "is_fr_sup", 1, false, 0, 3 },
        { "fr_enabled", 1, false, 0, 4 },
        { "by_sl_cap", 1, true, 0, 27 },
        { "by_sl_en", 1, true, 0, 28 },
        { "by_transp_cap", 1, true, 0, 29 },
        { "group_cap", 0xfff, true, 1, 0 },
        { "enable_by_sl_mask", UINT16_MAX, true, 2, 16 },
        { "by_transport_disable", UINT8_MAX, true, 3, 0 },
        { "is_hbf_supported", 1, false, 5, 31 },
        { "by_sl_hbf_en", 1, false, 5, 15 },
        { "enable_by_sl_mask_hbf", UINT16_MAX, false, 6, 0 },
        { 0 } }, read_csv_spread },
    { "PM_INFO", false, true, (const struct csv_column[]){
        { "NodeGUID", UINT64_MAX, true, 0, 0 },
        { "PortNumber", UINT8_MAX, true, 0, 0 },
        { 0 } }, read_counters },
    { "PHY_DB16", false, false, (const struct csv_column[]){
        { "NodeGuid", UINT64_MAX, true, 0, 0 },
        { "PortNum", UINT8_MAX, true, 0, 0 },
        { "field12", UINT64_MAX, false, 0, 0 },
        { "field13", UINT64_MAX, false, 0, 0 },
        { "field14", UINT64_MAX, false, 0, 0 },
        { "field15", UINT64_MAX, false, 0, 0 },
        { "field16", UINT64_MAX, false, 0, 0 },
        { "field17", UINT64_MAX, false, 0, 0 },
        { 0 } }, read_ber },
    { "CABLE_INFO", false, false, (const struct csv_column[]){
        { "NodeGuid", UINT64_MAX, true, 0, 0 },
        { "PortNum", UINT8_MAX, true, 0, 0 },
        { "PortGuid", UINT64_MAX, false, 0, 0 },
        { "Vendor", 0, false, 0, 0 },
        { "PN", 0, false, 0, 0 },
        { "SN", 0, false, 0, 0 },
        { 0 } }, read_csv_plug },
};

/*
 * Lines
 */

/* Take a field off *p, up to the mark, without blanks at its ends and quotes;
 * NULL after the last one. A mark in quotes parts nothing.
 */
static char *next_csv_field (char **p, char mark)
{
    char *field = *p, *end;

    if (!field)
        return NULL;
    scan_blanks (&field);
    end = field;
    if (*field == '"')
        while ((end = strchr (end + 1, '"')) && end[1] && end[1] != mark)
            ;
    if (*field == '"' && end) {
        *p = end[1] ? end + 2 : NULL;
        *end = '\0';
        return field + 1;
    }
    if (!(end = strchr (field, mark)))
        end = field + strlen (field);
    *p = *end ? end + 1 : NULL;
    while (end > field && end[-1] == ' ')
        end--;
    *end = '\0';
    return field;
}

/* The slot of a column with this name. */
static unsigned int find_csv_column (const struct csv_section *s,
                                     const char *name)
{
    unsigned int i = 0;

    for (; s->column[i].name; i++)
        if (strcasecmp (s->column[i].name, name) == 0)
            return i;
    for (unsigned int id = 0; s->counters && id < COUNTERS_COUNTS; id++) {
        size_t len = strlen (counter_name (id));
        const char *end = name + len;

        if (strncmp (name, counter_name (id), len) != 0)
            continue;
        if (!*end)
            return i + 2 * id;
        if (strcmp (end, "Ext") == 0 || strcmp (end, "Extended") == 0)
            return i + 2 * id + 1;
    }
    return NO_SLOT;
}

/* The names of the columns. */
static int read_header (struct import *d, char *line, struct error *err)
{
    const struct csv_section *s = d->csv.section;
    bool found[SLOTS] = { false };
    char *name;

    d->csv.header = true;
    d->csv.ncolumns = 0;
    while ((name = next_csv_field (&line, ',')) && (*name || line)) {
        unsigned int slot = find_csv_column (s, name);

        if (d->csv.ncolumns == CSV_MAX_COLUMNS)
            return import_fault (d, err, "more than %d columns",
                                 CSV_MAX_COLUMNS);
        if (slot != NO_SLOT && found[slot])
            return import_fault (d, err, "column %.40s occurs twice", name);
        if (slot != NO_SLOT)
            found[slot] = true;
        d->csv.slot[d->csv.ncolumns++] = slot;
    }
    for (size_t i = 0; s->column[i].name; i++)
        if (s->column[i].needed && !found[i])
            return import_fault (d, err, "section %s has no column %s", s->name,
                                 s->column[i].name);
    return 0;
}

/* The value of a column. */
static int read_field (struct import *d, struct csv_row *r, unsigned int slot,
                       char *field, struct error *err)
{
    const struct csv_section *s = d->csv.section;
    bool counter = s->counters && slot > NUM;
    const struct csv_column *c = counter ? NULL : &s->column[slot];
    uint64_t max = c ? c->max : UINT64_MAX;
    char *p = field;

    r->known[slot] = strcmp (field, "N/A") != 0;
    if (c && c->max == 0)
        r->text[slot] = field;
    else if (r->known[slot]
             && (!(scan_text (&p, "0x") ? scan_hex (&p, max, &r->v[slot])
                                        : scan_decimal (&p, max, &r->v[slot]))
                 || *p))
        return import_fault (d, err, "\"%.40s\" in column %s is not a number "
                                     "of 0 to %" PRIu64, field,
                             c ? c->name : counter_name (slot / 2 - 1), max);
    if (c && c->needed && !r->known[slot])
        return import_fault (d, err, "column %s has no value", c->name);
    /* -1 and -2: the port does not have it */
    if (!c && r->v[slot] >= UINT64_MAX - 1)
        r->known[slot] = false;
    return 0;
}

static int read_csv_row (struct import *d, char *line, struct error *err)
{
    struct csv_row r = { .known = { false } };
    size_t n = 0;
    char *field;

    for (; (field = next_csv_field (&line, ',')); n++) {
        unsigned int slot = n < d->csv.ncolumns ? d->csv.slot[n] : NO_SLOT;

        if (n == d->csv.ncolumns && !*field && !line)
            break; /* the row ends in a comma */
        if (slot != NO_SLOT && read_field (d, &r, slot, field, err) < 0)
            return -1;
    }
    return n == d->csv.ncolumns
               ? d->csv.section->read (d, &r, err)
               : import_fault (d, err,
                              "%zu fields in section %s, which has %zu columns",
                              n, d->csv.name, d->csv.ncolumns);
}

static int check_closed (const struct import *d, struct error *err)
{
    return *d->csv.name
               ? import_fault (d, err,
                              "section %s has no end: the file is cut",
                              d->csv.name)
               : 0;
}

static int start_section (struct import *d, const char *name, struct error *err)
{
    if (check_closed (d, err) < 0)
        return -1;
    snprintf (d->csv.name, sizeof (d->csv.name), "%s", name);
    d->csv.header = false;
    d->csv.section = NULL;
    for (size_t i = 0; i < COUNT (sections); i++)
        if (strcmp (sections[i].name, name) == 0) {
            d->csv.section = &sections[i];
            d->csv.bit = 1U << i;
            d->csv.seen |= d->csv.bit;
        }
    return 0;
}

/* The seconds of "2026-11-26 17:45:38 UTC +0100"; 0: it is not such a time. */
static int64_t parse_csv_time (const char *p)
{
    struct tm tm = { 0 };
    const char *end = strptime (p, "%Y-%m-%d %H:%M:%S", &tm);
    const char *zone = end ? strpbrk (end, "+-") : NULL;
    long east = zone ? strtol (zone, NULL, 10) : 0; /* hours and minutes */
    int64_t t = end ? timegm (&tm) : 0;

    if (east > -DAY_HHMM && east < DAY_HHMM)
        t -= east / 100 * 3600 + east % 100 * 60;
    return t > 0 ? t : 0;
}

static int read_comment (struct import *d, char *line)
{
    char *p = line;

    if (scan_to (&p, "Running timestamp") && scan_to (&p, ": "))
        d->began = parse_csv_time (p);
    p = line;
    if (scan_to (&p, "File created at") && scan_to (&p, ": "))
        d->ended = parse_csv_time (p);
    return 0;
}

/* Between sections, anything is ignored. */
int import_csv (struct import *d, char *line, struct error *err)
{
    if (scan_text (&line, "START_"))
        return start_section (d, line, err);
    if (!*d->csv.name)
        return *line == '#' ? read_comment (d, line) : 0;
    if (scan_text (&line, "END_")) {
        if (strncmp (line, d->csv.name, sizeof (d->csv.name) - 1) != 0)
            return check_closed (d, err);
        if (d->csv.section && !d->csv.header)
            return import_fault (d, err, "section %s has no columns",
                                 d->csv.name);
        *d->csv.name = '\0';
        return 0;
    }
    if (!d->csv.section || !*line)
        return 0;
    return d->csv.header ? read_csv_row (d, line, err)
                         : read_header (d, line, err);
}

int import_csv_end (struct import *d, struct error *err)
{
    if (check_closed (d, err) < 0)
        return -1;
    for (size_t i = 0; i < COUNT (sections); i++)
        if (sections[i].needed && !(d->csv.seen >> i & 1))
            return import_fault (d, err, "the file has no section %s: it is "
                                         "cut, or ibdiagnet left it out",
                                 sections[i].name);
    return 0;
}

/*
 * net_dump_ext
 */

/* Columns are all before the description, which may contain anything in its
 * quotes.
 */
int import_ber (struct import *d, char *line, struct error *err)
{
    enum { IB, NODE, FIRST_BER, BERS = COUNTERS - COUNTERS_COUNTS,
           CELLS = FIRST_BER + BERS };
    static const char *const names[CELLS]
        = { "#IB", "GUID", "Raw BER", "Effective BER", "Symbol BER" };
    char *cell[CELLS] = { NULL }, *name, *end;
    bool header = strncmp (line, "Ty", 2) == 0;
    struct port_counters *c;
    uint64_t v[2];
    size_t n = 0;

    if (*line == '#' || !*line)
        return read_comment (d, line);
    if (header)
        memset (d->csv.slot, NO_SLOT, sizeof (d->csv.slot));
    for (; n < CSV_MAX_COLUMNS && (name = next_csv_field (&line, ':')); n++) {
        for (size_t i = 0; header && i < CELLS; i++)
            if (strcmp (name, names[i]) == 0)
                d->csv.slot[n] = i;
        if (d->csv.slot[n] < CELLS)
            cell[d->csv.slot[n]] = name;
    }
    for (size_t i = 0; i < CELLS; i++)
        if (!cell[i])
            return import_fault (d, err, "column %s is missing", names[i]);
    if (header) {
        d->csv.header = true;
        d->csv.ncolumns = n;
        return 0;
    }
    if (!d->csv.header || n < d->csv.ncolumns || !scan_text (&cell[NODE], "0x")
        || !scan_hex (&cell[NODE], UINT64_MAX, &v[0]) || *cell[NODE]
        || !scan_decimal (&cell[IB], UINT8_MAX, &v[1]) || *cell[IB])
        return import_fault (d, err, "this is not a port of a net_dump_ext");
    d->csv.bit = 1U << COUNT (sections);
    if (start_counters (d, v, &c, err) < 0)
        return -1;
    for (size_t i = FIRST_BER; c && i < CELLS; i++) {
        double ber = strtod (cell[i], &end);

        if (strcmp (cell[i], "N/A") == 0)
            continue;
        if (end == cell[i] || *end || !(ber >= 0 && ber <= 1))
            return import_fault (d, err, "\"%.40s\" is not a bit error rate",
                                 cell[i]);
        counter_take (c, COUNTERS_COUNTS + i - FIRST_BER, true,
                      ber / COUNTER_BER_UNIT + 0.5);
    }
    return 0;
}
