#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tree builds without a warning by clang, and by gcc without its optional
# parts; its tarball builds, passes its unit tests under the sanitizers and cleans
# up after itself. All of it by gcc without a warning is t0013's.

. "$(dirname "$0")/lib.sh"
need autoreconf gcc clang make codespell
workdir

# configure and make in a new directory: build NAME TARGET [CONFIGURE-ARG...]
build ()
{
    local name=$1 target=$2
    shift 2
    mkdir "$workdir/$name" && cd "$workdir/$name" &&
        "$srcdir/configure" -q "$@" >log 2>&1 &&
        make -s -j"$(nproc)" $target >>log 2>&1
    local rc=$?
    [ $rc = 0 ] || diag "$(tail -n 30 log)"
    cd "$workdir" || return 1
    return $rc
}

san='-g1 -O1 -funsigned-char -fsanitize=address,undefined -fno-sanitize-recover=all'
san="$san -fno-omit-frame-pointer"

# Where nothing is run, nothing need be optimised: clang warns all the same.
build clang "check-programs bench-programs" --enable-werror CC=clang CFLAGS=-O0
ok $? "clang builds it without a warning"
build bare all --enable-werror CFLAGS=-O0 --without-fabric --without-slurm \
    --without-pmix --without-verbs --without-ledger --disable-comparison
ok $? "it builds without any optional part"
export DISTCHECK_CONFIGURE_FLAGS="CFLAGS='$san'"
build dist "distcheck PROVE_FLAGS=-j$(nproc)"
ok $? "make distcheck, the unit tests under ASan and UBSan"

if git -C "$srcdir" ls-files >files 2>/dev/null; then
    words=nin,nam,nknown,nnumber,repeates,sanpshot,snapshoot,iif,fo,paln,reprot
    said=$(cd "$srcdir" && grep -v -e COPYING -e /uplot/ "$workdir/files" |
        xargs codespell -L "$words,repport,raed")
    is "$said" "" "no word is misspelt"
else
    skip "no word is misspelt" "not a git checkout"
fi

done_testing
