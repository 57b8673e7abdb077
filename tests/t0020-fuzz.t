#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each parser survives a fuzzer, under sanitizers: for FUZZ_SECONDS each, 2 by
# default, 600 with PMM_LONG, optimised for these. What it finds is printed, for the corpus.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need autoreconf clang make base64
seconds=${FUZZ_SECONDS:-${PMM_LONG:+600}}
seconds=${seconds:-2}
workdir
cd "$workdir" || exit 1

echo 'int LLVMFuzzerTestOneInput (const char *s, long n) { return !s && n; }' \
    >engine.c
clang -fsanitize=fuzzer engine.c -o engine 2>/dev/null \
    || skip_all "clang has no fuzzing engine"

# It takes longer to optimise the parsers than to run them for some seconds.
flags='-g1 -O0 -fsanitize=fuzzer-no-link,address,undefined'
flags="$flags -fno-sanitize-recover=all -fno-omit-frame-pointer"
[[ ! ${PMM_LONG-} ]] || flags="$flags -O1"
flags="$flags -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
mkdir build found
(cd build && "$srcdir/configure" -q CC=clang CFLAGS="$flags" &&
    make -s -j"$(nproc)" fuzz-programs) >log 2>&1
ok $? "the targets are built" || diag "$(tail -n 20 log)"

# fuzz TARGET: its exit status and output to files
fuzz ()
{
    mkdir "new.$1"
    timeout $((seconds + 60 * patience)) "build/tests/fuzz/$1" \
        -max_total_time="$seconds" -timeout=$((10 * patience)) \
        -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="found/$1-" "new.$1" \
        "$srcdir/tests/fuzz/corpus/$1" >"log.$1" 2>&1
    echo $? >"status.$1"
}
export -f fuzz
export seconds srcdir patience

targets=()
for dir in "$srcdir"/tests/fuzz/corpus/*/; do
    targets+=("$(basename "$dir")")
done
printf '%s\n' "${targets[@]}" |
    xargs -P "$(nproc)" -I{} bash -c 'fuzz "$1"' fuzz {}

for target in "${targets[@]}"; do
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "log.$target")
    [[ $(<"status.$target") == 0 && $runs -gt 0 ]]
    ok $? "$target: $runs inputs in $seconds s" && continue
    diag "$(grep -E 'ERROR|SUMMARY|#[0-9] ' "log.$target" | head -n 15)"
    for input in found/"$target"-*; do
        diag "$(basename "$input"): $(head -c 3000 "$input" | base64 -w 0)"
    done
done

done_testing
