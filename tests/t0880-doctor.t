#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm doctor: a site where all is as it should be, and then one fault at a time,
# of which it names that one.

. "$(dirname "$0")/lib.sh"
need sacctmgr scontrol perl jq flock pkill
plugin=$builddir/spank/spank_pmm.so
[[ -r $plugin ]] || skip_all "no $plugin"
id slurm &>/dev/null || skip_all "no user slurm"
((EUID == 0)) || skip_all "a Slurm cluster needs root"
workdir

# A good site
mkdir "$workdir"/{bin,site}
install -d -o slurm "$workdir/var" "$workdir/spool" "$workdir/pub"
for program in pmm-probe pmm-epilogslurmctld pmm-healthcheck; do
    printf '%s\n' '#!/bin/sh' >"$workdir/bin/$program"
done
printf '%s\n' '#!/bin/sh' 'exec /usr/sbin/pmm-prolog' >"$workdir/bin/before"
printf '%s\n' '#!/bin/sh' '/usr/sbin/pmm-epilog' >"$workdir/bin/after"
chmod 755 "$workdir"/bin/*
install -m 755 "$plugin" "$workdir/spank_pmm.so"
cd "$workdir/site" || exit
pmm fabric generate fat-tree --ports 4 --levels 2 -o fabric
pmm plan -f fabric --hosts h0001,h0002,h0003 -o plan
pmm simulate -f fabric --plan plan --latency random:100:200 -o "$workdir/pub/baseline"
cat >pmm.conf <<X
Snapshot=$workdir/site/fabric
Baseline=$workdir/pub/baseline
Verdicts=$workdir/pub/verdicts
Ledger=$workdir/var/ledger
Spool=$workdir/spool
Probe=$workdir/bin/pmm-probe
X
echo pmm-verdicts >"$workdir/pub/verdicts"
echo "required $workdir/spank_pmm.so conf=$workdir/site/pmm.conf" \
    >"$workdir/plugstack"
cat >"$workdir/conf" <<X
MessageTimeout=2
AccountingStorageEnforce=associations
PropagateResourceLimitsExcept=MEMLOCK
EpilogSlurmctld=$workdir/bin/pmm-epilogslurmctld
Prolog=$workdir/bin/before
Epilog=$workdir/bin/after
HealthCheckProgram=$workdir/bin/pmm-healthcheck
HealthCheckInterval=3600
PartitionName=audit Nodes=ALL MaxTime=10 PriorityTier=100 RootOnly=YES
X
with_cluster 3 --slurm-user slurm --plugstack "$workdir/plugstack" \
    --conf "$workdir/conf"
etc=$workdir/slurm/etc
mkdir "$workdir/pmix"
[[ $mpi != pmix ]] \
    || echo "PMIxCliTmpDirBase=$workdir/pmix" >"$etc/mpi.conf"
scontrol reconfigure
cp -p "$etc/slurm.conf" "$workdir/slurm.conf"
cp -p "$etc/plugstack.conf" "$workdir/plugstack.conf"
cp -p pmm.conf "$workdir/pmm.conf"
cp -p fabric "$workdir/fabric"

doctor () { pmm doctor --conf "$workdir/site/pmm.conf" "$@"; }

# faults: what it says but for what is good, optional or next.
faults () { doctor | grep -vE '^(OK|INFO|next)'; }

# complains LEVEL CHECK REGEX NAME: of this and of nothing else.
complains ()
{
    local said
    said=$(faults)
    [[ $said != *$'\n'* && $said =~ ^"$1"\ +"$2":.*$3 ]]
    ok $? "$1: $4" || diag "$said"
}

# next BEGIN: the last line, which begins so.
next ()
{
    local said
    said=$(doctor | tail -n 1)
    [[ $said == "next: $1"* ]]
    ok $? "... and what to do is next" || diag "$said"
}

# informs CHECK REGEX NAME: of what is optional, and complains of nothing.
informs ()
{
    local said
    said=$(doctor)
    ! grep -qvE '^(OK|INFO|next)' <<<"$said" && [[
        $said =~ INFO\ +"$1":.*$2 ]]
    ok $? "INFO: $3" || diag "$said"
}

# Faults: what is as it was, but for these KEY=VALUE; "KEY=" takes one out.
set_in ()
{
    local file=$1 line
    shift
    for line; do
        sed -i "/^${line%%=*}=/d" "$file"
        [[ $line == *= ]] || echo "$line" >>"$file"
    done
}
with_conf ()
{
    cp -p "$workdir/pmm.conf" pmm.conf
    set_in pmm.conf "$@"
}
with_slurm ()
{
    cp -p "$workdir/slurm.conf" "$etc/slurm.conf"
    set_in "$etc/slurm.conf" "$@"
    scontrol reconfigure
}
with_stack () { printf '%s\n' "$@" >"$etc/plugstack.conf"; }
serve ()
{
    flock "$workdir/spool/lock" sleep 1000 &
    service=$!
    cleanup pkill -P "$service"
    within 5 [ -e "$workdir/spool/lock" ]
}
healthy ()
{
    cp -p "$workdir/pmm.conf" pmm.conf
    cp -p "$workdir/fabric" fabric
    cp -p "$workdir/plugstack.conf" "$etc/plugstack.conf"
    cmp -s "$workdir/slurm.conf" "$etc/slurm.conf" && return
    cp -p "$workdir/slurm.conf" "$etc/slurm.conf"
    scontrol reconfigure
}

serve
complains FAIL association 'slurm may run no audit' \
    "SlurmUser has no association where they are enforced"
sacctmgr -i add account ops >/dev/null
sacctmgr -i add user slurm account=ops >/dev/null
is "$(faults)" "" "no complaint where all is well"
doctor >/dev/null
ok $? "exit status 0"
doctor --json | jq -e '.kind == "doctor" and .status == "INFO" and
    (.next | startswith("nothing: ")) and
    (.checks | length > 20 and all((.level == "OK" or .level == "INFO")
        and .text != ""))' >/dev/null
ok $? "--json"

# Slurm's PMIx
if [[ $mpi == pmix ]]; then
    chmod 1777 "$workdir/pmix"
    complains WARN PMIxCliTmpDirBase \
        'pmix: any user can keep audits from a node' \
        "users may write where Slurm's PMIx makes directories"
    chmod 700 "$workdir/pmix"
    complains WARN PMIxCliTmpDirBase 'cannot enter it: chmod 755' \
        "... or may not enter it"
    chmod 755 "$workdir/pmix"
    if unshare -m mount -t tmpfs -o nr_inodes=1 none "$workdir/pmix" 2>/dev/null; then
        # shellcheck disable=SC2016
        like "$(unshare -m sh -c 'mount -t tmpfs -o nr_inodes=1 none "$1" &&
            exec pmm doctor --conf pmm.conf' - "$workdir/pmix")" \
            'FAIL +PMIxCliTmpDirBase: .*/pmix is full' "FAIL: ... or is full"
    else
        skip "FAIL: ... or is full" "nothing can be mounted"
    fi
