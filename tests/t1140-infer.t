#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The topology is inferred from latencies alone, by the sizes that people know;
# a snapshot stands against it, and one that is wrong does not, by names; what
# was found is drawn, read again, and measured again by the pairs of a plan.

. "$(dirname "$0")/lib.sh"
need pmm jq awk
workdir
cd "$workdir" || exit 1
seed=${SEED:-$RANDOM}
diag "seed $seed"

# matrix SAMPLES: the one-way latencies of the pairs, as a plain matrix
matrix ()
{
    jq -r '.probes[] | "\(.a) \(.b) \(.rtt_ns.median / 2)"' "$1" | awk '
        { d[$1, $2] += $3; n[$1, $2]++; d[$2, $1] += $3; n[$2, $1]++
          if (!($1 in seen)) { seen[$1]; name[count++] = $1 }
          if (!($2 in seen)) { seen[$2]; name[count++] = $2 } }
        END { for (i = 0; i < count; i++) {
                  printf "%s", name[i]
                  for (j = 0; j < count; j++) {
                      a = name[i]; b = name[j]
                      printf " %s", i == j ? 0 : n[a, b] ? d[a, b] / n[a, b] \
                                                        : "-" }
                  print "" } }'
}

# measured FABRIC OPTION...: all pairs of its hosts, to the file latencies
measured ()
{
    pmm-compare plan one-factor -f "$1" -o plan \
        && pmm simulate -f "$1" --plan plan --seed "$seed" "${@:2}" -o samples \
        && matrix samples >latencies
}

# Four hosts of which two are far from each other
cat >four <<'END'
A 0 3 3 3
B 3 0 3 6
C 3 3 0 3
D 3 6 3 0
END
is "$(pmm-compare infer --basic --format tgf four | sed '1,/#/d' | tr '\n' ';')" \
    '1 2 l: 3;1 3 l: 3;1 4 l: 3;2 3 l: 3;3 4 l: 3;' "four hosts, five edges"
is "$(pmm-compare infer --basic --format tgf --unit us four | sed -n '/ l: /p' | head -n 1)" \
    '1 2 l: 3000' "... of latencies in microseconds"

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric \
    && measured fabric --noise 10
ok $? "all pairs of 32 hosts, measured with noise"
pmm-compare infer latencies -o text
ok $? "a topology is inferred"
is "$(head -n 1 text)" "32 nodes, 9 switches" \
    "eight switches and what they are joined by"
is "$(grep '^switch' text | grep -c 'h\[[0-9]*-[0-9]*\]$')" 8 \
    "each with four hosts next to each other"
like "$(tail -n 1 text)" '^496 pairs measured, 40 edges of rank 40, 456 degrees of freedom: [0-9.]+ ns are left, R\^2 0\.9' \
    "how well it fits is said"
is "$(pmm-compare infer latencies --json | jq -c '[.kind, (.nodes | length),
    .switches, (.edges | length), .fit.dof, .fit.r2 > 0.99,
    ([.edges[] | select (.a | startswith ("h")) | .latency_ns]
        | add / length | . > 390 and . < 410)]')" \
    '["topology",32,9,40,456,true,true]' "and in JSON, host ends of 400 ns"

pmm-compare infer latencies --against fabric >same
ok $? "the fabric stands against it"
is "$(<same)" "32 hosts on 8 switches compared, 28 ways between these as in the snapshot" \
    "nothing else is said"

# the cables of two hosts are exchanged
sed 's/^h0001 /x /; s/^h0005 /h0001 /; s/^x /h0005 /' latencies >exchanged
pmm-compare infer exchanged --against fabric >differ
is $? 1 "after two cables were exchanged, it does not"
grep -qx 'h0001: on s1-0001 in the snapshot, with the hosts of s1-0002 by latency' differ \
    && grep -qx 'h0005: on s1-0002 in the snapshot, with the hosts of s1-0001 by latency' differ
ok $? "and it says which" || diag "$(<differ)"
is "$(pmm-compare infer exchanged --against fabric --json | jq -c \
    '[.kind, .agrees, .hosts[0].hosts, .hosts[0].latency]')" \
    '["against",false,["h0001"],"s1-0002"]' "in JSON as well"

