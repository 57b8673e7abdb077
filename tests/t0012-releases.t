#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What speaks with Slurm compiles, without a warning, against the headers of each
# release that is at hand: those of this machine, and those below
# $PMM_SLURM_HEADERS or ../shared/slurm-headers, a directory a release. Headers
# of one release with the library of another are refused.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need autoreconf gcc
headers=${PMM_SLURM_HEADERS:-$srcdir/../shared/slurm-headers}
own=/usr/include
[[ -e $own/slurm/slurm.h ]] || skip_all "there is no $own/slurm/slurm.h"
workdir
cd "$workdir" || exit

mapfile -t files < <(cd "$srcdir" &&
    grep -rlE '<slurm/|slurmapi[.]h"' --include='*.c' prolog spank pmm util)
paths=(-DPMM_CONF_PATH='""' -DPMM_{,COMMENT_,PLUGIN_,PROBE_,SRUN_}PATH='""')

# compiles DIRECTORY: where slurm/slurm.h is
compiles ()
{
    (cd "$srcdir" && gcc -std=gnu11 -fsyntax-only -Wall -Wextra -Werror \
        -Wno-missing-field-initializers \
        -I"$1" -I"$builddir" -I. "${paths[@]}" "${files[@]}") >log 2>&1 \
        || { diag "$(head -n 20 log)"; return 1; }
}

compiles "$own"
ok $? "${#files[@]} files compile against this machine's Slurm"
for dir in "$headers"/*/; do
    [[ -e $dir/slurm/slurm.h ]] || { skip "others" "no headers"; break; }
    compiles "$dir"
    ok $? "... and against $(basename "$dir")"
done

# This machine's Slurm, with headers that say another release.
prefix=$workdir/opt/slurm
mkdir -p "$prefix/include" "$prefix/lib" build
cp -r "$own/slurm" "$prefix/include/"
ln -s "$(ldconfig -p | awk '$1 ~ /^libslurm[.]so[.]/ { print $NF; exit }')" \
    "$prefix/lib/libslurm.so"
# say YEAR MONTH: those headers do
say ()
{
    sed -i "s/^#define SLURM_VERSION_NUMBER .*/#define SLURM_VERSION_NUMBER \
SLURM_VERSION_NUM ($1, $2, 0)/" "$prefix/include/slurm/slurm_version.h"
}
# What is known of the compiler need not be found again each time.
configure ()
{
    local status=0
    (cd build && "$srcdir/configure" -q --cache-file="$workdir/cache" \
        --with-slurm="$1" "${@:2}") 2>&1 || status=$?
    [[ ! -e cache ]] || sed -i '/slurm\|pmix/Id' cache
    return $status
}
# made VARIABLE: of the Makefile
made () { sed -n "s/^$1 = //p" build/Makefile; }
if [[ -x $srcdir/configure ]]; then
    out=$(configure "$workdir/none")
    is "$? $(grep -c 'error: there is no libslurm.so below' <<<"$out")" "1 1" \
        "configure: no Slurm there" || diag "$out"
    out=$(configure opt/slurm)
    is "$? $(grep -c 'error: .*takes an absolute path' <<<"$out")" "1 1" \
        "configure: a relative prefix" || diag "$out"
    out=$(configure "$prefix" --with-pmix="$workdir/none")
    is "$? $(grep -c 'error: there is no pkgconfig/pmix.pc below' <<<"$out")" \
        "1 1" "configure: no PMIx there" || diag "$out"
    plugins=$(find /usr/lib* -name mpi_pmi2.so 2>/dev/null | head -n 1)
    out=$(configure "$prefix" --with-slurm --prefix=/usr)
    # shellcheck disable=SC2016
    is "$? $(made plugindir)" "0 $([[ $plugins ]] && dirname "$plugins" \
        || echo '${libdir}/slurm')" \
        "configure: the plugin goes to this Slurm's" || diag "$out"

    # Of its own prefix, too; a PMIx where the loader does not look.
    pmix=$workdir/opt/pmix
    mkdir -p "$pmix/lib/pkgconfig"
    sed "s|^libdir=.*|libdir=$pmix/lib|" \
        "$(pkg-config --variable=pcfiledir pmix)/pmix.pc" \
        >"$pmix/lib/pkgconfig/pmix.pc"
    cp "$(pkg-config --variable=libdir pmix)"/libpmix.so* "$pmix/lib/"
    out=$(configure "$prefix" --with-pmix="$pmix")
    is "$? $(made plugindir)" "0 $prefix/lib/slurm" \
        "configure --with-slurm=PREFIX: the plugin goes there" || diag "$out"
    echo 'int PMIx_Initialized (void);
        int main (void) { return PMIx_Initialized (); }' >pmix.c
    # shellcheck disable=SC2046
    gcc pmix.c -o pmix-program $(made PMIX_LIBS) >log 2>&1 || diag "$(<log)"
    like "$(ldd pmix-program)" "libpmix.so.2 => $pmix/lib/libpmix.so.2" \
        "configure --with-pmix=PREFIX: a program finds it"
    say 21 8
    out=$(configure "$prefix")
    is "$? $(grep -c 'error: .* are of 21.08; slurm-pmm needs 22.05' \
        <<<"$out")" "1 1" "configure: too old a Slurm" || diag "$out"
    say 30 5
    out=$(configure "$prefix")
    is "$? $(grep -c 'error: .* headers are of 30.05, its library is of another' \
        <<<"$out")" "1 1" "configure: headers of one release, library of another" \
        || diag "$out"
else
    skip "configure" "there is none"
fi

# The same where configure was not asked, as it is when libslurm is replaced.
say 30 5
cat >start.c <<'END'
#include <stdio.h>
#include "util/slurmapi.h"
int main (void)
{
    struct error err;

    if (slurmapi_start (&err) == 0)
        return 0;
    puts (err.text);
    return err.fault;
}
END
gcc -I"$prefix/include" -I"$builddir" -I"$srcdir" -D_GNU_SOURCE start.c \
    "$srcdir"/util/{slurmapi,error,text}.c -o start -lslurm >log 2>&1 \
    || diag "$(<log)"
out=$(./start)
is "$?" 3 "slurmapi_start refuses the library of another release"
like "$out" "^slurm-pmm is built for Slurm 30.05 .*, but the libslurm that is \
loaded is of an earlier release .*: install slurm-pmm of that release\$" \
    "... in one sentence" || diag "$out"

done_testing
