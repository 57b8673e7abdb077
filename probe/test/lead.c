/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom the leader measures: the roster against the snapshot. */
#include "config.h"
#include "probe/lead.h"

#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

enum { APART = 0x8000 };

static struct transport_handle handle = { .rails = 1 };

/* One whose LID has the highest bit is in another partition. */
static int agree (const struct transport_address *a,
                  const struct transport_address *b, struct error *err)
{
    if ((a->lid ^ b->lid) & APART)
        return error_world (err, "mlx5_0/1: another partition");
    return 0;
}

static const struct transport transport = {
    .name = "test",
    .agree = agree,
};

static const struct {
    const char *host;
    int guid, lid; /* off by */
    const char *why; /* why it has no transport */
} ranks[][3] = {
    { { "h0001", 0, 0, NULL }, { "h0002", 1, 1, NULL },
      { "h0003", 0, 0, NULL } },
    { { "h0001", 0, 0, NULL }, { "h0002", 0, 0, NULL },
      { "h0003", 0, 7, NULL } },
    { { "h0001", 0, 0, NULL }, { "h0099", 0, 0, NULL },
      { "h0003", 0, 0, "h0003 is not in the fabric" } },
    { { "h0001", 0, 0, NULL }, { "h0003", 0, 0, "no device" },
      { "h0004", 0, 0, "no device" } },
    { { "h0001", 0, 0, NULL }, { "h0003", 0, APART, NULL },
      { "h0004", 0, 0, "no device" } },
    { { "h0001", 0, 0, NULL }, { "bad host", 0, 0, NULL },
      { "h0004", 0, 0, "no device" } },
};

static const char *const sentences[] = {
    "stale: h0002",
    "stale: h0003",
    "h0099 is not in the fabric snapshot",
    "h0003: no device",
    "h0003: mlx5_0/1: another partition",
    "rank 1: sent an invalid answer",
};

static uint64_t subnet_of (const struct transport_address *a)
{
    return a->data[0];
}

static int agree_within (const struct transport_address *a,
                         const struct transport_address *b, struct error *err)
{
    if (a->subnet != b->subnet)
        return error_world (err, "in another subnet");
    return agree (a, b, err);
}

/* The subnets of two ranks' rails, "2x" in another partition of 2, and why the
 * second one is no member.
 */
static const struct {
    const char *rails[2];
    const char *why;
} subnets[] = {
    { { "12", "12" }, "" },
    { { "12", "21" }, "" },
    { { "1", "21" }, "" },
    { { "12", "2" }, "" },
    { { "12", "31" }, "" },
    { { "1", "2" }, "in another subnet" },
    { { "12", "34" }, "in another subnet" },
    { { "12", "12x" }, "mlx5_0/1: another partition" },
    { { "21", "12x" }, "mlx5_0/1: another partition" },
};

static void test_subnets (void)
{
    static const struct transport t = { .name = "test", .subnet = subnet_of,
                                        .agree = agree_within };
    static struct coord_blob blob[2];

    for (size_t i = 0; i < sizeof (subnets) / sizeof (subnets[0]); i++) {
        struct transport_handle h = { .rails = 0 };
        struct roster *r;

        for (int k = 0; k < 2; k++) {
            h.rails = 0;
            for (const char *s = subnets[i].rails[k]; *s; s++)
                if (*s == 'x')
                    h.address[h.rails - 1].lid = APART;
                else
                    h.address[h.rails++] = (struct transport_address){
                        .guid = 1, .len = 1, .data = { (uint8_t)(*s - '0') },
                    };
            blob[k].len = roster_pack (blob[k].data, k ? "h0002" : "h0001", 1,
                                       &h, NULL);
        }
        r = roster_create (blob, 2, &t, NULL);
        ok (r->nmembers == 1 + !subnets[i].why[0]
                && !strcmp (r->rank[1].why, subnets[i].why),
            "rails in %s, the first node's in %s: %s", subnets[i].rails[1],
            subnets[i].rails[0], r->rank[1].why);
        roster_destroy (r);
    }
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, NULL);
    struct step step = { .fabric = f, .site = { .node_map = (char *)"" } };
    struct lead_options opts = { .nonce = "ab" };
    static struct coord_blob blob[3];

    test_subnets ();
    for (size_t i = 0; i < sizeof (ranks) / sizeof (ranks[0]); i++) {
        struct lead_result result;
        struct error err = { .text = "" };
        int rc;

        for (size_t k = 0; k < 3; k++) {
            uint32_t host = fabric_find_host (f, ranks[i][k].host);
            const char *why = ranks[i][k].why;
            const struct fabric_port *port
                = &f->port[f->endpoint[host == FABRIC_NONE
                                           ? 0
                                           : f->host[host].first]
                               .port];

            handle.address[0].guid = host == FABRIC_NONE
                               ? 0
                               : port->guid + (uint64_t)ranks[i][k].guid;
            handle.address[0].lid = (uint16_t)(port->lid + ranks[i][k].lid);
            blob[k].len = roster_pack (blob[k].data, ranks[i][k].host, k,
                                       why ? NULL : &handle, why);
        }
        step.roster = roster_create (blob, 3, &transport, NULL);
        rc = lead (&step, &opts, stderr, &result, &err);
        ok (rc < 0 && strstr (err.text, sentences[i])
                && result.status == VERDICT_UNKNOWN,
            "%s", err.text);
        lead_result_clear (&result);
        roster_destroy (step.roster);
    }
    fabric_destroy (f);
    return done_testing ();
}
