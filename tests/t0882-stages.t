#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A site's first day on a clean root: pmm doctor says what is next, the
# administrator does it, and so on, from nothing installed to the first verdict
# and to audits. Then what compute nodes have, and what they lack.
#
# shellcheck disable=SC2317

. "$(dirname "$0")/lib.sh"
need make pmm-emu jq
id slurm &>/dev/null || skip_all "no user slurm"
clean_root
cd "$workdir" || exit
pmm=$(type -P pmm)
conf=$(strings "$pmm" | grep -om1 '/.*/slurm-pmm/pmm[.]conf$')
etc=${conf%/*}
rm -rf "$etc" /etc/slurm /var/{lib,spool}/slurm-pm*
rm -f "$(strings "$pmm" | grep -om1 '/.*/pmm-probe$')" \
    "$(strings "$pmm" | grep -om1 '/.*/spank_pmm[.]so$')"
mkdir -p "${etc%/*}" shared

# next_is REGEX NAME [OPTION]...: what the doctor's last line says.
next_is ()
{
    local regex=$1 name=$2
    shift 2
    said=$(pmm doctor "$@" 2>&1)
    [[ ${said##*$'\n'} =~ ^next:\ $regex ]]
    ok $? "next: $name" || diag "$said"
}

# A site with its Slurm.
echo '# a plugin of the site' >plugstack
echo MessageTimeout=100 >slurm.conf
with_cluster 4 --slurm-user slurm --plugstack "$PWD/plugstack" \
    --conf "$PWD/slurm.conf"
sed -i '/^PartitionName=audit/d' "$SLURM_CONF"
restart ()
{
    local pid
    read -r pid _ <"$workdir/slurm/pid/slurmctld"
    kill "$pid"
    within 20 gone "$pid"
    "$srcdir/contrib/cluster/cluster" start "$workdir/slurm" slurmctld
    within 60 all_idle
}
# Neither planned for a job, nor silent: doctor asks no others.
all_idle () { [[ $(sinfo -hN -p main -o %T | uniq -c) =~ ^\ *4\ idle$ ]]; }
scontrol reconfigure
within 60 all_idle

# Nothing is installed.
next_is 'programs: .*/pmm-probe: No such file' "install it"
make -s -C "$builddir" install >out 2>&1
ok $? "make install" || diag "$(tail -n 3 out)"
hash -r

# Nothing is configured.
next_is 'pmm.conf: pmm setup --shared DIR' "pmm setup"
pmm setup --shared "$workdir/shared/pmm" --apply >out
ok $? "pmm setup" || diag "$(<out)"
# Elsewhere: /proc/locks does not know the files of an overlay.
echo "Spool = $workdir/spool" >>"$conf"
pmm setup --apply >out
is "$(stat -c '%U %a' spool)" "slurm 700" "... and again, for another spool"

# No snapshot.
next_is 'snapshot: pmm fabric read --publish' "a snapshot"
like "$said" 'WARN +AuditPartition: there is no audit' \
    "no partition fails nothing before there are audits"
pmm fabric generate fat-tree --ports 4 --levels 2 -o shared/pmm/fabric
emu_up shared/pmm/fabric --noise 20 # where a site has cables
chmod 666 emu
printf '%s\n' 'Transport = emu' "EmuSocket = $workdir/emu" >>"$conf"

# The plugin.
next_is "plugstack.conf: cat $etc/plugstack.conf >>$workdir/slurm/etc/plug" \
    "the plugin"
cat "$etc/plugstack.conf" >>"$workdir/slurm/etc/plugstack.conf"

# The first verdict.
next_is 'a check: pmm doctor --try' "a check of two nodes"
next_is "baseline: srun -N NODES .* --mpi=$mpi pmm-probe --output DIR, " \
    "after it, a baseline" --try
like "$said" 'OK +compute nodes: 4 of 4 idle ones answer' "... all nodes answer"
like "$said" 'OK +a check: of h0001 and h0002: (OK|WARN): ' \
    "... the first verdict"

srun -N4 --ntasks-per-node=1 "--mpi=$mpi" pmm-probe --output base >out 2>&1
pmm baseline publish base >>out 2>&1
ok $? "a baseline" || diag "$(<out)"

# Audits.
next_is 'AuditPartition: cat .*/slurm.conf >>.*; restart slurmctld' "audits"
sed 's|^EpilogSlurmctld=.*/|EpilogSlurmctld=/none/|' "$etc/slurm.conf" >>"$SLURM_CONF"
next_is "AuditPartition: restart slurmctld: PartitionName=audit in .* not in force" \
    "what slurm.conf has, and slurmctld not"
restart
like "$(pmm doctor)" 'WARN +EpilogSlurmctld: /none/.*; write /.*/pmm-epilogs' \
    "our hook by a wrong path"
sed -i "s|=/none/|=$(dirname "$(strings "$pmm" | grep -om1 '/.*/pmm-probe$')")/|" "$SLURM_CONF"
restart
if [[ $mpi == pmix ]]; then
    next_is "PMIxCliTmpDirBase: cat $etc/mpi.conf >>$workdir/slurm/etc/mpi" \
        "Slurm's PMIx"
    # For slurmctld alone: here all nodes would share that directory.
    cat "$etc/mpi.conf" >>"$workdir/slurm/etc/mpi.conf"
    restart
    rm "$workdir/slurm/etc/mpi.conf"
fi
next_is 'service: systemctl enable --now pmm-audit' "the audit service"
like "$said" 'OK +a check: tried at 20.*, of h0001 and h0002: ' \
    "... the first verdict is known"
echo 'AuditEvery = 0' >>"$conf" # so that the service does not begin by itself
setpriv --reuid=slurm --regid="$(id -g slurm)" --init-groups \
    pmm audit --serve >serve.log 2>&1 &
service=$!
cleanup kill "$service"
serves () { [[ $(pmm doctor) =~ OK\ +service: ]]; }
within 10 serves
rm shared/pmm/baseline.pmm
next_is 'baseline: pmm audit --all' "a baseline that went away" || diag "$(<serve.log)"
for _ in 1 2 3 4; do
    [[ -e shared/pmm/baseline.pmm ]] || as_slurm pmm audit --all >>audits 2>&1
done
within 10 test -s shared/pmm/baseline.pmm
ok $? "audits publish it" || diag "$(cat audits serve.log)"
within 10 test -s shared/pmm/verdicts
next_is 'nothing: ' "nothing"
is "$(grep -cE '^(FAIL|WARN|UNKNOWN)' <<<"$said")" 0 \
    "no complaint at the end of the day" || diag "$said"

# What nodes lack.
cp "$conf" good.conf
echo "Snapshot = $workdir/none" | cat - <(grep -v ^Snapshot good.conf) >"$conf"
next_is 'snapshot: ' "a snapshot that went away" --ask
like "$said" 'FAIL +compute nodes: 4 of 4 .*; h\[0001-0004\]: Snapshot: .*none' \
    "... for the nodes, too"
cp good.conf "$conf"
scontrol update node=h0003 state=drain reason=test
like "$(pmm doctor --ask)" 'OK +compute nodes: 3 of 3 idle ones answer' \
    "nodes that are not idle are not asked"
scontrol update node=h0003 state=resume
within 60 all_idle || diag "$(sinfo -N; squeue)"
cat >liar <<'X'
#!/bin/sh
case ${SLURMD_NODENAME-} in
h0001) echo 'pmm-about 1 {"conf": "0", "release": "9.9", "odd": ["\u001b[31mred", 1]}' ;;
h0002) echo 'pmm-about 1 {"release": ' ;;
h0003) echo 'pmm-about 1 {"odd": "none", "time": "now", "memlock": []}' ;;
esac
X
chmod 755 liar
{ grep -v '^#*Probe' good.conf; echo "Probe = $workdir/liar"; } >"$conf"
said=$(pmm doctor --ask)
like "$said" 'FAIL +compute nodes: 3 of 4 idle ones answer' \
    "a node that does not answer, and others that lie"
like "$said" '; h0001: pmm-probe is of 9.9, not of [0-9.]+' "... another release"
like "$said" $'\nnext: compute nodes: systemctl status slurmd on h0004: ' \
    "... which is named"
like "$said" '; h0001: another pmm.conf: copy it from here' \
    "... what differs from here"
like "$said" '; h0003: no pmm.conf: copy' "... or lacks"
like "$said" '; h0001: [?]\[31mred' "... text for a terminal is shown as text"
like "$said" '; h0002: another pmm-probe than here' "... half an answer"
cp good.conf "$conf"
emu_down
next_is 'compute nodes: .*h\[0001-0004\]: emu: ' "what nodes cannot open" --ask

done_testing
