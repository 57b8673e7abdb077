#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes of four rails over real verbs, in a virtual machine: four of them, each
# rail at another leaf, and one alone. A slow rail is found and named, and if it
# is slow in one direction, so by its node alone.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq
with_vm

pmm fabric generate fat-tree --ports 4 --levels 3 --rails 4 -o net
link=$(pmm path -f net --json h0003:3 h0001:3 | jq -r '.forward[0]')
cat >conf <<END
Snapshot=$PWD/net
Baseline=$PWD/baseline.json
NodeMap=$PWD/map
Transport=verbs
Repeats=5
RoundTrip=3000
WarnExcess=20000
FailExcess=30000
Timeout=100
END
cat >inside <<END
network net --latency random:100000:120000:7
begin well
finish
cp well/samples.json baseline.json
fabric slow $link +100000
begin slow
finish
hosts=(h0003)
begin alone
finish
fabric heal all
fabric slow $link +200000 forth
begin from
finish
fabric heal all
begin repaired
finish
END
in_vm 300 inside >out 2>err
is "$? $(<out)$(<err)" "0 " "four nodes of four rails over verbs"

# said NAME HOST: the record, without its nonce
said () { sed -n 's/^pmm-result 1 \([A-Z]*\) [0-9a-f]* /\1 /p' "$1/$2.out"; }
like "$(said well h0001)" '^OK 48 links .* 4 nodes' "all is well" \
    || diag "$(<well/h0001.err)"
is "$(jq '[.probes[] | .a, .b] | unique | length' well/samples.json) \
$(jq '[.probes[].lost] | add' well/samples.json)" "16 0" \
    "... all rails are measured, and nothing is lost"
is "$(jq '[.loopbacks[].end] | unique | length' well/samples.json)" 16 \
    "... and the loopback of each"
like "$(said slow h0001)" "^FAIL a cable is .* slow: h0003 mlx5_2/1's .*\
link=$link node=h0003 excess=\+" \
    "a slow rail is found, and named" || diag "$(<slow/h0001.err)"
like "$(said alone h0003)" "^FAIL .* slow: h0003 mlx5_2/1's, or .*\
link=$link or=[0-9]+ " "... by its node alone, too" \
    || diag "$(<alone/h0003.err)"
like "$(<from/h0003.err)" 'in messages from h0003:3, the mean of both' \
    "... and in which direction it is slow" || diag "$(<from/h0003.err)"
like "$(said repaired h0003)" '^OK .* 1 node' "... which finds it repaired" \
    || diag "$(<repaired/h0003.err)"

done_testing
