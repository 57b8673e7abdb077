#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What programs show on a terminal alone: at what they work, and colours. A pipe, a
# file or a log never has them.

. "$(dirname "$0")/lib.sh"
need pmm script jq
workdir
cd "$workdir" || exit 1

# on_terminal COMMAND: what a terminal gets from it
on_terminal () { TERM=xterm script -qec "$1" /dev/null </dev/null; }

# screen: what remains on it: text after a carriage return goes over the line
screen ()
{
    awk '{
        n = split ($0, part, "\r")
        line = ""
        for (i = 1; i <= n; i++)
            line = part[i] substr (line, length (part[i]) + 1)
        sub (/ +$/, "", line)
        print line
    }'
}

# A plan that takes some time: of every third host.
pmm fabric generate fat-tree --ports 16 --levels 3 --routing minhop -o f.pmm
long="pmm plan -f f.pmm --budget 2 --hosts $(seq -f 'h%04g' 1 3 1024 | paste -sd,)"
said=$($long -v 2>&1 >plan.json)
is "$(head -c 15 <<<"$said") $(cat plan.json - <<<"$said" | tr -dc '\r' | wc -c)" \
    "pmm plan: 342 e 0" "a pipe and a file get no progress"
$long -v >both 2>&1 # as on a terminal: one after the other
is "$(head -n 1 both | jq -r .kind) $(sed -n '2s/:.*//p' both)" "plan pmm plan" \
    "what is said of a plan follows all of it"
shown=$(on_terminal "$long")
progress=$'\rpmm plan: [0-9]+ s, (placing|finding missing) probes'
like "${shown:0:200}" "$progress" "a terminal does"
is "$(screen <<<"$shown" | sed 's/^{"kind":"plan".*}$/{}/' | head -c 200)" "{}" \
    "... until there is output"
shown=$(on_terminal "$long -o missing/plan.json")
like "$shown" "$progress" "a terminal, again"
is "$(screen <<<"$shown")" \
    "pmm plan: cannot write missing/plan.json: No such file or directory" \
    "... until there is an error"

# Colours: of a verdict. Nothing else differs.
pmm fabric generate fat-tree --ports 4 --levels 2 -o f.pmm
pmm plan -f f.pmm -o plan.json
pmm simulate -f f.pmm --plan plan.json --noise 20 -o baseline.json
pmm simulate -f f.pmm --plan plan.json --noise 20 --seed 2 --slow h0003/1=+800 \
    -o samples.json
judge="pmm judge -f f.pmm --plan plan.json --samples samples.json"
judge+=" --baseline baseline.json"
$judge -o verdict.json
report="pmm report -f f.pmm verdict.json"
plain=$($report)
like "$plain" '^pmm: FAIL: ' "a pipe gets no colour"
red=$'\e\\[1;31mFAIL\e\\[0m'
shown=$(on_terminal "$report")
like "$shown" "^pmm: $red: a cable is 8[0-9]* ns slow" "a terminal does, for levels"
is "$(sed $'s/\e\\[[0-9;]*m//g' <<<"$shown" | screen)" "$plain" \
    "... and the rest is the same"
is "$(NO_COLOR=1 on_terminal "$report" | screen)" "$plain" "NO_COLOR: none"
like "$(NO_COLOR='' on_terminal "$report")" "$red" "... unless it is empty"
is "$(on_terminal "TERM=dumb $report" | screen)" "$plain" "a dumb terminal: none"
is "$(on_terminal "$report --color never" | screen)" "$plain" "--color never"
like "$($report --color always)" "$red" "--color always: in a pipe, too"
on_terminal "$report --color always -o shown" >/dev/null
is "$(<shown)" "$plain" "... but not in a file"
is "$(on_terminal "$judge" | jq -r .status)" FAIL "nor in JSON"

done_testing