# A graph of it, and a plan: few pairs determine it again
pmm-compare infer latencies --format tgf -o graph.tgf --plan again
ok $? "a graph and a plan"
is "$(jq -c '[.links, .rank, ([.rounds[][]] | length < 100)]' again)" \
    '[40,40,true]' "less than 100 of 496 pairs determine its 40 edges"
jq -r '.rounds[][] | "\(.a) \(.b)"' again | awk '
    NR == FNR { asked[$1, $2]; asked[$2, $1]; next }
    FNR == 1 { n = 0 }
    { name[n++] = $1; line[$1] = $0 }
    END { for (i = 0; i < n; i++) { split (line[name[i]], v)
              printf "%s", name[i]
              for (j = 0; j < n; j++)
                  printf " %s", (name[i], name[j]) in asked ? v[j + 2] : "-"
              print "" } }' - latencies >few
pmm-compare infer --graph graph.tgf few --json | jq -e '.fit.rank == 40
    and .fit.pairs < 100 and .fit.r2 > 0.9' >said
ok $? "fitted to these pairs alone, all of them"
pmm-compare infer --graph graph.tgf latencies --format tgf | diff - graph.tgf >said
ok $? "the graph is read as it was written" || diag "$(<said)"
pmm-compare infer latencies --throughput flows >said
is "$(jq -c '[.method, .links, ([.rounds[] | length] | max)]' flows)" \
    '["throughput",40,16]' "flows for all edges, sixteen at a time"
if type -P dot >/dev/null; then
    pmm-compare infer latencies --format dot | dot -Tsvg >drawing
    ok $? "Graphviz draws it"
else
    skip "Graphviz draws it" "there is no dot"
fi

# Eight hosts on a switch, of which each has measured the next one alone
for ((i = 1; i <= 8; i++)); do
    printf 'h%d' $i
    for ((j = 1; j <= 8; j++)); do
        case $(((i - j + 8) % 8)) in
            0) printf ' 0' ;;
            1 | 7) printf ' 2' ;;
            *) printf ' -' ;;
        esac
    done
    echo
done >ring
{
    printf '%d h%d\n' 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8
    echo '9 switch'
    echo '#'
    seq -f '%g 9 l: 1' 8
} >star
is "$(pmm-compare infer --graph star ring | grep -c 'not determined') $(
    pmm-compare infer --graph star ring | grep -o '8 edges of rank 7')" \
    "8 8 edges of rank 7" "around a ring of eight, no spoke is determined"

# Two sockets of a host, and one other host that its cores have measured
cat >cores <<'END'
h1:0    0  200  600  600 5000
h1:1  200    0  600  600 5000
h1:2  600  600    0  200 5400
h1:3  600  600  200    0 5400
h2   5000 5000 5400 5400    0
END
cat >hosts <<'END'
h1    0 5000 5000
h2 5000    0 5000
h3 5000 5000    0
END
pmm-compare infer hosts --cores h1=cores -o joined
ok $? "what is inside of a host is joined"
is "$(head -n 1 joined)" "6 nodes, 3 switches" \
    "two sockets, of which one has the way out"

# Cables differ by up to 20 ns, switches by 150: whatever the noise, it is the
# topology of cables that are alike, from all pairs and from a solution
pmm fabric generate irregular --switches 16 --hosts 48 --routing minhop \
    -o fabric && measured fabric \
    && pmm-compare infer latencies --against fabric >alike
ok $? "cables that are alike"
pmm plan -f fabric -o few
for noise in 0 0.3 1 3 10; do
    measured fabric --spread 20 --noise $noise
    is "$(pmm-compare infer latencies --against fabric 2>&1)" "$(<alike)" \
        "cables that are not, noise of $noise ns"
    pmm simulate -f fabric --plan few --seed "$seed" --spread 20 \
        --noise $noise -o samples
    pmm solve -f fabric --plan few --samples samples --pairs -o solution
    is "$(pmm-compare infer solution --against fabric 2>&1)" "$(<alike)" \
        "... pairs of a solution"
done

# Wrong input
pmm-compare infer latencies --format png 2>said
is $? 2 "no such format"
echo 'a 0 x' >bad
pmm-compare infer bad 2>said
is "$? $(grep -c 'bad:1' said)" "2 1" "an error names file and line"
pmm-compare infer hosts --cores h4=cores 2>said
is "$? $(<said)" "2 pmm-compare infer: --cores h4=cores: no such node" \
    "cores of nobody"

done_testing
