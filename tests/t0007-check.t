#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# contrib/check and contrib/again, on a tree of a few tests that fail when they are
# told to: what is red, what is flaky and for how long, what is skipped, and parts.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need make prove
workdir
cd "$workdir" || exit 1

mkdir -p tree/contrib/vm tree/build tree/tests
cp "$srcdir"/contrib/{check,again} tree/contrib/
cp "$srcdir/tests/whole" tree/tests/
printf '#!/bin/sh\n' | tee tree/contrib/setup >tree/contrib/vm/vm
chmod +x tree/contrib/{setup,vm/vm}
cat >tree/build/Makefile <<'END'
run = srcdir=$(CURDIR)/.. builddir=$(CURDIR) prove --exec ../tests/whole \
	$(PROVE_FLAGS)
tests = $(1:%=$(CURDIR)/../tests/%.t)
print-parts:
	@echo vm fuzz
	@echo arm64
check-programs:
check-default:
	$(run) $(call tests,well racy skips)
check-parts check-rest:
	@echo parts $(PARTS), full $(PMM_FULL), long $(PMM_LONG)
	$(run) $(call tests,well)
check-again:
	$(run) $(AGAIN)
END
test_file () { { echo '#!/bin/bash'; cat; } >"tree/tests/$1.t"; }
test_file well <<<'echo 1..1; echo ok 1 - well'
test_file skips <<<'echo 1..2; echo ok 1 - one; echo "ok 2 - two # SKIP no moon"'
printf '#!/bin/sh\necho "at $1 $2 $3"; shift 3; exec "$@"\n' >tree/tests/at
chmod +x tree/tests/at
# Fails as often as ./fail says
test_file racy <<END
n=\$(cat $workdir/fail)
((n == 0)) || { echo \$((n - 1)) >$workdir/fail; echo not ok 1 - race >&2; }
echo 1..1
((n > 0)) && { echo not ok 1 - race; exit 1; }
echo ok 1 - race
END
chmod +x tree/tests/*.t

# check FAILURES OPTION...: its status; ./out has what it said
check ()
{
    echo "$1" >fail
    env -u PMM_FULL -u PMM_LONG tree/contrib/check "${@:2}" >out 2>&1
}

check 0
is $? 0 "all pass"
is "$(tail -n 1 out)" "check: 3 passed, 0 failed, 1 skipped" "... the last line"
like "$(tail -n 2 out | head -n 1)" \
    '^check: [0-9]+ s, of which the build took [0-9]+; 3 files, [0-9]+ CPU s$' \
    "... before it, how long it took"
is "$(grep -A1 '^check: skipped' out | tail -n 1 | xargs)" \
    "1 tests/skips.t: no moon" "... and what was skipped, and why"
check 0 --strict
is $? 1 "--strict: what is skipped fails"

check 2
is "$? $(grep -E '^(flaky|failed):' out)" "1 failed: tests/racy.t" \
    "what fails twice is red"
for run in 1 2; do
    check 1
    is "$? $(grep -E '^(flaky|failed):' out)" "0 flaky: tests/racy.t" \
        "run $run: what passes alone is flaky"
    is "$(<tree/build/flaky)" "tests/racy.t $run" "... that is kept"
    like "$(<tree/build/first/tests/racy.t)" 'not ok 1' \
        "... and what it said at first"
done
check 1
is "$? $(grep -E '^(flaky|failed):' out)" "1 failed: tests/racy.t" \
    "run 3: it gets no second try"
check 1
is $? 1 "... nor in the next one"
check 0
is "$? $(<tree/build/flaky)" "0 " "a run in which it passes ends that"
check 1
test_file skips <<<'echo 1..1; echo ok 1 - one'
chmod +x tree/tests/skips.t
check 1 --strict
is $? 1 "--strict: what is flaky fails"

check 0 --full
is "$? $(grep ^parts out)" "0 parts vm fuzz, full 1, long" "--full: all parts"
check 2 --full
is "$? $(grep '^check: not run' out)" \
    "1 check: not run, since the default is red: vm fuzz" \
    "... not if the default is red"
check 0 --long
is "$? $(grep ^parts out)" "0 parts vm fuzz arm64, full 1, long 1" "--long"
check 0 --full arm64
is "$? $(grep ^parts out)" "0 parts arm64, full 1, long" "one part"
is "$(grep -c racy.t out)" 0 "... alone"
check 0 --full moon
is "$? $(tail -n 1 out)" "2 check: no part is called moon: vm fuzz arm64" \
    "a part that there is not"
check 0 vm
is $? 2 "a part without --full"
check 0 --at 2028-02-29 --zone Europe/Berlin
is "$? $(grep '^at ' out)" "0 at --zone Europe/Berlin 2028-02-29" "another date"
check 0 --at
is $? 2 "... which is missing"

# Once more and once more
rm -f tree/build/{flaky,again}
echo 1 >fail
tree/contrib/again 2 >out 2>&1
is $? 0 "contrib/again 2"
like "$(head -n 1 tree/build/again)" \
    ' exit 0 after [0-9]+ s flaky tests/racy.t$' "... a line of the first run"
is "$(grep -c ' exit 0 after ' tree/build/again)" 2 "... and of the second"
is "$(tail -n 1 out)" "1 of 2: flaky tests/racy.t" "... who was flaky how often"
tree/contrib/again 3 >out 2>&1
is "$(wc -l <tree/build/again) $(grep -c exit out)" "3 1" \
    "contrib/again 3 goes on where it was"

done_testing
