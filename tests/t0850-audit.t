#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Audits in a real Slurm, by a SlurmUser who is not root, over the emulated
# wire: healthy ones give a baseline, a cable that gets slow is found against
# it, also on a node that was drained for it. What is busy, hangs, is killed,
# full or damaged leaves one sentence, an audit with an end, and no job.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq srun salloc squeue scontrol cc script
pmm audit --help >/dev/null 2>&1 || skip_all "built without Slurm or the ledger"
id slurm &>/dev/null || skip_all "no user slurm"
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
make_seal
sed -E 's/^switch ([0-9a-f]*) .*/&\nadaptive \1 0001 0001/' fabric | # level 0
    ./seal >adaptive
mv adaptive fabric
with_cluster h0001,h0002,h0005,h0006,h0009,h0013 --slurm-user slurm

built_to "$workdir/bin" probe/pmm-probe pmm/pmm
mkdir state reports
chown slurm: state reports

# Its probe plays what ./act says before it measures. ./symbols is the counter
# of a port of h0005.
link=$(pmm path -f fabric --json h0005 h0001 | jq -r '.forward[0]')
cat >bin/probe <<END
#!/bin/bash
PATH=/usr/bin:/bin
cd "$workdir"
nonce=\$(grep -oE -e '--nonce [0-9a-f]+' <<<"\$*")
[[ \$SLURMD_NODENAME != h0005 ]] || echo "pmm-port 1 \${nonce#* } $link" \
    "4 5 4xHDR SymbolErrorCounter=\$(<symbols)" >&2
case \$(<act) in
slow) while [[ ! -e go ]]; do sleep 0.1; done ;;
hang) exec sleep 1000 ;;
exit) exit 7 ;;
steps) for ((i = 0; i < 6; i++)); do
        echo pmm-progress 3 9 >&2
        sleep 0.5
    done ;;
once) ! mkdir state/once 2>/dev/null || kill -KILL \$\$ ;;
killed) [[ \$SLURMD_NODENAME != h0006 ]] || kill -KILL \$\$ ;;
forge) [[ \$SLURMD_NODENAME != h0006 ]] || for who in '' '0: ' '1: ' '2: '; do
    echo "\${who}pmm-port 1 \${nonce#* } $link 4 5 4xHDR" \
        "SymbolErrorCounter=99999" >&2
    printf '%s' "\${who}pmm-wait 1 \${nonce#* } $link 99" >&2
    done ;;
die) kill -KILL \$\$ ;;
loud) while :; do echo "{ nonsense"; done ;;
esac
exec bin/pmm-probe "\$@"
END
chmod 755 bin/probe
act () { echo "$1" >act; }
act measure
echo 7 >symbols

conf ()
{
    cat <<END
Snapshot=$workdir/fabric
Ledger=$workdir/state/ledger
Baseline=$workdir/state/baseline.json
Signs=$workdir/state/signs
Reports=$workdir/reports
ReportsKept=3
Probe=$workdir/bin/probe
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=$1
END
}
conf $((40 * patience)) >conf

emu_up fabric

audit () { as_slurm "$workdir/bin/pmm" audit --conf "$workdir/conf" "$@"; }
# try OPTION...: an audit of all nodes: its exit status and what it says
try ()
{
    local out
    out=$(audit --nodes "$nodes" "$@" 2>&1)
    echo "$? $out"
}
ledger () { as_slurm "$workdir/bin/pmm" ledger "$1" -L state/ledger "${@:2}"; }
# Completing nodes count as idle for -t.
idle () { [[ $(sinfo -h -N -p main -o %t | grep -cx idle) == "$1" ]]; }
auditing () { squeue -h -t R -o %j | grep -q '^pmm-audit'; }
# The audits that have not ended.
begun ()
{
    ledger show --json | jq '[.audits[] | select(.ended == null)] | length'
}

out=$(audit --nodes "$nodes,stranger" --json 2>stderr)
is $? 0 "an audit of healthy cables"
is "$(<stderr)" "pmm audit: not in the snapshot, and left out: stranger" \
    "... of those that are in the snapshot"
is "$(jq -c '[.id, .status, .complete, .why, .job > 0, (.hosts | length),
    ([.hosts[].answered] | add), (.probes | length > 20)]' <<<"$out")" \
    '[1,"OK",1,"hand",true,6,6,true]' "... is in the ledger, with its samples"
is "$(jq -c '.counters[] | [.name, .value]' <<<"$out")" \
    '["SymbolErrorCounter",7]' "... and the counters of its ports"
