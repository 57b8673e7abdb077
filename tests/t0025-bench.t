#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every program in bench/ runs once, with --smallest: it succeeds, prints figures,
# and no command of it says that something is wrong. What takes no --smallest is
# run by a script there that does.

. "$(dirname "$0")/lib.sh"
need make
workdir
make -s -C "$builddir" bench-programs >"$workdir/made" 2>&1
ok $? "the benchmarks are built" || diag "$(tail -n 5 "$workdir/made")"
export srcdir builddir
mkdir "$workdir/run"
cd "$workdir/run" || exit
scripts=$(grep -l '^#!' "$srcdir"/bench/* 2>/dev/null)
sources=$(grep -l '^int main (' "$srcdir"/bench/*.c)

# What is printed before the figures
heads='processors|load|bench/'
number='(^|[ |])[+-]?[0-9]+([.][0-9]+)?([ |%]|$)'

# wrong PROGRAM: why it is not right, if it is not; its output is in ./out
wrong ()
{
    local status=0
    timeout $((60 * patience)) "$1" --smallest >out 2>err </dev/null || status=$?
    if ((status)); then
        echo "it ends with $status"
    elif [[ -s err ]]; then
        echo "it says that something is wrong"
    elif [[ $(<out) == '1..0 # SKIP '* ]]; then
        echo "skipped: $(sed 's/.*SKIP //' out)"
    elif grep -qiwE 'nan|inf|null' out; then
        echo "it prints what is no number"
    elif ! grep -vE "$heads" out | grep -qE "$number"; then
        echo "it prints no figure"
    fi
}

declare -A result=()
# bench NAME PROGRAM
bench ()
{
    local why
    why=$(wrong "$2")
    result[$1]=${why:-right}
    if [[ $why == skipped:* ]]; then
        skip "$1" "${why#*: }"
    else
        is "$why" "" "$1" || diag "$(tail -n 5 out)" "$(tail -n 5 err)"
    fi
}

for script in $scripts; do
    bench "${script##*/}" "$script"
done
for source in $sources; do
    name=$(basename "$source" .c)
    if ! grep -q 'smallest (argc, argv)' "$source"; then
        by=$(grep -lE "[$]bench/$name\\b" $scripts | head -n 1)
        by=${by##*/}
        if [[ $by && ${result[$by]} == skipped:* ]]; then
            skip "$name, by $by" "${result[$by]#*: }"
        else
            is "${by:+${result[$by]}}" right "$name, by ${by:-no script}"
        fi
    elif [[ -x $builddir/bench/$name ]]; then
        bench "$name" "$builddir/bench/$name"
    else
        skip "$name" "not built"
    fi
done

done_testing
