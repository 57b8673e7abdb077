/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which endpoint is whose: GUIDs, names, and the site's map. */
#include "config.h"
#include "probe/identify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/nodemap.h"
#include "ibquery/model/generate.h"
#include "ibquery/nodemap.h"
#include "tests/tap.h"

/* Two members with a rail each: the first is h0001, the second has the GUID
 * and LID of the host `guid` (NULL: of none; "by LID": the LID alone; "second":
 * it is its node's second port, and the first cannot be used).
 */
static const struct {
    const char *what;
    const char *name, *guid;
    bool ethernet; /* no LID */
    const char *map;
    const char *endpoint; /* NULL: it is absent, or an error */
    const char *said;     /* in the error, why, or the report */
} cases[] = {
    { "GUID and name agree", "h0003", "h0003", false, NULL, "h0003", "" },
    { "another name", "login", "h0003", false, NULL, "h0003",
      "the port of login with the GUID" },
    { "the name of another", "h0004", "h0003", false, NULL, "h0003",
      "the port of h0004 with the GUID" },
    { "an unknown GUID", "h0003", NULL, false, NULL, NULL,
      "snapshot is stale: h0003" },
    { "... with the LID of the name", "h0003", "h0003 by LID", false, NULL,
      "h0003", "1 port by the names of the nodes" },
    { "... with that of another", "h0004", "h0003 by LID", false, NULL, NULL,
      "snapshot is stale: h0004" },
    { "an unknown GUID on Ethernet", "h0003", NULL, true, NULL, "h0003",
      "1 port by the names of the nodes" },
    { "neither is known", "login", NULL, true, NULL, NULL,
      "login is not in the fabric snapshot" },
    { "a GUID twice", "h0003", "h0001", false, NULL, NULL,
      "h0003 and h0001 both are h0001" },
    { "the first port of another fabric", "h0003", "h0003 and another", false,
      NULL, "h0003", "not in the fabric snapshot, and not measured: 1 port:" },
    { "the map before all", "login", "h0004", false, "login h0003/1\n",
      "h0003", "" },
    { "... by GUID", "login", NULL, true, "login GUID\n", "h0003", "" },
    { "... for others only", "h0003", "h0003", false, "login h0004/1\n",
      "h0003", "" },
    { "the second port of two in the map", "login", "h0001 second", false,
      "login h0004/1\nlogin h0003/1\n", "h0003", "" },
    { "... where it has one", "login", "h0001 second", false,
      "login h0004/1\n", NULL, "login has more ports" },
    { "the second port of a node with one", "h0003", "h0003 second by LID",
      false, NULL, NULL, "snapshot is stale: h0003" },
    { "the map names nothing", "login", NULL, true, "login h0099/1\n", NULL,
      "NodeMap: h0099/1, of login, is not in" },
};

static struct transport_handle handle;

static const struct transport transport = { .name = "test" };

static const struct fabric_port *port_of (const struct fabric *f,
                                          const char *name)
{
    uint32_t i = fabric_find_endpoint (f, name);

    if (i == FABRIC_NONE)
        return NULL;
    return &f->port[f->endpoint[i].port];
}

static const char *put_map (const struct fabric *f, const char *text)
{
    static char path[64];
    FILE *fp;

    strcpy (path, "/tmp/pmm-identify.XXXXXX");
    fp = fdopen (mkstemp (path), "w");
    if (strstr (text, "GUID"))
        fprintf (fp, "login %016llx\n",
                 (unsigned long long)port_of (f, "h0003")->guid);
    else
        fputs (text, fp);
    fclose (fp);
    return path;
}

static struct roster *make_roster (const struct fabric *f, size_t i)
{
    static struct coord_blob blob[3];
    const char *name[3] = { "h0001", cases[i].name, "h0002" };
    const char *guid[3] = { "h0001", cases[i].guid, "h0002" };

