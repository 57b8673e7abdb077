#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole chain over real verbs: the demo in the virtual machine, where Slurm
# starts a job's check on 8 nodes by PMIx. Cables are slowed while it runs,
# host cables and switch cables (5 of each in the long run, 1 else), and checked
# by root and by an ordinary user: each is in the one finding, its suspects no
# more than the paths force, and where all is well nothing is found.

# shellcheck disable=SC2016,SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq ibsim opensm srun slurmctld slurmd slurmdbd mariadbd \
    munged
((EUID == 0)) || skip_all "a Slurm cluster needs root"
with_vm
export TMPDIR=$workdir/tmp
mkdir "$TMPDIR"

repeat=${PMM_LONG:+5}
repeat=${repeat:-1}
seed=${SEED:-$RANDOM}
diag "seed $seed"
began=$SECONDS
"$srcdir/contrib/demo" --verbs --seed "$seed" --repeat "$repeat" \
    --output "$workdir/out" >"$workdir/log" 2>&1
ok $? "every check was right" || diag "$(<"$workdir/log")"
diag "$((SECONDS - began)) s of wall time"
is "$(ls "$TMPDIR" 2>&1)" "" "nothing is left"
[[ -s $workdir/out/demo.json ]] || done_testing

# of FILTER: how many checks there are of this kind.
of ()
{
    jq "[.checks[] | select($1)] | length" "$workdir/out/demo.json"
}

cat >"$workdir/kinds.jq" <<'END'
($net[0].links | map({key: .id, value: .kind}) | from_entries) as $kind
| [.checks[] | select(.planted) | $kind[.planted]] | join(" ")
END
pmm fabric show -f "$workdir/out/fabric.pmm" --json >"$workdir/net"
kinds=$(jq -r --slurpfile net "$workdir/net" -f "$workdir/kinds.jq" \
    "$workdir/out/demo.json")
wanted=$(yes host switch | head -n "$repeat" | paste -sd' ')
is "$kinds" "$wanted" "cables were slowed, in turn: $kinds"
is "$(of '.planted and (.findings | map(.level)) == ["FAIL"]')" \
    $((2 * repeat)) "... each time there is one finding, a FAIL"
is "$(of '.planted as $p | $p and any(.findings[].suspects[]; . == $p)')" \
    $((2 * repeat)) "... with that cable"
is "$(of '.planted and (.findings[0].suspects | sort) == .alike')" \
    $((2 * repeat)) "... and those that no path can tell from it"
is "$(of '.planted == null and .status == "OK" and .findings == []')" \
    $((repeat + 1)) "before, between and after it all is well"
is "$(jq -r '[.checks[].user] | unique | join(" ")' "$workdir/out/demo.json")" \
    "nobody root" "checked by root and by an ordinary user"
is "$(jq '.nodes.answered | length' "$workdir"/out/*/samples.json \
    | sort -u)" 8 "... always on 8 nodes"

done_testing
