#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What another compiler and another configuration show: clang builds the whole
# tree without a warning, and gcc what is left without its optional parts. (All of
# it by gcc without a warning is what contrib/check begins with.)

. "$(dirname "$0")/lib.sh"
need autoreconf gcc clang make
workdir

# build NAME TARGET [CONFIGURE-ARG...]: without a warning, in a new directory.
# Nothing is run, so nothing need be optimised: clang warns all the same.
build ()
{
    local name=$1 target=$2
    shift 2
    mkdir "$workdir/$name" && cd "$workdir/$name" \
        && "$srcdir/configure" -q --enable-werror CFLAGS=-O0 "$@" >log 2>&1 \
        && make -s -j"$(nproc)" $target >>log 2>&1
    ok $? "$name: built without a warning" || diag "$(tail -n 30 log)"
    cd "$workdir" || exit 1
}

build clang "check-programs bench-programs" CC=clang
build bare all --without-fabric --without-slurm --without-pmix \
    --without-verbs --without-ledger --disable-comparison

done_testing
