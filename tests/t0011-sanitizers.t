#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tarball has all that it needs: it builds elsewhere, its unit tests pass
# there, under the address and the undefined behaviour sanitizer, and it cleans up
# after itself.

. "$(dirname "$0")/lib.sh"
need autoreconf gcc make xz
workdir
cd "$workdir" || exit 1

flags='-g1 -O1 -funsigned-char -fsanitize=address,undefined'
flags="$flags -fno-sanitize-recover=all -fno-omit-frame-pointer"
# Sanitizers see in few trials what they see in many.
unset PMM_FULL
export DISTCHECK_CONFIGURE_FLAGS="CFLAGS='$flags'"
"$srcdir/configure" -q >log 2>&1 \
    && make -s -j"$(nproc)" distcheck PROVE_FLAGS=-j"$(nproc)" >>log 2>&1
ok $? "make distcheck, the unit tests under ASan and UBSan" \
    || diag "$(tail -n 30 log)"

done_testing
