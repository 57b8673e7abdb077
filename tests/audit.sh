# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sourced by tests of pmm audit, after lib.sh: a Slurm of six nodes, whose
# SlurmUser is not root, over an emulated wire; a probe that does what it is told
# before it measures.

# shellcheck disable=SC2034,SC2154
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
unmet) [[ -e state/unmet ]] || echo "\$nonce" >state/unmet
    if [[ \$(<state/unmet) == "\$nonce" ]]; then
        sleep $((patience + 1))
        echo "pmm-result 1 UNKNOWN \${nonce#* } nobody came"
        exit
    fi ;;
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
    out=$(audit --hosts "$nodes" "$@" 2>&1)
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
