#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For aarch64, whose char is unsigned and whose compiler fuses multiplications
# with additions: Debian 13's cross compiler builds all but what needs MPI,
# without a warning, and the unit tests that take at most 20 s of the processor
# in qemu pass; not probe's, whose deadlines are too short for it. With PMM_LONG.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
[[ ${PMM_LONG-} ]] || skip_all "PMM_LONG is not set"
((EUID == 0)) || skip_all "only root can make a chroot"
need debootstrap unshare ip
unshare -m true 2>/dev/null || skip_all "there are no mount namespaces here"
out=$("$srcdir/contrib/chroot" --prepare trixie 2>&1)
[[ $? != 125 ]] || skip_all "${out##*$'\n'}"
workdir

# libslurm is there for one of the two only: the other's Slurm goes.
cat >"$workdir/script" <<'END'
libs=$(awk '/^\[/ { on = /build/ } on && /^(z?lib|pkgconf)/ { print $1 ":arm64" }' \
    contrib/cluster/packages)
dpkg --add-architecture arm64 && apt-get -q update \
    && apt-get -q install -y --no-install-recommends gcc-aarch64-linux-gnu \
        qemu-user $libs || exit
echo "end packages 0"
autoreconf -fi && mkdir -p build && cd build \
    && ../configure -q --enable-werror --without-mpi --host=aarch64-linux-gnu \
    && make -s -j"$(nproc)" all && make -s -j"$(nproc)" check-programs
echo "end build $?"
export srcdir=.. builddir=.
ls */test/*.t | grep -v ^probe/ | xargs -P "$(nproc)" -I {} sh -c \
    'ulimit -t 20; timeout -s KILL 300 qemu-aarch64 {} >{}.log 2>&1; status=$?
    echo "end {} $status"; case $status in 0 | 137) rm {}.log ;; esac'
cat */test/*.t.log | grep -A 9 '^not ok'
END
"$srcdir/contrib/chroot" --network trixie bash -c "$(<"$workdir/script")" \
    >"$workdir/log" 2>&1
cd "$workdir" || exit
grep -qx "end packages 0" log \
    || skip_all "no packages for arm64: $(grep '^E: ' log | tail -n 1)"

# ended STATUS: which unit tests did so
ended () { sed -n "s/^end \(.*\.t\) $1\$/\1/p" log; }

grep -qx "end build 0" log
ok $? "it is built for aarch64 without a warning" || diag "$(tail -n 30 log)"
slow=$(ended 137)
[[ ! $slow ]] || diag "killed after 20 s: ${slow//$'\n'/ }"
passed=$(ended 0 | wc -l)
failed=$(ended '.*' | grep -vxFf <(ended 0; ended 137))
[[ $passed -gt 0 && ! $failed ]]
ok $? "$passed unit tests pass in qemu" || diag "$failed" "$(tail -n 30 log)"

done_testing