    for (size_t k = 0; k < 3; k++) {
        bool another = guid[k] && strstr (guid[k], " and another");
        bool by_lid = guid[k] && strstr (guid[k], " by LID");
        char like[16] = "";
        const struct fabric_port *port;
        struct transport_address known = {
            .guid = 12345,
            .lid = 77,
        };

        if (guid[k])
            sscanf (guid[k], "%15s", like);
        if ((port = port_of (f, like))) {
            known.guid = by_lid ? known.guid : port->guid;
            known.lid = port->lid;
        }
        if (k == 1 && cases[i].ethernet)
            known.lid = 0;
        handle.rails = another ? 2 : 1;
        handle.address[0]
            = (struct transport_address){ .guid = 999, .lid = 99 };
        handle.address[handle.rails - 1] = known;
        handle.address[0].number = guid[k] && strstr (guid[k], " second");
        blob[k].len = roster_pack (blob[k].data, name[k], k, &handle,
                                   NULL);
    }
    return roster_create (blob, 3, &transport, NULL);
}

/* The node of each endpoint: by the map, or as the fabric calls it. */
static void test_nodes (const struct fabric *f)
{
    const char *path = put_map (f, "login h0003/1\ngone h0099/1\n");
    struct nodemap *map = nodemap_load (path, NULL);
    const char **node = nodemap_nodes (map, f);
    size_t same = 0;

    ok (!strcmp (node[fabric_find_endpoint (f, "h0003")], "login"),
        "an endpoint's node is the map's");
    free (node);
    node = nodemap_nodes (NULL, f);
    for (uint32_t i = 0; i < f->nendpoints; i++)
        same += !strcmp (node[i], f->endpoint[i].name);
    ok (same == f->nendpoints, "without a map all are called as in the fabric");
    free (node);
    nodemap_destroy (map);
    unlink (path);
}

/* Two nodes of a fabric of LMC 2, whose ports have another one: the LIDs that
 * both know of.
 */
static void test_lids (void)
{
    static const char *const name[] = { "h0001", "h0002" };
    struct fat_tree tree = { .ports = 4, .levels = 2, .how.lmc = 2 };
    struct fabric *f = generate_fat_tree (&tree, NULL);

    for (uint8_t lmc = 0; lmc <= 3; lmc++) {
        size_t each = (size_t)1 << (lmc < 2 ? lmc : 2);
        struct coord_blob blob[2];
        struct identity id;
        struct roster *r;
        int rc;

        handle.rails = 1;
        for (size_t k = 0; k < 2; k++) {
            const struct fabric_port *port = port_of (f, name[k]);

            handle.address[0] = (struct transport_address){
                .guid = port->guid, .lid = port->lid, .lmc = lmc,
            };
            blob[k].len = roster_pack (blob[k].data, name[k], k, &handle,
                                       NULL);
        }
        r = roster_create (blob, 2, &transport, NULL);
        rc = identify (&id, r, f, "", NULL, NULL);
        ok (rc == 0 && id.n == 2 * each
                && id.lid[each - 1] == each - 1
                && id.peer[each - 1] == 0 && id.peer[each] == 1
                && !strcmp (id.name[each], "h0002")
                && (each < 4 || !strcmp (id.name[3], "h0001~3")),
            "ports of LMC %u: %zu ends", lmc, id.n);
        identity_clear (&id);
        roster_destroy (r);
    }
    fabric_destroy (f);
}

static uint64_t subnet_of (const struct transport_address *a)
{
    return a->len > 0 ? 0xfe80000000000000 + a->data[0] : 0;
}

/* Three nodes with a port in each of two subnets, and one in a third, of which
 * there is no snapshot. `wrong` is the subnet of the last node's second port.
 */