like "$(jq -r '.limits[]' <<<"$out")" \
    'measured on service level 1: on 0, adaptive routing is on at [0-9]+ switches' \
    "... and on which service level they were taken, and why"
like "$(audit --nodes h0001,nobody 2>/dev/null)" \
    '^not audited: fewer than two nodes' "one node is none to audit"
audit --nodes "$nodes" >said 2>&1 && within 60 idle 6
ok $? "another one" || diag "$(cat said; sinfo -N)"
act steps
as_slurm TERM=xterm script -qec \
    "$workdir/bin/pmm audit --conf $workdir/conf --idle" /dev/null >shown
ok $? "... of the idle nodes, on a terminal"
like "$(<shown)" $'\rpmm audit: [0-9]+ s, step 3 of 9' "... shows its progress"
like "$(tail -n 1 shown)" $'\r +\raudit 3 \e\\[32mOK\e\\[0m ' "... until it has ended"
act measure
is "$(jq -r .kind state/baseline.json)" samples "... publish a baseline"
within 60 idle 6
out=$(audit --all --size 3)
is "$(cut -d' ' -f1-3 <<<"$out" | xargs)" "audit 4 OK audit 5 OK" \
    "all, in two audits"

act forge
within 60 idle 6
out=$(audit --nodes "$nodes" --json)
is "$? $(jq -c '[.status, .signs, (.counters[] | [.name, .value])]' \
    <<<"$out")" '0 ["OK",[],["SymbolErrorCounter",7]]' \
    "a node is not believed about another one's port"
act measure

# A slow cable

within 60 idle 6
emu slow h0005/1 +1000
echo 900 >symbols
out=$(audit --nodes "$nodes" --json)
is $? 1 "a cable gets slow: FAIL"
is "$(jq -c '[.findings[] | [.level, .basis, (.suspects | length)]]' \
    <<<"$out")" '[["FAIL","baseline",1]]' "... against the baseline"
is "$(jq -r '.findings[0].suspects[0].id' <<<"$out")" "$link" \
    "... it, and no other"
is "$(jq -c '.signs[] | [.link, .host, .kind]' <<<"$out")" \
    "[\"$link\",\"h0005\",\"counter\"]" "... and its errors are a sign"
as_slurm scontrol update nodename=h0005 state=drain \
    reason='pmm: host end h0005'
within 20 eval '[[ $(sinfo -h -N -p main -n h0005 -o %T) == drained ]]'
audit --nodes "$nodes" >said
is "$? $(cut -d' ' -f1-3 said)" "1 audit 8 FAIL" "drained, it is measured"
is "$(cd reports && echo *)" \
    "audit-6.html audit-7.html audit-8.html index.html" \
    "pages of the last audits, and an index"
like "$(grep -o '"status":"FAIL","sentence":"[^"]*' reports/audit-8.html)" \
    'host end h0005' "... which say what it is"
is "$(sinfo -h -N -p main -n h0005 -o '%T %E')" "drained pmm: host end h0005" \
    "... and stays so"
emu background h0007,h0005:1
emu background h0008,h0005:1
jq -c --arg link "$(pmm path -f fabric --json h0006 h0001 |
    jq -r '.forward[0]')" '{kind: "link-check", version: 1, fabric,
    time: (now | floor), findings: [{link: $link, sign: "width"}],
    waits: []}' < <(pmm fabric show -f fabric --json) >state/signs
out=$(audit --nodes "$nodes" --json)
is "$? $(jq -c '[.id, .status]' <<<"$out")" '3 [9,"UNKNOWN"]' \
    "... and does not FAIL while others flood its node"
is "$(jq -r '.findings[] | select(.level == "UNKNOWN") | .why' <<<"$out")" \
    "h0005 mlx5_0/1 carries others' traffic: received 100 % of what its link\
 carries" "... which is said"
is "$(jq -c '.signs[] | [.host, .kind]' <<<"$out")" '["h0006","width"]' \
    "a published sign of a link is one of the audit"
rm state/signs
emu background off
emu heal all
is "$(try --json | sed 's/^0 //' | jq -c '[.status, (.hosts | length)]')" \
    '["OK",6]' "... until the cable is repaired"
within 20 idle 5
like "$(audit --drained) $(audit --nodes h0005)" \
    '^audit 11 OK .* 6 nodes.* fewer than two nodes' "... with idle partners, not alone"
scontrol update nodename=h0005 state=resume
within 20 idle 6

# Others