else
    skip "what PMIx leaves to any user" "this Slurm has none"
fi

# Our files
with_conf Colour=red
like "$(doctor)" 'FAIL +pmm.conf: .*Colour.* checked with the defaults' \
    "FAIL: an unknown key"
like "$(doctor)" 'next: pmm.conf: .*Colour' \
    "... which is next, as all else looks at the defaults"
doctor >/dev/null
is $? 1 "exit status 1"
healthy
chmod 666 pmm.conf
like "$(doctor)" 'FAIL +pmm.conf: .*others may write' \
    "FAIL: a pmm.conf that anybody may write"
healthy
chmod 600 pmm.conf
complains FAIL pmm.conf "pmm.conf: users' jobs cannot read it: chmod 644" \
    "a pmm.conf that users cannot read"
chmod 644 pmm.conf
chmod 700 .
like "$(doctor)" "FAIL +pmm.conf: $PWD: users' jobs cannot enter it: chmod 755" \
    "FAIL: one in a directory that users cannot enter"
chmod 755 .
with_conf SlurmUser=nobody
complains FAIL slurmctld "is slurm, and 'nobody' in pmm.conf" \
    "a SlurmUser whom hooks do not know"
next "slurmctld: SlurmUser = slurm in $PWD/pmm.conf, as in slurm.conf"
with_conf Probe=/nonexistent/pmm-probe
complains FAIL programs /nonexistent/pmm-probe "no pmm-probe"
healthy
with_conf Snapshot="$workdir/site/none"
like "$(doctor)" 'FAIL +snapshot: .*publish it' "FAIL: no snapshot"
with_conf Snapshot="$workdir/site"
next "snapshot: Snapshot = $workdir/site/fabric in pmm.conf: it names a file"
with_conf Snapshot="$workdir/none/fabric"
next "snapshot: there is no $workdir/none: mount its file system, or pmm setup"
healthy
chmod 600 fabric
complains FAIL snapshot 'cannot read' "a snapshot that users cannot read"
healthy
chown "$test_user" fabric
complains FAIL snapshot 'belongs to user' "a snapshot of an ordinary user's"
next "snapshot: $PWD/fabric is not trusted: "
chown root fabric
touch -d '9 days ago' fabric
complains WARN snapshot '9 days old' "an old snapshot"
like "$(doctor)" 'next: snapshot: systemctl enable --now pmm-fabric.timer' \
    "... and what renews it is next"
