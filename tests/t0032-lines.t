#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each command line of README, docs/ and the man pages' blocks with pmm or srun is
# run as it stands, in the order of its file, by what make install installed, in a
# Slurm of six nodes over an emulated wire, beside the files that it names. One
# table fills in what is an example; another says which lines do not run, and why.
# (Blocks "```sh run" are t0008's.)

# shellcheck disable=SC2154,SC2317 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need make pmm-emu jq ibsim opensm ibnetdiscover ibportstate dump_fts
id slurm &>/dev/null || skip_all "no user slurm"
pmm audit --help >/dev/null 2>&1 || skip_all "built without Slurm or the ledger"
clean_root
cd "$workdir" || exit
pmm=$(type -P pmm)
conf=$(strings "$pmm" | grep -o '/.*/slurm-pmm/pmm[.]conf$')
etc=${conf%/*}
rm -rf "$etc" /etc/slurm /var/{lib,spool}/slurm-pm*

#
# The lines
#
# lines FILE: those of its blocks, then those of its text that have an argument
# beside a verb's; whole, without prompt and comment. An empty line: what follows has
# nothing to do with what was before.
lines ()
{
    awk '
        function put(s) {
            sub (/^[ ]*[$#]? */, "", s); sub (/  +# .*/, "", s)
            gsub (/\\f[A-Z]|\\&/, "", s); gsub (/\\-/, "-", s)
            gsub (/  +/, " ", s); sub (/ $/, "", s)
            if (s ~ /^[^|`]*(^|; |=[^ ]* )(pmm(-[a-z]+)*|srun|salloc|sbatch) / &&
                s !~ /^pmm(-[a-z]+)?( [a-zA-Z]+:| [^a-z-])/)
                if (!said[s]++)
                    print s
        }
        !code && /^(#|\.SH|\.Verb)/ { print "" }
        /^ *```/ { code = !code; run = /sh run/; next }
        /^\.nf/ { code = 1; run = 0; next }
        /^\.fi/ { code = 0 }
        code && run { next }
        code || held != "" || /^     *[^ |*-]/ {
            if (sub (/ *\\e?$/, " ") || /\|$/) { held = held $0; next }
            put(held $0); held = ""; next
        }
        { held = "" }
        FILENAME !~ /[.]in$/ { text = text $0 " " }
        END {
            print ""
            n = split (text, part, "`")
            for (i = 2; i <= n; i += 2)
                if (part[i] ~ /^(pmm|srun).* (-|[A-Z0-9]|h0)/)
                    put(part[i])
        }' "$1"
}

# What is an example: what is here, and what would wait.
fill ()
{
    sed -E "
        s/-N(64|16|8)\>/-N6/; s/-n64/-n24/; s/node\[001-064\]/$nodes/
        s/h\[1-6\]/$nodes/; s/-w a,b/-w h0001,h0002/; s/0009,0013/0017,0021/
        s/leaf 3\/17|LINK/s1-0001\/3/; s/NODE\>/h0005/
        s/--mpi=pmix/--mpi=$mpi/; s/--lengths 1048576/--lengths 65536 --repeats 3/
        s/JOBID/$job/; s/(why|show) 58/\1 1/
        s/COPY BASELINE/baseline.pmm baseline.pmm/; s/DIRECTORY/base/
        s|/shared/|$workdir/shared/|
        s/^sbatch/& --wait/; s/^salloc .*/& true/" <<<"$1"
}

# What does not run: REGEX, why.
stands ()
{
    local regex why
    while read -r regex why; do
        [[ ! $1 =~ ^(${regex//_/ })$ ]] || { echo "$why"; return; }
    done <<'END'
pmm_audit_--serve runs until it is ended: t0860
pmm_[a-z]+_-(f|-hosts|-pairs|-signs|-html|-check) names an option
pmm_fabric_accept_LINK_--off is one of docs/fabric.md, where something is accepted
pmm_fabric_accept_h0007_.* is of a host that lacks rails: t0241
pmm-probe_--output names an option
pmm_check_--rates names an option
srun_(-N1_)?--(pmm-check(=[a-z,]+)?|mpi=pmix|distribution=arbitrary|exclude=h0030) names an option
srun_--jobid=JOB_.* is a part of a step that the plugin starts: t0500
.*/dev/infiniband.* needs an RDMA device: t0710
END
    return 1
}

#
# A site
#
with_fabric 8 2 ftree
with_cluster h0001,h0002,h0005,h0006,h0017,h0021 --slurm-user slurm \
    --plugstack <(:)
make -s -C "$builddir" install >out 2>&1
ok $? "make install" || { diag "$(tail -n 3 out)"; done_testing; }
bin=$(strings "$pmm" | grep -o '/.*/pmm-probe$')
PATH=${bin%/*}:$PATH
hash -r
mkdir -p "$workdir/shared" "${etc%/*}"
pmm setup --shared "$workdir/shared/slurm-pmm" --apply >out 2>&1
ok $? "pmm setup" || diag "$(<out)"
printf '%s\n' 'Transport = emu' "EmuSocket = $workdir/emu" 'AuditEvery = 0' \
    "Timeout = $((60 * patience))" "Spool = $workdir/spool" >>"$conf"
pmm setup --apply >out 2>&1
cat "$etc/plugstack.conf" >>"$workdir/slurm/etc/plugstack.conf"
# A cable that pmm fabric check finds, at a host without a node.
lid=$(on_host h0001 ibnetdiscover | sed -nE 's/^Switch.*"s1-0001".* lid ([0-9]+) .*/\1/p')
on_host h0001 ibportstate "$lid" 3 width 1 >/dev/null 2>&1
on_host h0001 pmm fabric read --publish >out 2>&1
ok $? "a snapshot" || diag "$(<out)"
emu_up shared/slurm-pmm/fabric --noise 20
chmod 666 emu
for _ in 1 2; do as_slurm pmm audit --all; done >out 2>&1
ok $? "audits" || diag "$(<out)"
job=$(sbatch --parsable --wait -N2 --pmm-check --wrap true)
ok $? "a job that is checked"

#
# What lines take from others
#
mkdir given
(
    set -e
    cd given
    data=$srcdir/ibquery/test/data
    cp "$workdir/shared/slurm-pmm/fabric" fabric.pmm
    for name in fabric {old,sample,today,yesterday}.pmm; do
        cp fabric.pmm "$name"
    done
    on_host h0001 ibnetdiscover >topology.txt
    on_host h0001 dump_fts >dump_fts.txt 2>/dev/null
    cp "$data/tree.db_csv" ibdiagnet2.db_csv
    cp "$data/tree.ibdiagnet.fdbs" ibdiagnet2.fdbs
    on_host h0001 pmm fabric counters >before.txt
    cp before.txt counters
    printf 'h00%02d\n' {1..32} >nodes
    pmm fabric show -f fabric.pmm --json | jq -r '.links[] | [.a, .b] |
        map("\(.name | sub (" .*"; "")),\(.port)") | join(",")' >cables.csv
    pmm plan -f fabric.pmm --hosts "$nodes" -o plan.json
    for name in baseline samples; do
        pmm simulate -f fabric.pmm --plan plan.json --noise 20 -o $name.json
    done
    eight="h[0001-0008]"
    pmm-compare plan one-factor -f fabric.pmm --hosts "$eight" -o pairs.json
    for name in series yesterday today; do
        pmm simulate -f fabric.pmm --plan pairs.json --noise 20 -o s.json
        pmm solve -f fabric.pmm --plan pairs.json --samples s.json --pairs \
            -o $name.json
    done
    cp "$workdir/shared/slurm-pmm/baseline.pmm" .
    srun -N6 --pmm-output=check.json true
    srun -N6 --mpi="$mpi" pmm-probe --output base
    printf '#!/bin/sh\n' | tee app job.sh >/dev/null
    chmod 755 app job.sh
    for ((i = 0; i < 24; i++)); do echo "$i $(((i + 1) % 24)) 100"; done >app.graph
) >out 2>&1
ok $? "files" || diag "$(<out)"

#
# They run
#
run_line ()
{
    local line=$1 as=(env)
    case $line in
    pmm\ audit* | pmm\ ledger* | pmm\ policy*) as=(as_slurm) ;;
    *fabric\ read* | *fabric\ counters* | ibnetdiscover*) as=(on_host h0001) ;;
    esac
    "${as[@]}" bash -c "cd '$workdir/here' && $line" </dev/null
}

# passed STATUS LINE: srun's is that of its program; 3 is a pmm that cannot tell.
passed ()
{
    case $2 in
    *srun\ * | sbatch\ * | salloc\ *) (($1 == 0)) ;;
    *) (($1 == 0 || $1 == 1 || $1 == 3)) ;;
    esac
}

total=0
for file in $(cd "$srcdir" && echo README.md docs/*.md man/*.in); do
    while IFS= read -r line; do
        if [[ ! $line ]]; then
            rm -rf here
            cp -r given here
            continue
        fi
        ((++total))
        ! why=$(stands "$line") || { skip "$file: $line" "$why"; continue; }
        run=$(fill "$line") running=
        case $line in
        pmm\ check\ 4711 | pmm\ check\ JOBID | *--jobid=4711*)
            running=$(sbatch --parsable -N6 --wrap "sleep 600")
            for ((i = 0; i < 300; i++)); do
                [[ $(squeue -h -o %t -j "$running") != R ]] || break
                sleep 0.1
            done
            run=$(fill "$(sed -E "s/4711|JOBID/$running/" <<<"$line")") ;;
        esac
        run_line "$run" >out 2>&1
        status=$?
        [[ ! $running ]] || scancel --full "$running"
        passed $status "$run" && ! grep -qiE 'usage:|unrecognized|core dumped|'\
'unknown (option|verb)|cannot (access|open|read|start|write)' out
        ok $? "$file: $line" || diag "$run: $status: $(tail -n 3 out)"
    done < <(lines "$srcdir/$file")
done
like $total '^([89].|1..)$' "there are some" || diag "$total lines"

done_testing