srun -N1 -w h0006 --exclusive sleep 1000 2>/dev/null &
busy=$!
within 20 eval '[[ $(squeue -h -t R -o %N) == h0006 ]]'
like "$(try)" '^3 audit 12 UNKNOWN not measured: srun: error: Unable to alloc' \
    "a node is busy: it is not waited for"
within 20 idle 5
like "$(audit --idle)" '^audit 13 OK .* 5 nodes' "... the idle ones are audited"
kill $busy
wait $busy 2>/dev/null
within 20 idle 6

like "$(as_user "$workdir/bin/pmm" audit --conf "$workdir/conf" --idle 2>&1)" \
    '^pmm audit: .*ledger: ' "an ordinary user may not enter the ledger"
cp conf mine && chown "$test_user" mine
like "$(as_slurm bin/pmm audit --conf mine --idle 2>&1)" 'mine is not trusted' \
    "... nor say where it is"

# What goes wrong in an audit

act slow
try >first &
first=$!
within 20 auditing
is "$(try)" \
    "3 not audited: another audit or a round of the policy is running" \
    "two at once"
read -r pid _ <slurm/pid/slurmctld
kill "$pid"
within 20 gone "$pid"
printf '%s\n' PreemptType=preempt/partition_prio PreemptMode=requeue \
    >>slurm/etc/slurm.conf
"$srcdir/contrib/cluster/cluster" start slurm slurmctld
touch go
wait $first
like "$(<first)" '^0 audit 14 OK' "slurmctld is restarted in an audit"
within 30 idle 6
like "$(try)" '^3 not audited: jobs in partition audit would preempt those in' \
    "... with a configuration by which audits would preempt jobs"
scontrol update partitionname=audit prioritytier=1

act killed
like "$(try)" '^0 .*searching.*left out: h0006.*audit [0-9]+ OK .* 5 nodes' \
    "srun does not tell whose fault it is: halves do"
act once
within 20 idle 6
sed 's|state/ledger|state/other|' conf >conf.other
like "$(as_slurm bin/pmm audit --conf "$workdir/conf.other" --nodes "$nodes" 2>&1)
$(pmm ledger missed -L state/other --json | jq -c .faulty)" \
    'searching for the node.*not measured.*[{][}]$' \
    "what does not happen again is no node's fault"
act exit
within 20 idle 6
# srun ends the others once it hears of the first; those come in a second try,
# or never
like "$(try)" \
    '^3 .*audit [0-9]+ UNKNOWN not measured: (all of the nodes|node h.*): the pro' \
    "what befalls all nodes"
is "$(ledger missed --json | jq -c '.faulty | keys')" '["h0006"]' \
    "... is no node's fault"
conf 4 >conf
act hang
within 20 idle 6
like "$(try)" '^3 audit [0-9]+ UNKNOWN not measured: no result within 4 s$' \
    "an audit beyond its deadline, after a search within the hour"
within 20 idle 6
ok $? "... leaves no job"
conf $((40 * patience)) >conf

rm go
act slow
audit --nodes "$nodes" >/dev/null 2>&1 &
within 20 auditing
kill -KILL "$(pgrep -f -x "$workdir/bin/pmm .*")"
wait $! 2>/dev/null
is "$(begun)" 1 "pmm is killed in an audit"
within 20 idle 6
ok $? "... its job goes with it"
act measure
killed=$(ledger show --json | jq '.audits[0].id')
like "$(try)" '^0 audit [0-9]+ OK' "... the next is in order"
is "$(begun) $(ledger show "$killed" --json | jq -r .sentence)" \
    "0 its process was killed" "... and ends it"

# What keeps a node from being measured