echo garbage >fabric
like "$(doctor)" 'FAIL +snapshot: [^ ]*fabric:1: ' "FAIL: one that is garbage"
pmm fabric generate dragonfly --p 2 --a 2 --h 1 -o fabric
complains WARN baseline 'fabric' "a baseline of another fabric"
pmm fabric export -f "$workdir/fabric" --format ibnetdiscover | sed s/h000/x/ >net
pmm fabric export -f "$workdir/fabric" --format lfts >lfts
pmm fabric import net lfts -o fabric
like "$(doctor)" 'WARN +nodes: none of 3 .*, whose hosts are x1, x2, x3, ...:' \
    "WARN: no node is in the snapshot by its name"
pmm fabric generate irregular --switches 1 --hosts 2 -o fabric
like "$(doctor)" 'WARN +nodes: 1 of 3 .*h0003' \
    "WARN: a node that is not in the snapshot"
sed '/^0x0002c90000000010,.*,1,/s/,2,5,4,/,2,5,2,/' \
    "$srcdir/ibquery/test/data/tree.db_csv" | pmm fabric import - -o fabric 2>err
like "$(doctor)" 'WARN +rails: 1 cable not active: pmm fabric check' \
    "WARN: a port that stays in init"
pmm fabric generate fat-tree --ports 8 --levels 2 --rails 2 -o fabric
pmm fabric export -f "$workdir/site/fabric" --format ibnetdiscover |
    sed 's/"\(h0[0-9]*\) mlx/"\1.site.org mlx/; /"h0007.*mlx5_1" lid/d
        /^Ca.*"h0007.* mlx5_1"/,/^$/d' >net
pmm fabric import net -o fabric 2>err
like "$(doctor)" 'WARN +rails: h0007.site.org has no rail mlx5_1/1' \
    "WARN: a host that lacks a rail"
like "$(doctor)" 'OK +nodes: all 3' "OK: nodes whose hosts have a domain"
pmm fabric accept -f "$workdir/site/fabric" h0007
like "$(doctor)" 'OK +rails: ' "OK: a rail that is accepted"
rm fabric.accepted
healthy
echo h0003 >map
with_conf NodeMap="$workdir/site/map"
like "$(doctor)" 'FAIL +NodeMap: .*map:1: ' "FAIL: a bad node map"
echo "h0003 h0003/1" >map
is "$(faults)" "" "no complaint of a good one"
chmod 666 map
complains FAIL NodeMap 'others may write' "one that anybody may write"
healthy
mv "$workdir/pub/baseline" other
complains WARN baseline 'none' "no baseline"
mv other "$workdir/pub/baseline"
touch -d '25 hours ago' "$workdir/pub/verdicts"
complains WARN verdicts 'older than a day' "verdicts that nobody renews"
like "$(doctor)" 'next: verdicts: systemctl enable --now pmm-audit' \
    "... and what renews them is next"
chmod 664 "$workdir/pub/verdicts"
complains FAIL verdicts 'others may write' "verdicts that others may write"
rm "$workdir/pub/verdicts"
complains WARN verdicts 'there is no' "none"
touch "$workdir/pub/verdicts"
with_conf Snapshot="$workdir/site/none" LiveFabric="$workdir/live"
like "$(doctor)" 'WARN +snapshot: there is none: prologs read .*/live' \
    "WARN: no snapshot but the prologs'"
