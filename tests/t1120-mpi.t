#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm-probe-mpi in a real Slurm: what MPI's operations cost, each exchange, pattern
# and topology, and what is said where processes are too few or are not where they
# should be. Exchanges that MPI alone has, and messages that MPI carries, are this
# test's; t1110 has the same tests over the emulator, t1125 a process that is lost
# and Slurm ends the others.
# PMM_FULL: over MPICH, too, by more processes, and a process is lost while the
# launcher leaves the others waiting. PMM_LONG: all of it over both.

. "$(dirname "$0")/lib.sh"
need srun jq
(($(nproc) >= 2)) || skip_all "nodes of two processes need two cores"
with_mpi_cluster 4
cd "$workdir" || exit 1

job=$(salloc -N4 --exclusive --no-shell 2>&1 | sed -n 's/.*allocation //p')

# step N PROGRAM...: N processes, on as many nodes as there are
step ()
{
    local n=$1
    shift
    timeout 600 srun -Q --jobid="$job" --mpi="$pmi" -N$((n < 4 ? n : 4)) \
        -n"$n" --ntasks-per-node=$(((n + 3) / 4)) "$@" 2>err
}

# said [FILE...]: the program's own words on standard error
said () { grep -h "^$prog:" "${@:-err}"; }

# Words that each table has, one a line.
operations="timer (DT)
barrier (DB)
allreduce of 1 integer
allreduce of 10 integers
reduce of 1 integer
reduce of 10 integers
broadcast of 1 integer
gather of 1 integer of each
non-blocking send of 10 integers, with wait
iprobe, without a message
blocking send of 10 integers
sendrecv of 1 integer
send, then receive 10 integers
5 persistent sends of 1 integer, started at once
5 non-blocking sends of 1 integer, with wait
signal: an empty message there and back"

test_operations ()
{
    local n
    for n in 2 ${PMM_LONG:+3 4} ${PMM_FULL:+8}; do
        rm -f costs
        step "$n" "$probe" operations --repeats 2 --warm-up 0 \
            --fast-repeats 10 -o costs >table
        is $? 0 "$mpi: operations by $n processes" || diag "$(<err)"
        is "$(sed -nE 's/^ *-?[0-9.]+ +[0-9.]+  //p' table)" "$operations" \
            "... each has its line"
        is "$(jq -c '[.kind, .processes, .hosts, .repeats,
            (.operations | length), ([.operations[].us
                | select(.min <= .median and .median <= .max)] | length)]' \
            costs)" \
            "[\"operations\",$n,$((n < 4 ? n : 4)),2,16,16]" \
            "... in the file, too"
    done
    is "$(jq '.operations[0].us | .mean > 0 and .mean < 1000' costs)" true \
        "... reading the timer costs something"
    step 2 "$probe" operations --repeats 1 --warm-up 0 --fast-repeats 10 \
        -o costs >table
    is "$? $(grep -cE '^ *-?[0-9.]+ +-  ' table) $(jq -c \
        '[.operations[].stderr_us] | unique' costs)" "0 16 [null]" \
        "... one repeat: no standard error"
    preempted
}

# Something else has the processors while the barrier is measured, and no more
# from the second operation on.
preempted ()
{
    cc -shared -fPIC -o preempt.so preempt.c \
        || { skip "$mpi: preempted" "there is no C compiler"; return; }
    step 2 env LD_PRELOAD="$PWD/preempt.so" "$probe" operations --repeats 20 \
        --warm-up 0 --fast-repeats 10 -o costs >table
    is "$? $(jq -c '[.operations[1].us.median > 15000,
        ([.operations[] | select(.us.median < -5000
            and .us.median < -6 * .stderr_us)] | length)]' costs)" \
        "0 [true,0]" "$mpi: barriers were slow for a while: no operation costs less" \
        || diag "$(<table)"
}
cat >preempt.c <<'END'
#include <unistd.h>
/* a communicator is a pointer or an int */
int PMPI_Barrier (void *comm);
int MPI_Barrier (void *comm)
{
    static int n;

    if (n++ < 30)
        usleep (20000);
    return PMPI_Barrier (comm);
}
END

# Each measures all that there is: pairs, or shapes, with times above zero.
test_exchanges ()
{
    local n kind
    for kind in sendrecv nonblocking persistent ready buffered round-trip \
        one-way both-ways async; do
        step 2 "$probe" pairs -x "$kind" -l 0,1k,256k -n 3 -o pairs \
            >table
        is "$? $(pairs pairs)" "0 $kind mpi 2 2 6 6" "$mpi: $kind" \
            || diag "$(<err)"
    done
    for n in 3 ${PMM_LONG:+4} ${PMM_FULL:+8}; do
        step "$n" "$probe" pairs -x nonblocking -n 2 --warm-up 1 -o pairs \
            >table
        is "$? $(pairs pairs)" "0 nonblocking mpi $n $((n < 4 ? n : 4)) \
$((n * (n - 1))) $((n * (n - 1)))" "$mpi: pairs of $n processes" \
            || diag "$(<err)"
        step "$n" "$probe" topology -l 1k -n 2 --warm-up 1 -o topology >table
        is "$? $(jq -c '[.complete, (.topologies | length)]' topology)" \
            '0 [true,6]' "... and their topologies" || diag "$(<err)"
    done
    step 4 "$probe" pairs -p all-to-all,one-to-one,bisection -n 2 -o pairs \
        >table
    is "$? $(pairs pairs)" "0 async mpi 4 4 16 16
round-trip mpi 4 4 12 12
round-trip mpi 4 4 8 8" "$mpi: other patterns" || diag "$(<err)"
    step 4 "$probe" noise -n 2 --noise-length 64k -o noise >table
    is "$? $(pairs noise)" "0 both-ways mpi 4 4 12 12
both-ways mpi 4 4 12 12" "$mpi: noise" || diag "$(<err)"
}

