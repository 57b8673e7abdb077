#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The checks of the demo by each routing engine (with 20 seeds in the long run), as
# t0895 has them for ftree and one seed. What this test alone shows: that they are
# right whatever routes the fabric and whichever cables are chosen, also the second
# time (by ftree), as root and as an ordinary user. Nothing stays behind.

. "$(dirname "$0")/lib.sh"
need jq srun slurmctld slurmd slurmdbd mariadbd munged ibsim opensm
[ "$(id -u)" = 0 ] || skip_all "not root"
workdir

export PMM_TMPDIR=$workdir/tmp
mkdir "$PMM_TMPDIR"
seeds=4
[ -z "${PMM_LONG-}" ] || seeds=20
routings=(ftree minhop dfsssp updn)

for i in $(seq $seeds); do
    routing=${routings[i % 4]}
    repeat=$((i % 4 == 0 ? 2 : 1))
    "$srcdir/contrib/demo" --parts checks --seed "$i" --routing "$routing" \
        --repeat $repeat --output "$workdir/demo" >"$workdir/demo.log" 2>&1
    rc=$?
    ok $rc "seed $i, $routing: every check was right"
    [ $rc = 0 ] || diag "$(cat "$workdir/demo.log")"
    is "$(jq '[.checks[] | select (.planted == null)] | length' \
        "$workdir/demo/demo.json")" $((repeat + 1)) "... with healthy fabrics"
    is "$(jq '[.checks[] | select (.planted)] | length' \
        "$workdir/demo/demo.json")" $((2 * repeat)) "... with slow cables"
    is "$(jq '[.checks[] | select ((.planted == null) !=
        (.findings == []))] | length' "$workdir/demo/demo.json")" 0 \
        "... a finding where there is a fault, and nowhere else"
    is "$(ls "$PMM_TMPDIR")" "" "... and no directory is left"
done

done_testing