in_the_way ()
{
    (cd "slurm/tmp/$1" && as_user mkdir -p "${@:2}")
}
if [[ $mpi == pmix ]]; then
    like "$(TZ=UTC as_slurm bin/pmm doctor --conf conf)" \
        'WARN +PMIxCliTmpDirBase: not set: any user can keep' \
        "doctor: Slurm's PMIx uses a directory that is all users'"
    in_the_way h0006 $(seq -f "spmix_appdir_$(id -u slurm)_%.0f.0" 2000)
    within 20 idle 6
    like "$(try)" \
        '^0 .*: task launch failed: .* left out: h0006.*audit [0-9]+ OK .* 5' \
        "a user's directories stop the task launch: on without that node"
    is "$(ledger show --json | jq -c '[.audits[:2][] | .status, .hosts]')" \
        '["OK",5,"UNKNOWN",6]' "... as another audit"
    is "$(ledger missed --json | jq -c '[.failed[] | select(.node == "h0006"
        and (.cause | startswith("task launch failed"))) | .audits],
        (.faulty | map_values([.faults, .until - .since]))' | xargs)" \
        '[1] {h0006:[1,600]}' "... and the ledger has whose fault it was"
    within 20 idle 6
    like "$(audit --idle 2>&1)" \
        'left out: h0006.*audit [0-9]+ OK .* 5 nodes' "... it is left out"
    like "$(as_slurm bin/pmm policy explain --conf conf h0006)" \
        'left out of audits for a while: task launch failed' "... explained"
    like "$(as_slurm bin/pmm doctor --conf conf)" \
        'WARN +audited nodes: 1 left out for a while, as h0006' \
        "... and doctored"
    within 20 idle 6
    try >/dev/null
    is "$(ledger missed --json | jq -c '.faulty.h0006
        | [.faults, .until - .since > 1200 - 1]')" '[2,true]' \
        "tried by hand it fails again, and is left out for twice as long"
    in_the_way h0005 $(seq -f "spmix_appdir_$(id -u slurm)_%.0f.0" 2000)
    within 20 idle 6
    like "$(try)" '^0 .*audit [0-9]+ OK .* 4 nodes' "two such nodes"
    rm -rf slurm/tmp/h000[56]/spmix_appdir_*
    within 20 idle 6
    like "$(try)" '^0 audit [0-9]+ OK .* 6 nodes' "they work again"
    is "$(ledger missed --json | jq -c .faulty)" '{}' "... and are in again"
else
    skip "what PMIx leaves to any user" "this Slurm has none"
fi

# The clock

if type -P faketime >/dev/null; then
    within 20 idle 6
    like "$(as_slurm faketime -f +2d bin/pmm audit --conf conf --idle 2>&1)" \
        '^audit [0-9]+ OK' "the clock is two days ahead"
    like "$(try)" '^0 audit [0-9]+ OK' "... and is set back"
    is "$(ledger show --json | jq -c '.audits[:2] | [.[0].id - .[1].id,
        .[0].begun < .[1].begun, map(.ended >= .begun)]')" \
        '[1,true,[true,true]]' \
        "... which numbers tell, not times"
else
    skip "the clock is set back" "not installed: faketime"
fi

# The ledger

if mount -t tmpfs -o size=600k,mode=755,uid="$(id -u slurm)" none state \
    2>/dev/null; then
    cleanup eval 'umount -l "$workdir/state" 2>/dev/null'
    like "$(try)" '^0 audit 1 OK' "a ledger on a small disk"
    dd if=/dev/zero of=state/full bs=1k 2>/dev/null
    like "$(try)" '^3 pmm audit: .*ledger: ' "... which is full"
    is "$(try | wc -l)$(squeue -h -t PD,R)" 1 "... is one sentence, and no job"
    rm state/full
    like "$(try)" '^0 audit 2 OK' "... and not full any more"
    umount "$workdir/state"
else
    skip "a ledger on a full disk" "cannot mount a file system"
fi
for file in state/ledger state/ledger-wal; do
    dd if=/dev/urandom of=$file bs=4096 seek=1 count=20 conv=notrunc 2>/dev/null
done
like "$(try)" '^3 pmm audit: .*ledger' "a damaged ledger"
is "$(try | wc -l)$(squeue -h -t PD,R)" 1 "... is one sentence, and no job"
as_slurm bin/pmm ledger salvage -L state/ledger state/new 2>/dev/null
mv state/new state/ledger
rm -f state/ledger-*
like "$(try)" '^0 audit [0-9]+ OK' "... and salvaged"

[[ ${PMM_LONG-} ]] || done_testing

conf 4 >conf
act die
like "$(try)" '^3 .*; searching for .* UNKNOWN not measured: .*: Killed$' \
    "its processes are killed, without any of its nodes, too"
act loud
like "$(try)" '^3 audit .* UNKNOWN not measured: ' "a record without an end"
conf 12 >conf
within 20 idle 6

rm -f go
act slow
try >first &
first=$!
task_runs ()
{
    task=$(pgrep -f "$workdir/bin/probe" | sed 's|.*|/proc/&/environ|' \
        | xargs grep -lsz '^SLURMD_NODENAME=h0013' | head -n 1 | tr -dc 0-9)
    [[ $task ]]
}
within 20 task_runs
read -r pid _ <slurm/pid/slurmd.h0013
kill -KILL "$pid" "$(ps -o ppid= "$task")" "$task"
touch go
wait $first
like "$(<first)" '^3 audit .* UNKNOWN .*' "slurmd is killed in an audit"
is "$(begun)" 0 "... which has an end"

done_testing