healthy
chown root "$workdir/var"
like "$(doctor)" 'FAIL +ledger: .*chown slurm' \
    "FAIL: a ledger's directory that is root's"
like "$(doctor)" "FAIL +SlurmUser: slurm cannot write $workdir/var of Ledger" \
    "... which SlurmUser cannot write"
chown slurm "$workdir/var"
chown root "$workdir/pub"
complains FAIL SlurmUser "slurm cannot write $workdir/pub of Baseline: Perm" \
    "where the baseline is published SlurmUser cannot write"
like "$(doctor)" "next: SlurmUser: if it is .* chown slurm $workdir/pub; pmm" \
    "... and what to do is next"
built_to "$workdir/bin" pmm/pmm # where other users reach it
like "$(as_slurm env LD_LIBRARY_PATH=/nonexistent "$workdir/bin/pmm" doctor \
    --conf "$workdir/site/pmm.conf")" 'FAIL +SlurmUser: slurm cannot write' \
    "... as SlurmUser finds, too"
chown slurm "$workdir/pub"
like "$(as_user env SLURM_CONF="$SLURM_CONF" "$workdir/bin/pmm" doctor --conf \
    "$workdir/site/pmm.conf")" 'UNKNOWN +SlurmUser: not checked: run as root' \
    "UNKNOWN: an ordinary user cannot tell"
touch "$workdir/var/ledger"
complains FAIL ledger 'only SlurmUser may write .*: chown slurm' "a ledger that is root's"
rm "$workdir/var/ledger"
chmod 777 "$workdir/spool"
complains FAIL spool 'chmod 755' "a spool that anybody may write"
chmod 755 "$workdir/spool"
with_conf Reports="$workdir/pages"
like "$(doctor)" "WARN +Reports: .*is not a directory: pmm setup --apply, or \
install -d -o slurm -m 755 $workdir/pages" "WARN: no directory for pages"
next "SlurmUser: pmm setup --apply makes $workdir/pages"
mkdir "$workdir/pages"
like "$(doctor)" "FAIL +Reports: .*chown slurm.*FAIL +SlurmUser: .* of Reports" \
    "... and one of root's"
with_conf Metrics="$workdir/site/pmm.prom"
complains FAIL SlurmUser "slurm cannot write $workdir/site of Metrics" \
    "nor can metrics be written"
healthy
pkill -P "$service"
wait "$service"
complains WARN service 'pmm audit --serve' "no audit service"
like "$(doctor)" 'next: service: systemctl enable --now pmm-audit' \
    "... and what starts it is next"
rm -r "$workdir/spool"
like "$(doctor)" 'WARN +spool: .*install -d -o slurm' "WARN: no spool"
install -d -o slurm "$workdir/spool"
serve

# plugstack.conf
with_slurm PlugStackConfig=
is "$(faults)" "" "no PlugStackConfig: the file is beside slurm.conf"
rm "$etc/plugstack.conf"
complains WARN plugstack.conf 'does not name spank_pmm.so' "... or is not there"
healthy
with_stack '# nothing'
complains WARN plugstack.conf 'no --pmm-check' "the plugin is not loaded"
with_stack "required $workdir/none/spank_pmm.so"
complains FAIL plugstack.conf "conf:1: there is no .*: no job starts" \
    "a required plugin is not there"
with_stack 'optional spank_pmm.so'
complains FAIL plugstack.conf 'slurm-wlm.*no job is checked' \
    "nor in PluginDir"
with_stack "optional $workdir/spank_pmm.so mode=require"
complains FAIL plugstack.conf 'optional' "an optional plugin that is to veto"
with_stack "optional $workdir/spank_pmm.so"
complains WARN plugstack.conf 'plugstack.conf:1: optional: .*=require keeps no' \
    "an optional plugin, which cannot veto"
with_stack "# ours" "required $workdir/spank_pmm.so snapsht=/x"
complains FAIL plugstack.conf \
    "plugstack.conf:2: unknown key 'snapsht'; did you mean Snapshot" \
    "a word that means nothing"
