#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What only Debian 13 shows: gcc 14, Slurm 24.11, PMIx 5 and Open MPI 5 there
# build all without a warning, unit tests without optimising them, and pass the
# demo (a drain and a resume by that Slurm are its story), the unit tests of the
# rooms that meet these, and the system tests that meet Slurm's own ways. PMM_LONG:
# on forky, too, and all of them.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "only root can make a chroot"
need debootstrap unshare ip
unshare -m true 2>/dev/null || skip_all "there are no mount namespaces here"
workdir

# How a suite is tried, in the chroot: each step by its name and status.
cat >"$workdir/try" <<'END'
step ()
{
    name=$1
    shift
    echo "begin $name"
    "$@" 2>&1
    echo "end $name $?"
}
build ()
{
    autoreconf -fi >/dev/null && mkdir -p build && cd build \
        && ../configure -q --enable-werror CFLAGS=-O2 && make -s -j"$(nproc)" all \
        && make -s -j"$(nproc)" CFLAGS=-O0 check-programs bench-programs
}
step build eval '(build)'
# What only computes is tested by gcc 12, and under the sanitizers.
step unit make -s -C build check-local PROVE_FLAGS=-j2 \
    TESTS_BUT="${PMM_LONG:-prolog/test/seasons.t}" \
    TESTS_OF="${PMM_LONG:+%} probe/% prolog/% report/% spank/% util/%"
step demo contrib/demo
for test in $tests; do
    step "$test" prove "tests/$test"
done
END

# try SUITE TEST...
try ()
{
    local suite=$1 log=$workdir/$1.log name
    shift
    out=$("$srcdir/contrib/chroot" --prepare "$suite" 2>&1)
    [[ $? != 125 ]] || { skip "$suite" "${out##*$'\n'}"; return; }
    "$srcdir/contrib/chroot" "$suite" bash -c \
        "tests='$*'; $(<"$workdir/try")" >"$log" 2>&1
    for name in build unit demo "$@"; do
        grep -qx "end $name 0" "$log"
        ok $? "$suite: $name" \
            || diag "$(sed -n "/^begin $name\$/,/^end $name /p" "$log" |
                grep -v '^ok ' | tail -n 40)"
    done
}

some=(t0500-plugin.t t0510-without.t t0820-controller.t t0830-comments.t)
if [[ ${PMM_LONG-} ]]; then
    some+=(t0100-cluster.t t0400-probe.t t0520-users.t t0810-ledger.t
        t0840-hooks.t t0850-audit.t t0860-serve.t t0870-policy.t t0880-doctor.t
        t0890-hostile.t t1120-mpi.t)
    try forky "${some[@]}"
fi
try trixie "${some[@]}"

done_testing
