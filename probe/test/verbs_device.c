/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a device without having one: its clock, and ways from it.
 */
#include "config.h"
#include "probe/verbs_device.h"

#include <string.h>

#include "tests/tap.h"

static void test_clock (void)
{
    struct verbs_device d = {
        .clock_khz = 156250,
        .clock_mask = (UINT64_C (1) << 48) - 1,
        .clock_base = (UINT64_C (1) << 48) - 156250,
    };
    struct verbs_device none = { .clock_khz = 0 };
    int64_t now;

    ok (verbs_device_stamp_ns (&d, d.clock_base) == 0,
        "stamps begin with the device's opening");
    ok (verbs_device_stamp_ns (&d, d.clock_mask) == 999993,
        "the last one before the clock begins anew, ...");
    ok (verbs_device_stamp_ns (&d, 0) == 1000000, "... and the next");
    ok (verbs_device_stamp_ns (&d, 156250) == 2000000, "... a ms later");
    now = verbs_device_now_ns (&none);
    ok (now > 0 && verbs_device_now_ns (&none) >= now,
        "without a clock of its own the machine's counts");
}

static void test_route (void)
{
    static const uint8_t gid[VERBS_GID] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
    struct verbs_device d = {
        .port = 2,
        .gid_index = 3,
        .traffic_class = 96,
    };
    struct verbs_address to = { .lid = 17 };
    struct transport_way way = { 0, 0, 0 };
    struct ibv_ah_attr attr;

    memcpy (to.gid, gid, VERBS_GID);
    verbs_device_route (&d, &to, way, 5, &attr);
    ok (!attr.is_global && attr.dlid == 17 && attr.sl == 5
            && attr.port_num == 2,
        "over InfiniBand by LID and service level");
    to.lid = 20;
    way = (struct transport_way){ .own = 1, .other = 3 };
    verbs_device_route (&d, &to, way, 5, &attr);
    ok (attr.dlid == 23 && attr.src_path_bits == 1,
        "... by another of its LIDs, from another of ours");
    to.lid = 17;
    way = (struct transport_way){ 0, 0, 0 };
    to.global = true;
    verbs_device_route (&d, &to, way, 5, &attr);
    ok (attr.is_global && attr.dlid == 17
            && !memcmp (attr.grh.dgid.raw, gid, VERBS_GID),
        "... and by GID, too, to a port that needs it");
    to.global = false;
    d.at.ethernet = d.at.global = true;
    verbs_device_route (&d, &to, way, 5, &attr);
    ok (attr.is_global && !memcmp (attr.grh.dgid.raw, gid, VERBS_GID)
            && attr.grh.sgid_index == 3 && attr.grh.traffic_class == 96
            && attr.grh.hop_limit > 1,
        "over Ethernet by GID and traffic class");
}

static const struct {
    const char *wanted, *why;
} lists[] = {
    { "no-such-device", "no RDMA device" },
    { "mlx5_0/0", "'mlx5_0/0' is not DEVICE or DEVICE/PORT" },
    { "mlx5_0/256", "'mlx5_0/256' is not DEVICE" },
    { "mlx5_0/1/1", "'mlx5_0/1/1' is not DEVICE" },
    { "/1", "'/1' is not DEVICE" },
    { ", ,", "is an empty list" },
    { "a,b,c,d,e", "more than 4 ports" },
    { "mlx5_[0-4]", "more than 4 " },
    { "mlx5_[0-2", "option Device: brackets do not match" },
    { "mlx5_[a-b]", "option Device: bad range in brackets" },
};

/* A pattern chooses rails. */
static void test_pattern (void)
{
    struct verbs_port_name name[4];
    size_t n = verbs_find_ports ("mlx5_[0,2-3]/1, mlx4_0", name, 4, NULL);

    ok (n == 4 && !strcmp (name[0].device, "mlx5_0") && name[0].port == 1
            && !strcmp (name[2].device, "mlx5_3") && name[2].port == 1
            && !strcmp (name[3].device, "mlx4_0") && name[3].port == 0,
        "mlx5_[0,2-3]/1, mlx4_0 are four ports");
}

/* Whether there is a device or not. */
static void test_lists (void)
{
    for (size_t i = 0; i < sizeof (lists) / sizeof (lists[0]); i++) {
        struct verbs_port_name name[4];
        struct error err = { .text = "" };
        struct verbs_device d;
        struct site site = { .gid_index = (char *)SITE_AUTO,
                             .pkey = (char *)"" };
        size_t n = verbs_find_ports (lists[i].wanted, name, 4, &err);

        if (n > 0) {
            verbs_device_open (&d, &name[0], &site, &err);
            verbs_device_close (&d);
        }
        ok (strstr (err.text, lists[i].why) != NULL, "Device = %s: %s",
            lists[i].wanted, err.text);
    }
}

int main (void)
{
    test_clock ();
    test_route ();
    test_pattern ();
    test_lists ();
    return done_testing ();
}