mkdir "$etc/stack.d"
echo "required $workdir/spank_pmm.so colour=red" >"$etc/stack.d/pmm.conf"
with_stack "include $etc/stack.d/*.conf # all"
complains FAIL plugstack.conf 'colour' "the same in a file that is included"
mkdir "$etc/links"
ln -s "$etc/stack.d/none" "$etc/links/pmm.conf"
with_stack "include $etc/links/*.conf"
complains UNKNOWN plugstack.conf "$etc/links/pmm.conf is a link to nothing" \
    "a link to a file that is not there"
with_stack "include $etc/plugstack.conf"
complains WARN plugstack.conf 'no --pmm-check' "a file that includes itself"
with_stack "required $workdir/spank_pmm.so conf=$workdir/site/pmm.conf \
hooks=$workdir/bin"
said=$(doctor)
like "$said" "FAIL +Prolog: .*$workdir/bin/pmm-prolog: No such file" \
    "FAIL: hooks of the plugin that are not there"
install -m 755 /dev/null "$workdir/bin/pmm-prolog"
install -m 755 /dev/null "$workdir/bin/pmm-epilog"
said=$(doctor)
is "$(grep -vE '^(OK|INFO|next)' <<<"$said")" "" "no complaint where they are"
like "$said" "OK +Epilog: the plugin runs $workdir/bin/pmm-epilog" \
    "which is said"
healthy
chmod 757 "$workdir/spank_pmm.so"
complains FAIL plugstack.conf 'others may write it' "a plugin that all may write"
chmod 755 "$workdir/spank_pmm.so"
cp "$workdir/spank_pmm.so" "$workdir/plugin"
# shellcheck disable=SC2016
perl -0pi -e 'BEGIN { ($year, $month, $micro) = shift =~ /(\d+)[.](\d+)[.](\d+)/ }
    $is = pack "C4", $micro, $month, $year, 0;
    $next = pack "C4", $micro, $month, $year + 1, 0;
    s/\Q$is\E/$next/g' "$(scontrol --version)" "$workdir/spank_pmm.so"
complains FAIL plugstack.conf 'against Slurm [0-9.]+, this is .*rebuild it' \
    "a plugin of another release"
cp /bin/true "$workdir/spank_pmm.so"
complains FAIL plugstack.conf 'is not of slurm-pmm' "another plugin of that name"
cp "$workdir/plugin" "$workdir/spank_pmm.so"

# slurm.conf
with_slurm PropagateResourceLimitsExcept=NOFILE
complains WARN memlock 'LimitMEMLOCK' "a limit of locked memory propagates"
with_slurm SrunPortRange=60001-60008
complains WARN SrunPortRange 'few' "few ports"
with_slurm MpiDefault=none
like "$(doctor)" "OK +MpiDefault: none: .*--mpi=$mpi" "MpiDefault is only told"
with_slurm AccountingStoreFlags=
informs topology 'does not know which nodes are near' "no topology"
: >"$etc/topology.conf"
complains WARN topology "$etc/topology.conf: Slurm ignores it: TopologyPlugin" \
    "a topology.conf, and no plugin that reads it"
next "topology: TopologyPlugin=topology/tree in $SLURM_CONF; restart slurmctld"
echo "# by hand" >"$etc/topology.yaml"
if [[ $(scontrol -V) < "slurm-wlm 25.05" ]]; then
    complains WARN topology 'Slurm before 25.05 reads topology.conf alone' \
        "a topology.yaml that this Slurm does not read"
else
    complains WARN topology 'ignores it, as topology.yaml is beside it' \
        "a topology.yaml that hides topology.conf"
fi
rm "$etc/topology.yaml"
echo 'SwitchName=s1 Nodes=h000[1-2]' >"$etc/topology.conf"
with_slurm TopologyPlugin=topology/tree
complains WARN topology 'no switch has 1 of 3 nodes .h0003.' \
    "a topology.conf that lacks a node"
next "topology: pmm fabric export --format topology.conf -o $etc/topology.conf; "
rm "$etc/topology.conf"
with_slurm TopologyPlugin= AccountingStoreFlags=
informs comments 'AccountingStoreFlags=job_comment' \
    "users' comments are not kept"
