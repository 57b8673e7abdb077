#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm setup on a clean root: it shows what it would do, does it, keeps what is
# there, completes what is missing, and refuses what others could change.

. "$(dirname "$0")/lib.sh"
need pmm
id slurm &>/dev/null || skip_all "no user slurm"
clean_root
rm -rf /etc/slurm # there is no Slurm
cd "$workdir" || exit
conf=$(strings "$(type -P pmm)" | grep -o '/.*/slurm-pmm/pmm[.]conf$' | head -1)
etc=${conf%/*}
mkdir -p "${etc%/*}" /etc/systemd/system shared
rm -rf "$etc" /var/{lib,spool}/slurm-pm*

# below DIR...: owner, mode, name, size and time of all that is there.
below () { find "$@" -printf '%u %m %p %s %T@\n' 2>/dev/null; }
setup () { pmm setup "$@" 2>&1; }

# First it shows.
before=$(below /etc/systemd "$etc" /var/{lib,spool}/slurm-pm* shared)
said=$(setup --shared "$workdir/shared/pmm/")
is $? 0 "it shows what it would do"
is "$(below /etc/systemd "$etc" /var/{lib,spool}/slurm-pm* shared)" "$before" "... and does nothing"
like "$said" "would write +$conf
 +Snapshot = $workdir/shared/pmm/fabric
 +Baseline = $workdir/shared/pmm/baseline.pmm
 +Verdicts = $workdir/shared/pmm/verdicts" \
    "... pmm.conf with three keys"
like "$said" "would make +$workdir/shared/pmm, of slurm, mode 755" \
    "... a directory"
like "$said" 'next: .*--apply$' "... and how to have it done"
like "$said" 'note: .*SlurmUser is taken to be slurm' \
    "... whom it takes for SlurmUser"

is "$(pmm setup --shared "$workdir/shared/pmm" --json | jq -c '[.kind, .slurm_user,
    .applied, (.items[] | select (.path | endswith ("shared/pmm")) |
    [.state, .owner, .why])]')" \
    '["setup","slurm",false,["missing","slurm",null]]' "as JSON, too"

# Then it does it.
said=$(umask 077; setup --shared "$workdir/shared/pmm" --apply)
is $? 0 "it does it"
like "$said" 'next: pmm doctor$' "... and says what is next"
is "$(below "$etc" shared /var/{lib,spool}/slurm-pm* /etc/systemd/system/pmm-* \
    | awk '{ print $1, $2, $3 }' | sort -k 3)" "$(sort -k 3 <<X
root 644 /etc/systemd/system/pmm-audit.service.d/slurm-pmm.conf
root 644 /etc/systemd/system/pmm-fabric.service.d/slurm-pmm.conf
root 644 $conf
root 644 $etc/mpi.conf
root 644 $etc/plugstack.conf
root 644 $etc/slurm.conf
root 755 /etc/systemd/system/pmm-audit.service.d
root 755 /etc/systemd/system/pmm-fabric.service.d
root 755 $etc
root 755 /var/spool/slurm-pmix
root 755 shared
slurm 700 /var/spool/slurm-pmm
slurm 755 /var/lib/slurm-pmm
slurm 755 shared/pmm
X
)" "... with the right owners and modes"
is "$(grep -v '^#' "$conf" | grep .)" "Snapshot = $workdir/shared/pmm/fabric
Baseline = $workdir/shared/pmm/baseline.pmm
Verdicts = $workdir/shared/pmm/verdicts" "three keys are set in pmm.conf"
# Every key, as pmm-probe tells them.
sed 's/^#\([A-Z][A-Za-z]* =\)/\1/' "$conf" >all.conf
is "$(pmm-probe --help | sed -nE '1,/^Keys/d; s/^  ([A-Z][A-Za-z]+) .*/\1/p' \
    | grep -vxE 'Conf|Hooks' | sort)" \
    "$(sed -nE 's/^([A-Z][A-Za-z]+) =.*/\1/p' all.conf | sort)" \
    "... and all others are in its comments"
like "$(pmm ledger show --conf "$PWD/all.conf" 2>&1)" \
    ' /var/lib/slurm-pmm/ledger: No such file' "... with values that are valid"
like "$(</etc/systemd/system/pmm-audit.service.d/slurm-pmm.conf)" \
    "ReadWritePaths=.*-$workdir/shared/pmm" "the unit may write there"

# Again: nothing changes, and what is missing comes back.
echo 'Action = comment' >>"$conf"
echo mine >"$etc/slurm.conf"
rm -r "$etc/mpi.conf" /var/spool/slurm-pmm
before=$(below "$etc" shared | grep -ve mpi.conf -e " 755 $etc ")
said=$(setup --apply)
is $? 0 "run again"
is "$(below "$etc" shared | grep -ve mpi.conf -e " 755 $etc ")" "$before" \
    "... it keeps the site's files"
is "$(stat -c '%U %a' /var/spool/slurm-pmm "$etc/mpi.conf" | xargs)" \
    'slurm 700 root 644' "... and makes what was missing"
is "$(setup | grep would)" "" "... and no more is to be done"
printf '%s\n' 'Reports = /var/lib/slurm-pmm/pages' \
    "Metrics = $workdir/shared/metrics/pmm.prom" >>"$conf"
said=$(setup --apply)
is "$(stat -c '%U %a' /var/lib/slurm-pmm/pages shared/metrics | xargs)" \
    'slurm 755 slurm 755' "... also what its keys name now"
said=$(setup --shared "$workdir/other" --apply)
is $? 2 "another --shared than pmm.conf's is refused"
like "$said" "$conf has Snapshot = $workdir/shared/pmm/fabric: change it there" \
    "... in one sentence"

mkdir roots
ln -s "$workdir/roots" /var/lib/slurm-pmm/link
chown -h slurm /var/lib/slurm-pmm/link
sed 's|^Reports =.*|Reports = /var/lib/slurm-pmm/link/pages|' "$conf" >"$etc/other.conf"
said=$(setup --conf "$etc/other.conf" --apply)
is "$?:$(ls roots)" 3: "a link of SlurmUser's leads root nowhere"
like "$said" 'slurm cannot make .*/link/pages: Permission denied' \
    "... SlurmUser makes what is below its own directory"

mkdir -p "$workdir/prom"
chown "$test_user" "$workdir/prom"
sed "s|^Metrics =.*|Metrics = $workdir/prom/pmm.prom|" "$conf" >"$etc/other.conf"
like "$(setup --conf "$etc/other.conf")" "is there +$workdir/prom" \
    "the directory of Metrics may be the collector's"

# What is not safe: it says so, and does nothing at all.
# refuses REGEX NAME [OPTION]...
refuses ()
{
    local regex=$1 name=$2 status
    shift 2
    rm -f "$etc/mpi.conf"
    said=$(setup --apply "$@")
    status=$?
    [[ $status != 0 && ! -e $etc/mpi.conf && $said =~ $regex ]]
    ok $? "refused: $name" || diag "status $status: $said"
}
chown "$test_user" shared/pmm
refuses 'refused +.*/shared/pmm is not trusted: .* belongs to user' \
    "a directory of an ordinary user's"
chown root shared/pmm
refuses 'refused +.*not to slurm: if it is for slurm-pmm alone, chown slurm' \
    "root's"
chown slurm shared/pmm
chmod 777 shared/pmm
refuses 'others may write' "one that all may write to"
chmod 711 shared/pmm
refuses 'not all users can read .*/shared/pmm: chmod 755' "one of SlurmUser's alone"
chmod 755 shared/pmm
chmod 777 shared
refuses 'others may write' "one in a directory that all may write to"
chmod 755 shared
mv shared/pmm shared/real
ln -s real shared/pmm
chown -h "$test_user" shared/pmm
refuses 'link pmm belongs to user' "a link of an ordinary user's"
rm shared/pmm
ln -s nowhere shared/pmm
refuses 'cannot open .*/shared/pmm' "a link to nothing"
rm shared/pmm
touch shared/pmm
refuses 'cannot open .*/shared/pmm: Not a directory' "a file"
rm shared/pmm
mv shared/real shared/pmm
ln -s nowhere "$etc/plugstack.new"
mv "$etc/plugstack.new" "$etc/plugstack.conf"
refuses 'plugstack.conf is a symbolic link: put the file in its place' \
    "a file that is a link to nothing"
rm "$etc/plugstack.conf"
mkdir "$etc/plugstack.conf"
refuses 'plugstack.conf is not a regular file' "one that is a directory"
rmdir "$etc/plugstack.conf"
touch "$etc/plugstack.conf"
chown "$test_user" "$etc/plugstack.conf"
refuses 'plugstack.conf belongs to user' "one of an ordinary user's"
chown root "$etc/plugstack.conf"
refuses 'there is no user none' "a user that is not there" --slurm-user none
mv "$conf" all.conf
ln -s /absent/pmm.conf "$conf"
refuses 'pmm.conf is a symbolic link' "a pmm.conf that is a link to nothing"
rm "$conf"
refuses 'there is no .*/absent: mount its file system' \
    "a file system that is not mounted" --shared "$workdir/absent/pmm"
refuses "others may write .*tmp" "one that others could make first" \
    --shared "/tmp/absent.$$"
refuses 'need an absolute path of letters' "a name with a blank" \
    --shared "$workdir/a b"
refuses 'need an absolute path of letters' "... or a specifier of systemd's" \
    --shared "$workdir/%h"
refuses '^pmm setup: --shared: need an absolute path$' "no absolute path" \
    --shared shared
echo 'Colour = red' >"$conf"
refuses "unknown key 'Colour'" "a pmm.conf that is wrong"
built_to "$workdir/bin" pmm/pmm # where the user reaches it
as_user "$workdir/bin/pmm" setup --conf "$workdir/absent.conf" --apply >out 2>&1
is "$?:$(<out)" "3:pmm setup: --apply makes directories of several users: run \
it as root" "an ordinary user cannot"

# Another pmm.conf, in a directory of its own.
mkdir -p site/etc
rm -r shared/pmm /var/{lib,spool}/slurm-pmm /etc/systemd/system/pmm-*
said=$(setup --conf "$PWD/site/etc/pmm.conf" --shared "$workdir/shared/pmm" \
    --slurm-user "$test_user")
like "$said" "required /.*/spank_pmm.so conf=$PWD/site/etc/pmm.conf" \
    "another pmm.conf: the plugin reads it"
like "$said" "ExecStart=/.*/pmm audit --serve --conf $PWD/site/etc/pmm.conf" \
    "... and the service"
like "$said" "User=$test_user" "... as another SlurmUser"

done_testing
