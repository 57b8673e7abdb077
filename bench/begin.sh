# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# begin.sh - what scripts in bench/ share.  Sourced first, with tests/lib.sh, by
# each of them.
#
#   $smallest        whether the first argument was --smallest, which is gone then.
#                    Each program in bench/, C too (bench/need.h), does the least
#                    that shows that it works if it gets that, before what it gets
#                    else. tests/t0025-bench.t runs all of them so, and whatever is
#                    on standard error fails it
#   $bench           the built programs' folder
#   built PROGRAM... skips where these of them are not built
#   answer COMMAND...
#                    it may exit with 1 or 3, as pmm does for FAIL and UNKNOWN
#
# The first command that fails ends a benchmark, and is named. So is one whose
# output is not read to its end: `sed -n 1p` does that, `head -n 1` does not.

set -eEu -o pipefail
trap 'echo "${0##*/}: line $LINENO: failed: $BASH_COMMAND" >&2' ERR
. "$(dirname "${BASH_SOURCE[0]}")/../tests/lib.sh"
builddir=$(cd "$builddir" && pwd)
bench=$builddir/bench
smallest=''
[[ ${1-} != --smallest ]] || { smallest=yes; shift; }

built ()
{
    local program
    for program; do
        [[ -x $bench/$program ]] || skip_all "not built: make bench/$program"
    done
}

answer ()
{
    local status=0
    "$@" || status=$?
    ((status == 0 || status == 1 || status == 3))
}