with_slurm EpilogSlurmctld=
complains WARN EpilogSlurmctld 'no job is audited' "no EpilogSlurmctld"
echo "EpilogSlurmctld=$workdir/bin/pmm-epilogslurmctld" >slurm.conf
next "EpilogSlurmctld: grep ^EpilogSlurmctld $PWD/slurm.conf >>$SLURM_CONF; restart"
cat slurm.conf >>"$SLURM_CONF"
next "EpilogSlurmctld: restart slurmctld: EpilogSlurmctld in $SLURM_CONF is not in"
with_slurm EpilogSlurmctld="$workdir/bin/before"
complains WARN EpilogSlurmctld 'does not call' "another EpilogSlurmctld"
healthy
touch -d tomorrow "$SLURM_CONF"
informs EpilogSlurmctld 'a new hook needs a restart' \
    "slurm.conf is newer than slurmctld"
cp -p "$workdir/slurm.conf" "$SLURM_CONF"
with_slurm Prolog=
informs Prolog 'before' "no prolog"
with_slurm Epilog=/nonexistent/epilog
complains WARN Epilog 'not on this machine' "an epilog that is elsewhere"
with_slurm HealthCheckInterval=0
complains WARN HealthCheckProgram 'HealthCheckInterval' \
    "a health check that never runs"
with_slurm HealthCheckProgram=
informs HealthCheckProgram 'idle nodes' "none"
plugins=$(scontrol show config | awk '$1 == "PluginDir" { print $3 }')
mkdir "$workdir/plugins"
with_slurm PluginDir="$workdir/plugins:$plugins"
like "$(doctor)" "OK +Mpi: $mpi: $plugins/mpi_$mpi" \
    "several directories of plugins"
healthy
with_conf Mpi=pmi2
like "$(doctor)" "OK +Mpi: pmi2: $plugins/mpi_pmi2" "PMI-2 is asked for"
like "$(doctor)" 'OK +PMIxCliTmpDirBase: PMIx is not used' "... and PMIx not"
healthy

# What srun says where nodes lack the PMIx that this machine has
if [[ $mpi == pmix ]]; then
    cat >"$workdir/bin/srun" <<'X'
#!/bin/sh
echo "srun: error: Couldn't find the specified plugin name for mpi/pmix" >&2
exit 1
X
    chmod 755 "$workdir/bin/srun"
    with_conf Srun="$workdir/bin/srun"
    said=$(doctor --try)
    like "$said" 'FAIL +compute nodes: none of 3 .*pmix.*or say Mpi=pmi2' \
        "FAIL: nodes without PMIx, and what does without it"
    like "$said" 'FAIL +a check: no verdict: .*pmix.*or say Mpi=pmi2' \
        "... as a check finds"
    like "$said" "next: compute nodes: echo 'Mpi = pmi2' >>.*/pmm.conf" \
        "... which is next"
    with_conf Srun="$workdir/bin/srun" Mpi=pmi2
    is "$(doctor --try | grep -c 'or say Mpi')" 0 "... unless it is said"
    healthy
fi

