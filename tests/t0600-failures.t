#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What can go wrong around a check, in a real Slurm, with the real pmm-probe. What
# this test alone shows: whatever the probe, the emulator, the snapshot or pmm.conf
# is, a job that asked for a check gets one clear line and runs all the same; in
# `require` mode what could not be checked does not start. (The plugin's part of it,
# with a script for a probe: t0501. pmm-probe without jobs: t0400.)

. "$(dirname "$0")/lib.sh"
workdir
cd "$workdir" || exit 1
with_plugin
noisy_emu () { emu_up fabric --stall 2 --seed 1 --noise 50; }
noisy_emu
with_cluster 8 --plugstack plugstack

idle () { [[ $(sinfo -h -p main -t idle -o %D) == 8 ]]; }

# checked NAME REGEX [OPTION...]: an ordinary user's job of the first four nodes;
# it must run, and the check say what REGEX matches.
checked ()
{
    local name=$1 regex=$2 out
    shift 2
    within 30 idle
    out=$(cd / && as_user srun -Q -N4 -w 'h[0001-0004]' --ntasks-per-node=1 \
        --pmm-check "$@" /bin/echo it runs 2>&1)
    is "$(grep -c '^it runs$' <<<"$out")" \
        "$([[ " $* " == *" -N1 "* ]] && echo 1 || echo 4)" "$name: the job runs"
    like "$out" "$regex" "... and it is said"
    [ "$(grep -c "^pmm: " <<<"$out")" -le 4 ]
    ok $? "... in a few lines" || diag "$out"
}

# conf KEY VALUE: change pmm.conf for what follows.
conf () { sed -i "s|^$1 .*|$1 = $2|" pmm.conf; }

# wrap COMMAND [HOST [OTHER]]: a pmm-probe that runs COMMAND first on h0003, or
# HOST, and OTHER elsewhere
wrap ()
{
    cat >wrapped <<X
#!/bin/sh
if [ "\$SLURMD_NODENAME" = ${2-h0003} ]; then
    $1
else
    ${3-:}
fi
exec $workdir/pmm-probe "\$@"
X
    chmod 755 wrapped
    conf Probe "$workdir/wrapped"
}

checked "all well" "pmm: (OK|UNKNOWN|WARN)"
checked "one node" "one node without two rails in one subnet: nothing to measure" \
    -N1 -w h0001

wrap 'kill -9 $$'
checked "a probe that dies" "h0003"
wrap 'kill -9 $$' h0001
checked "a leader that dies" "not checked: .*h0001"
wrap '(sleep 0.2; kill -9 $$) &' h0001 'sleep 1'
checked "... when it has started" "not checked: .*h0001"
conf Timeout 30
wrap 'sleep 1000'
checked "a probe that hangs" \
    "1 node did not answer: h0003|PMI-2: not all of the 4 nodes came within"
wrap 'exit 0'
checked "a probe that leaves" "not checked: (timed out|PMIx|PMI-2)"
conf Timeout $((15 * patience))
conf Probe "$workdir/nothing-here"
checked "no probe" "nothing-here|without a result"
conf Probe "$workdir/pmm-probe"

emu_down
checked "the emulator gone" "$workdir/emu"
noisy_emu

cp fabric good
chmod 600 fabric
checked "a snapshot the user may not read" "fabric.*[Pp]ermission"
chmod 644 fabric
head -c 3000 good >fabric
checked "a snapshot cut short" "fabric:"
printf 'root:x:0:0\n' >fabric
checked "a foreign file" "fabric:1"
head -c 100000 /dev/urandom >fabric
checked "a hostile file" "fabric"
rm fabric
checked "no snapshot" "fabric"
pmm fabric generate fat-tree --ports 4 --levels 1 -o fabric
checked "a host that is not in the fabric" "h000[5-8]" -w 'h[0004-0007]'
pmm fabric generate fat-tree --ports 8 --levels 2 --routing minhop -o fabric
checked "a snapshot that is not what the network is" "pmm: " || true
mv good fabric

echo "Snapshoot = /x" >>pmm.conf
checked "a key that does not exist" "pmm.conf:[0-9]+.*Snapshoot"
sed -i '$d' pmm.conf
checked "all well again" "pmm: (OK|UNKNOWN|WARN)"

emu_down
out=$(cd / && as_user srun -Q -N4 --pmm-check=require /bin/echo it runs 2>&1)
is "$?" 1 "required, and it could not run: srun fails"
is "$(grep -c '^it runs$' <<<"$out")" 0 "... and the job does not start"
states () { sinfo -h -N -p main -o %T | sort -u; }
all_idle () { [[ $(states) == idle ]]; }
within 10 all_idle # the last job's nodes are completing
is "$(states)" idle "no node was drained by any"

done_testing
