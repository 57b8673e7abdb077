#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The demo by each routing engine (with 20 seeds in the long run), as root and as
# an ordinary user: healthy, no finding; each planted cable in the one finding,
# its suspects no more than the paths force. Nothing stays behind.

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
    "$srcdir/contrib/demo" --parts checks --seed "$i" --routing "$routing" \
        --output "$workdir/demo" >"$workdir/demo.log" 2>&1
    rc=$?
    ok $rc "seed $i, $routing: every check was right"
    [ $rc = 0 ] || diag "$(cat "$workdir/demo.log")"
    is "$(jq '[.checks[] | select (.planted == null)] | length' \
        "$workdir/demo/demo.json")" 3 "... 3 of a healthy fabric"
    is "$(jq '[.checks[] | select (.planted)] | length' \
        "$workdir/demo/demo.json")" 4 "... 4 with a slow cable"
    is "$(jq '[.checks[] | select ((.planted == null) !=
        (.findings == []))] | length' "$workdir/demo/demo.json")" 0 \
        "... a finding where there is a fault, and nowhere else"
    is "$(ls "$PMM_TMPDIR")" "" "... and no directory is left"
done

done_testing