# without [FILE INSTEAD]...: the doctor, where one is the other.
without ()
{
    # shellcheck disable=SC2016
    conf=$workdir/site/pmm.conf unshare -m /bin/sh -c '
        while [ $# -gt 0 ]; do
            mount --bind "$2" "$1" || exit
            shift 2
        done
        exec pmm doctor --conf "$conf"' - "$@"
}
if [[ $mpi == pmix ]] \
    && unshare -m mount --bind "$workdir/plugins" "$plugins" 2>/dev/null; then
    cp "$plugins"/*.so "$workdir/plugins"
    rm "$workdir"/plugins/mpi_pmix*
    like "$(without "$plugins" "$workdir/plugins")" \
        'OK +Mpi: pmi2: .*/mpi_pmi2.so; there is no mpi_pmix.*Mpi=pmi2 saves' \
        "no PMIx in Slurm: PMI-2"
    with_conf Mpi=pmix
    like "$(without "$plugins" "$workdir/plugins")" \
        "FAIL +Mpi: this Slurm has no PMIx .*: there is no mpi_pmix.*or say \
Mpi=pmi2.*next: Mpi: echo 'Mpi = pmi2' >>.*/pmm.conf" \
        "FAIL: no PMIx, which is asked for"
    healthy
    rm "$workdir"/plugins/mpi_pmi2*
    like "$(without "$plugins" "$workdir/plugins")" \
        'FAIL +Mpi: this Slurm has neither PMIx nor PMI-2' "FAIL: neither"
    lib=$(ldconfig -p | awk '$1 == "libpmix.so.2" { print $NF }')
    like "$(without "$lib" /dev/null)" 'OK +Mpi: pmi2: .*libpmix.so.*Mpi=pmi2' \
        "PMIx without its library: PMI-2, as checks find"
    built_to "$workdir/real" probe/pmm-probe
    with_conf Probe="$workdir/real/pmm-probe"
    said=$(without "$lib" /dev/null)
    if readelf -d "$workdir/real/pmm-probe" | grep -q libpmix; then
        like "$said" 'FAIL +programs: Probe does not run: .*libpmix.so.2' \
            "FAIL: pmm-probe without it"
    fi
    healthy

    # Slurm's plugin, for a PMIx where the loader does not look.
    prefix=$(strings "$plugins/mpi_pmix.so" | grep '^/.*pmix.*/lib')
    perl -0pe 'BEGIN { ($was, $is) = splice @ARGV, 0, 2 }
        s/\Q$was\E/pack "a" . length $was, $is/ge' "$prefix" "$workdir/lib" \
        <"$plugins/mpi_pmix.so" >"$workdir/plugins/mpi_pmix.so"
    mkdir "$workdir/lib"
    set -- "$lib" /dev/null "$plugins" "$workdir/plugins"
    like "$(without "$@")" 'FAIL +Mpi: .*libpmix.so.*needs it, on all nodes' \
        "FAIL: its library is nowhere, nor is PMI-2"
    cp "$lib" "$workdir/lib/libpmix.so"
    cp "$lib" "$workdir/lib/libpmix.so.2"
    like "$(without "$@")" 'OK +Mpi: pmix: ' \
        "... nor in the loader's way, but where the plugin looks"
else
    skip "no PMIx" "there is none, or nothing can be mounted"
fi

# Where make install would have put the plugin, which Slurm does not look at.
path=$(strings "$(type -P pmm)" | grep -o '/.*/spank_pmm[.]so$')
up=${path%/*/*}
if [[ $up == /usr/local/* && -d $up ]]; then
    install -D "$workdir/spank_pmm.so" "$workdir/up/${path#"$up/"}"
    with_stack 'required spank_pmm.so'
    like "$(without "$up" "$workdir/up")" \
        "FAIL +plugstack.conf: .*no job starts from here; write $path" \
        "FAIL: the plugin is elsewhere, which is said"
    healthy
else
    skip "the plugin is elsewhere" "this slurm-pmm is not for /usr/local"
fi

# The partition
with_conf AuditPartition=none
like "$(doctor)" 'FAIL +AuditPartition: there is no none: PartitionName=none' \
    "FAIL: no partition for audits"
healthy
with_conf AuditTimeout=11m
complains FAIL AuditPartition '10 minutes, AuditTimeout needs 11' \
    "a partition of too short a time"
healthy
scontrol update partition=audit rootonly=no
complains WARN AuditPartition 'RootOnly' "a partition for all"
next "AuditPartition: scontrol update partition=audit rootonly=yes"
scontrol update partition=audit rootonly=yes nodes=h0001,h0003
informs AuditPartition '1 node not in .*h0002' "a partition without some nodes"
pmm fabric generate irregular --switches 1 --hosts 2 -o fabric
scontrol update partition=audit nodes=h0001,h0002
like "$(doctor)" 'INFO +nodes: 1 of 3 .*neither .*h0003.: they are not measured' \
    "... which need no InfiniBand"
healthy
scontrol update partition=audit state=down
complains FAIL AuditPartition 'not up' "a partition that is down"
next "AuditPartition: scontrol update partition=audit state=up"
with_slurm PreemptType=preempt/partition_prio PreemptMode=requeue
complains FAIL preemption 'PriorityTier' "a partition that preempts jobs"
healthy
is "$(faults)" "" "all is well again"

# slurmctld
read -r pid _ <"$workdir/slurm/pid/slurmctld"
kill "$pid"
within 20 gone "$pid"
said=$(doctor)
is $? 3 "exit status 3 where slurmctld is gone"
like "$said" 'UNKNOWN +slurmctld: .*Unable to contact .* not checked' \
    "UNKNOWN: which is said"

done_testing