# A process is lost, and the launcher leaves the others waiting, until the time
# is over. What had been measured is there. How soon that is depends on the
# machine. As for the files of standard output, see t1125.
test_loss ()
{
    local after
    [[ $mpi != openmpi || $(ompi_info --version) != *v[5-9].* ]] || {
        skip "$mpi: a process is lost" \
            "Open MPI ends all processes at once since 5"
        return 1
    }
    for after in 3 12 40 160; do
        rm -f lost
        step 4 -o table.%t -e err.%t "$workdir/mortal" "$after" "$probe" \
            pairs -l 0,32M -n 90 --timeout $((after + 1)) -o lost
        [[ -s lost && $(pairs lost) != *" 0 0" ]] && break
    done
    is "$(pairs lost) $(jq .complete lost)" "round-trip mpi 4 4 12 12 false" \
        "$mpi: a process is lost, the rest is kept"
    like "$(<table.0)" 'incomplete: not all was measured' "... which is said"
    is "$(said err.*)" "$prog: timed out after $((after + 1)) s" "... why, too"
}

cat >mortal <<'X'
#!/bin/bash
# mortal SECONDS PROGRAM...: task 2 lives no longer than that
[[ $SLURM_PROCID != 2 ]] || { sleep "$1" && kill -KILL $$; } &
shift
exec "$@"
X
chmod 755 mortal

# What the runs of a series have: exchange, transport, processes, hosts, pairs,
# pairs that took time.
pairs ()
{
    jq -r '[.exchange, .transport, (.processes | length),
        (.processes | map(.host) | unique | length), (.pairs | length),
        ([.pairs[] | select(.lost == 0 and .time_ns.min > 0)] | length)]
        | join(" ")' "$1"
}

test_refusals ()
{
    step 1 "$probe" operations >out
    like "$? $(said)" "^2 $prog: operations needs 2 processes, this is 1: " \
        "$mpi: one process: exit 2"
    step 2 "$probe" operations --repeats 2 -o /nowhere/costs >out
    like "$? $(said)" "^3 $prog: cannot .*/nowhere" \
        "... costs that cannot be written: exit 3"
}

test_arguments ()
{
    step 2 "$probe" operations --repeats 0 >out
    is "$? $(said)" "2 $prog: --repeats: '0' is not from 1 to 1000000" \
        "... no repeats: exit 2, said by one"
    step 2 "$probe" operations --append -o costs >out
    like "$? $(said)" "^2 $prog: .*--append" \
        "... costs that are to be appended"
    step 2 "$probe" pairs -x push >out
    like "$? $(said)" "^2 $prog: 'push' is not an exchange; there are " \
        "... no such exchange"
    step 2 "$probe" topology >out
    is "$? $(said)" "2 $prog: topologies have 3 processes or more, not 2" \
        "... two processes are no topology"
    step 2 "$probe" pairs -x buffered -l 1k --buffer 1000 >out
    like "$? $(said)" "^2 $prog: a message of 1024 bytes needs a send buffer" \
        "... a send buffer that is too small"
    step 2 "$probe" operation >out
    like "$? $(said)" "^2 $prog: unknown test 'operation'" "... no such test"
    step 8 "$probe" operations --label host >out
    like "$? $(said)" "^2 $prog: h0001 has several processes: " \
        "... two on a host, to be called by its name"
    timeout 600 srun -Q --jobid="$job" --mpi="$pmi" -w h0001 -n4 \
        taskset -c 0 "$probe" pairs -n 1 --warm-up 0 -o pairs >out 2>err
    is "$? $(pairs pairs) $(said)" "0 round-trip mpi 4 1 12 12 $prog: \
warning: h0001: more processes than the 1 core that they may use: times are wrong" \
        "... four on one core are measured, with a warning"
    is "$(jq -r '[.processes[].label] | sort | join (" ")' pairs)" \
        "h0001:0 h0001:0.2 h0001:0.3 h0001:0.4" "... by names of their own"
}

prog=pmm-probe-mpi once=
for mpi in openmpi:pmix ${PMM_FULL:+mpich:pmi2}; do
    pmi=${mpi#*:}
    mpi=${mpi%:*}
    srun --mpi=list 2>&1 | grep -qw "$pmi" \
        || { skip "$mpi" "this Slurm has no $pmi"; continue; }
    probe=$(type -P "$prog.$mpi") \
        || { skip "$mpi" "$prog was not built for it"; continue; }
    test_operations
    test_exchanges
    test_refusals
    [[ $once && ! ${PMM_LONG-} ]] || {
        test_arguments
        [[ ! ${PMM_FULL-} ]] || test_loss && once=yes
    }
done

done_testing