static void test_subnets (const struct fabric *f, uint8_t wrong)
{
    static const char *const name[] = { "h0001", "h0002", "h0003" };
    const struct transport t = { .name = "test", .subnet = subnet_of };
    struct coord_blob blob[3];
    struct error err = { .text = "" };
    struct identity id;
    struct roster *r;
    char *said = NULL;
    size_t size, right = 0;
    FILE *report = open_memstream (&said, &size);
    int rc;

    for (size_t k = 0; k < 3; k++) {
        uint32_t host = fabric_find_host (f, name[k]);

        handle = (struct transport_handle){ .rails = 3 };
        for (uint32_t i = 0; i < 2; i++) {
            const struct fabric_port *port
                = &f->port[f->endpoint[f->host[host].first + i].port];

            handle.address[i] = (struct transport_address){
                .guid = port->guid, .lid = port->lid, .number = i, .len = 1,
                .data = { k == 2 && i == 1 ? wrong : port->subnet + 1 },
            };
        }
        handle.address[2] = (struct transport_address){
            .guid = 7, .lid = 1, .number = 2, .len = 1, .data = { 9 },
        };
        blob[k].len = roster_pack (blob[k].data, name[k], k, &handle, NULL);
    }
    r = roster_create (blob, 3, &t, NULL);
    rc = identify (&id, r, f, "", report, &err);
    fclose (report);
    for (size_t i = 0; i < id.n; i++)
        right += !strncmp (id.name[i], name[i / 2], 5) && id.peer[i] % 3 < 2;
    if (wrong == 2)
        ok (rc == 0 && id.n == 6 && right == 6 && !*said,
            "ports of two subnets, and of one without a snapshot%s", said);
    else
        ok (rc < 0 && strstr (err.text, "stale: h0003"), "%s", err.text);
    free (said);
    identity_clear (&id);
    roster_destroy (r);
}

/* Two nodes of the fabric, and one that has no port. */
static void test_foreign (const struct fabric *f, const char *name, bool foreign)
{
    static const char *const known[] = { "h0001", "h0002" };
    const struct transport t = { .name = "test" };
    struct coord_blob blob[3];
    struct error err = { .text = "" };
    struct identity id;
    struct roster *r;

    for (size_t k = 0; k < 2; k++) {
        uint32_t host = fabric_find_host (f, known[k]);
        const struct fabric_port *port
            = &f->port[f->endpoint[f->host[host].first].port];

        handle = (struct transport_handle){ .rails = 1, .address[0] = {
            .guid = port->guid, .lid = port->lid,
        } };
        blob[k].len = roster_pack (blob[k].data, known[k], k, &handle, NULL);
    }
    blob[2].len = roster_pack (blob[2].data, name, 2, NULL, "no RDMA device");
    r = roster_create (blob, 3, &t, NULL);
    ok (identify (&id, r, f, "", NULL, &err) == 0 && id.n == 2 && id.why[2]
            && id.foreign[2] == foreign && !id.foreign[0],
        "%s has no port: %s", name,
        foreign ? "a node without InfiniBand" : "the snapshot has one");
    identity_clear (&id);
    roster_destroy (r);
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, NULL);

    struct fat_tree a = { .ports = 4, .levels = 2, .how.subnet = 1 };
    struct fat_tree b = { .ports = 4, .levels = 2, .how.subnet = 2 };
    struct fabric *part[] = { generate_fat_tree (&a, NULL),
                              generate_fat_tree (&b, NULL) };
    static const char *const files[] = { "a", "b" };
    struct fabric *both = fabric_join (part, files, 2, NULL);

    test_subnets (both, 2);
    test_subnets (both, 1);
    fabric_destroy (both);
    fabric_destroy (part[0]);
    fabric_destroy (part[1]);
    test_nodes (f);
    test_foreign (f, "eth01", true);
    test_foreign (f, "h0003", false);
    test_lids ();
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct roster *r = make_roster (f, i);
        const char *map = cases[i].map ? put_map (f, cases[i].map) : "";
        struct error err = { .text = "" };
        struct identity id;
        char *said = NULL;
        size_t size;
        FILE *report = open_memstream (&said, &size);
        int rc = identify (&id, r, f, map, report, &err);

        fclose (report);
        said[strcspn (said, "\n")] = '\0';
        if (cases[i].endpoint)
            ok (rc == 0 && id.n == 3
                    && !strcmp (id.name[1], cases[i].endpoint)
                    && !id.why[1] && strstr (said, cases[i].said)
                    && !*said == !cases[i].said[0],
                "%s: %s", cases[i].what, said);
        else
            ok ((rc < 0 && strstr (err.text, cases[i].said))
                    || (rc == 0 && id.why[1] && id.n == 2
                        && strstr (id.why[1], cases[i].said)),
                "%s: %s", cases[i].what, rc < 0 ? err.text : id.why[1]);
        free (said);
        identity_clear (&id);
        unlink (map);
        roster_destroy (r);
    }
    fabric_destroy (f);
    return done_testing ();
}
