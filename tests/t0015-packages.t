#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The Debian packages: contrib/package builds them; what is in each, what it
# needs, how it was compiled; what an installation, an upgrade, a removal and a
# purge do to a system. With PMM_LONG, the rpm packages as well.

. "$(dirname "$0")/lib.sh"
need dpkg-buildpackage dh dpkg-deb readelf
workdir
cd "$workdir" || exit
names=(slurm-pmm slurm-pmm-client slurm-pmm-compare slurm-pmm-emulator
    slurm-pmm-node slurm-pmm-plugin)
release=$(dpkg-query -W -f '${Version}' libslurm-dev | cut -c 1-5)

#
# Debian's packages
#
dpkg-checkbuilddeps "$srcdir/debian/control" 2>err || {
    skip "the packages" "$(<err)"
    done_testing
}
# Always the same place: the compiler's cache knows it. Nobody runs them, so that
# they need not be optimised more than fortified functions ask for.
debs=$builddir/packages
DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" \
    DEB_CFLAGS_APPEND='-O1 -g0' \
    "$srcdir/contrib/package" deb "$debs" >out 2>&1
ok $? "contrib/package deb" || { diag "$(<out)"; done_testing; }

# What is in them, where Debian has things.
triplet=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
units=$(pkg-config --variable=systemdsystemunitdir systemd)
for name in "${names[@]}"; do
    mkdir "$name"
    dpkg-deb -R "$debs/${name}"_*.deb "$name"
    (cd "$name" && find . ! -type d ! -path './DEBIAN/*' \
        ! -path './usr/share/doc/*' ! -path './usr/share/man/*') \
        | sed "s|^\./|$name /|; s|$triplet|TRIPLET|; s|${units}/|UNITS/|"
done | sort >files
cat >expected <<'END'
slurm-pmm /usr/bin/pmm-epilogslurmctld
slurm-pmm /usr/lib/sysusers.d/slurm-pmm.conf
slurm-pmm /usr/lib/tmpfiles.d/slurm-pmm.conf
slurm-pmm /usr/share/slurm-pmm/mpi.conf
slurm-pmm /usr/share/slurm-pmm/pmm-alerts.yml
slurm-pmm /usr/share/slurm-pmm/pmm-dashboard.json
slurm-pmm /usr/share/slurm-pmm/pmm-notify-mail
slurm-pmm /usr/share/slurm-pmm/pmm-notify-webhook
slurm-pmm /usr/share/slurm-pmm/slurm.conf
slurm-pmm UNITS/pmm-audit.service
slurm-pmm UNITS/pmm-fabric.service
slurm-pmm UNITS/pmm-fabric.timer
slurm-pmm-client /usr/bin/pmm
slurm-pmm-client /usr/share/bash-completion/completions/pmm
slurm-pmm-client /usr/share/zsh/vendor-completions/_pmm
slurm-pmm-compare /usr/bin/pmm-compare
slurm-pmm-compare /usr/bin/pmm-compare-probe
slurm-pmm-compare /usr/bin/pmm-probe-mpi
slurm-pmm-compare /usr/bin/pmm-probe-mpi.mpich
slurm-pmm-compare /usr/bin/pmm-probe-mpi.openmpi
slurm-pmm-compare /usr/share/bash-completion/completions/pmm-compare
slurm-pmm-compare /usr/share/bash-completion/completions/pmm-compare-probe
slurm-pmm-compare /usr/share/bash-completion/completions/pmm-probe-mpi
slurm-pmm-compare /usr/share/zsh/vendor-completions/_pmm-compare
slurm-pmm-compare /usr/share/zsh/vendor-completions/_pmm-compare-probe
slurm-pmm-compare /usr/share/zsh/vendor-completions/_pmm-probe-mpi
slurm-pmm-emulator /usr/bin/pmm-emu
slurm-pmm-emulator /usr/share/bash-completion/completions/pmm-emu
slurm-pmm-emulator /usr/share/zsh/vendor-completions/_pmm-emu
slurm-pmm-node /usr/bin/pmm-epilog
slurm-pmm-node /usr/bin/pmm-healthcheck
slurm-pmm-node /usr/bin/pmm-probe
slurm-pmm-node /usr/bin/pmm-prolog
slurm-pmm-node /usr/share/bash-completion/completions/pmm-probe
slurm-pmm-node /usr/share/slurm-pmm/pmm.conf
slurm-pmm-node /usr/share/zsh/vendor-completions/_pmm-probe
slurm-pmm-plugin /usr/bin/pmm-comment
slurm-pmm-plugin /usr/lib/TRIPLET/slurm-wlm/spank_pmm.so
slurm-pmm-plugin /usr/lib/TRIPLET/slurm-wlm/spank_pmm_hooks.so
slurm-pmm-plugin /usr/share/slurm-pmm/plugstack.conf
END
is "$(diff expected files)" "" "each file is in its package"

# What they need.
depends ()
{
    dpkg-deb -f "$debs/$1"_*.deb Depends | tr , '\n' | sed 's/^ *//'
}
is "$(depends slurm-pmm-node | sed 's/[0-9t]* (.*//' | paste -sd ' ')" \
    "libc libibverbs libjansson libpmix" "the nodes' package needs few others"
needed ()
{
    local said
    said=$(ldd "$1")
    [[ $said != *'not found'* ]] || echo "$said"
    readelf -d "$1" | sed -nE 's/.*NEEDED.*\[(lib[a-z]*).*/\1/p'
}
is "$(needed slurm-pmm-node/usr/bin/pmm-probe | grep -vxE \
    'libc|libm|libibverbs|libjansson|libpmix')" "" "... as ldd says, too"
is "$(for hook in prolog epilog healthcheck; do
    needed slurm-pmm-node/usr/bin/pmm-$hook; done | sort -u)" "libc" \
    "... the hooks the C library alone"
is "$(depends slurm-pmm-plugin | grep slurm-wlm)" \
    "slurm-wlm-basic-plugins (>= $release)
slurm-wlm-basic-plugins (<< ${release%.*}.$(printf %02d \
    $((10#${release#*.} + 1))))" "the plugin needs Slurm $release"
is "$(dpkg-deb -f "$debs"/slurm-pmm-plugin_*.deb Provides)" \
    "slurm-pmm-plugin-$release" "... and says so in a name"
like "$(echo "$debs"/slurm-pmm-plugin_*.deb)" "\+slurm$release" \
    "... and in its version"

# README's line, where contrib/package put them.
mkdir built
ln -s "$debs" built/out
install=$(sed -nE 's/^apt install ([^#]*[^# ]).*/\1/p' "$srcdir/README.md")
is "$(cd built && eval "ls $install" | sed 's|.*/||; s/_.*//' | xargs)" \
    "slurm-pmm-client slurm-pmm-node slurm-pmm-plugin slurm-pmm" \
    "README installs no symbols, and no MPI"
if type -P apt-get >/dev/null; then
    (cd built && eval "apt-get -s --no-install-recommends install $install") \
        >said 2>&1
    ok $? "... and apt would do it" || diag "$(tail -n 5 said)"
fi

# How they were compiled.
elf=$(find "${names[@]}" -path '*/DEBIAN' -prune -o -type f \
    \( -path '*/bin/*' -o -name '*.so' \) -print | sort)
is "$(for f in $elf; do
    readelf -hldW "$f" >dump
    grep -q 'Type: *DYN' dump && grep -q GNU_RELRO dump &&
        grep -qE 'BIND_NOW|FLAGS_1.*NOW' dump &&
        readelf -W --dyn-syms "$f" >dump.syms &&
        grep -q __stack_chk_fail dump.syms &&
        grep -qE '__[a-z]+_chk@' dump.syms ||
        echo "$f: not hardened"
    ! grep -E 'R(UN)?PATH' dump || echo "$f: rpath"
done)" "" "all are hardened, none has an rpath"
if type -P lintian >/dev/null; then
    is "$(lintian --allow-root "$debs"/*.changes 2>&1)" "" "lintian is silent"
else
    skip "lintian is silent" "not installed: lintian"
fi

#
# What they do to a system, in $root. The scripts run outside of it.
#
root=$workdir/root
dpkg_to ()
{
    dpkg --root="$root" --force-script-chrootless --force-depends \
        --log=/dev/null "$@" >out 2>&1 || { diag "$(<out)"; false; }
}
enabled () { find "$root/etc/systemd" -type l 2>/dev/null; }
# Packages that need the same of another version, the first that has slurm-pmm-client.
first=0.1.0~git20261129093000
relabel ()
{
    local to=$1 file
    mkdir "$to"
    for file in slurm-pmm slurm-pmm-client slurm-pmm-node slurm-pmm-plugin; do
        cp -a $file again
        sed -i -E "/^(Version|Depends):/ s/0\.1\.0[^+]*\+/$first+/g" \
            again/DEBIAN/control
        dpkg-deb --root-owner-group -b again "$to/$file.deb" >/dev/null
        rm -r again
    done
    # What is in slurm-pmm-compare now, the first had in others.
    cp -a slurm-pmm-compare again
    sed -i -E "s/^(Package: slurm-pmm-).*/\1tools/; /^(Breaks|Replaces):/d
        s/^(Version: )0\.1\.0[^+]*\+/\1$first+/" again/DEBIAN/control
    rm again/usr/bin/pmm-compare* again/usr/share/*/*completions/*pmm-compare*
    dpkg-deb -R "$to/slurm-pmm-client.deb" client
    mv again/usr/share/man/man1/pmm-compare.1.gz client/usr/share/man/man1
    rm again/usr/share/man/man1/pmm-compare*
    dpkg-deb --root-owner-group -b client "$to/slurm-pmm-client.deb" >/dev/null
    dpkg-deb --root-owner-group -b again "$to/slurm-pmm-tools.deb" >/dev/null
    rm -r again client
}
if ((EUID == 0)) && type -P systemd-tmpfiles >/dev/null; then
    mkdir -p "$root"/{etc/slurm/plugstack.conf.d,var/lib/dpkg/{info,updates}}
    touch "$root/var/lib/dpkg/status"
    relabel old
    dpkg_to -i old/*.deb
    ok $? "an earlier version is installed"
    is "$(enabled; ls "$root/etc/slurm/plugstack.conf.d" "$root/etc/slurm-pmm")" \
        "$root/etc/slurm-pmm:

$root/etc/slurm/plugstack.conf.d:" "nothing is enabled or configured by that"
    uid=$(sed -n 's/^slurm:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/passwd")
    is "$(stat -c '%u %a %n' "$root"/var/{lib,spool}/slurm-pmm)" \
        "$uid 755 $root/var/lib/slurm-pmm
$uid 700 $root/var/spool/slurm-pmm" "SlurmUser has its directories"

    # As a site has it some time later, by pmm setup.
    echo 'Mode = report' >"$root/etc/slurm-pmm/pmm.conf"
    touch "$root"/etc/slurm-pmm/{plugstack,slurm,mpi}.conf
    for unit in pmm-audit pmm-fabric; do
        mkdir -p "$root/etc/systemd/system/$unit.service.d"
        touch "$root/etc/systemd/system/$unit.service.d/slurm-pmm.conf"
    done
    touch "$root"/var/lib/slurm-pmm/{ledger,baseline.pmm,local}
    touch "$root/var/spool/slurm-pmm/lock"
    ln -s /usr/share/slurm-pmm/plugstack.conf \
        "$root/etc/slurm/plugstack.conf.d/pmm.conf"
    ln -s /etc/slurm-pmm/plugstack.conf \
        "$root/etc/slurm/plugstack.conf.d/setup.conf"
    find "$root"/{etc/slurm*,var/lib/slurm-pmm,var/spool/slurm-pmm} \
        -printf '%p %l %u %m %T@\n' | sort >before
    # as apt does: -B
    dpkg_to -B -i "$debs"/slurm-pmm{-client,-compare,-node,-plugin,-tools,}_*.deb
    ok $? "an upgrade"
    is "$(dpkg-query --admindir="$root/var/lib/dpkg" -L slurm-pmm-compare |
        xargs -n1 basename | grep -c '^pmm-\(compare\|probe-mpi\)')" \
        "$(find slurm-pmm-compare ! -type d -name 'pmm-*' | wc -l)" \
        "... to slurm-pmm-compare, which has the files of slurm-pmm-tools"
    is "$(find "$root"/{etc/slurm*,var/lib/slurm-pmm,var/spool/slurm-pmm} \
        -printf '%p %l %u %m %T@\n' | sort | diff before -)$(enabled)" "" \
        "... leaves the site's files as they are, and enables nothing"

    echo EpilogSlurmctld=/usr/bin/pmm-epilogslurmctld >"$root/etc/slurm/slurm.conf"
    dpkg_to -r slurm-pmm slurm-pmm-plugin
    ok $? "a removal"
    like "$(<out)" "the ledger stays in /var/lib/slurm-pmm" "... says what stays"
    like "$(<out)" "slurmctld may not start until slurm.conf does without" \
        "... and what the controller's hook does then"
    is "$(ls "$root/var/lib/slurm-pmm" "$root/etc/slurm/plugstack.conf.d" \
        "$root/etc/slurm-pmm" | paste -sd ' ')" \
        "$root/etc/slurm-pmm: mpi.conf plugstack.conf pmm.conf slurm.conf  $root/etc/slurm/plugstack.conf.d:  $root/var/lib/slurm-pmm: baseline.pmm ledger local" \
        "... of a plugin that plugstack.conf no longer asks for"
    echo 'required spank_pmm.so' >"$root/etc/slurm/plugstack.conf"
    dpkg_to -i "$debs"/slurm-pmm-plugin_*.deb
    dpkg_to -r slurm-pmm-plugin
    like "$(<out)" "no job starts until these .*/plugstack.conf" \
        "... and tells where else it does"

    # SlurmUser calls its files as it likes.
    mkdir "$root/kept" "$root/var/lib/slurm-pmm/"$'a\nkept'
    dpkg_to -P slurm-pmm
    ok $? "a purge"
    is "$(grep 'removing' out | sort)" \
        "slurm-pmm: removing /var/lib/slurm-pmm/a?kept
slurm-pmm: removing /var/lib/slurm-pmm/baseline.pmm
slurm-pmm: removing /var/lib/slurm-pmm/ledger
slurm-pmm: removing /var/spool/slurm-pmm" "... says what it removes"
    [[ -d $root/kept ]]
    ok $? "... whatever it is called, and nothing else"
    rmdir "$root/kept"
    is "$(cd "$root/var" && find lib/slurm-pmm spool/slurm-pmm -printf \
        '%p %U ' 2>/dev/null)" "lib/slurm-pmm 0 lib/slurm-pmm/local 0 " \
        "... and that is gone"
    printf '%s\n' 'Prolog=/usr/bin/pmm-prolog' \
        'EpilogSlurmctld=/usr/bin/pmm-epilogslurmctld' '#Epilog=/x/pmm-epilog' \
        >"$root/etc/slurm/slurm.conf"
    dpkg_to -r slurm-pmm-node
    like "$(<out)" $'drained until slurm.conf does without pmm-prolog(\n|$)' \
        "the hooks' removal tells what will happen"
    dpkg_to -P slurm-pmm-plugin slurm-pmm-node slurm-pmm-client \
        slurm-pmm-tools slurm-pmm-compare
    is "$? $(find "$root" -name '*pmm*' ! -path '*/var/lib/systemd/*')" "0 " \
        "after all are purged nothing is left"
else
    skip "installed, upgraded, removed, purged" "needs root and systemd"
fi

#
# Others' recipes
#
if type -P rpmlint rpmspec >/dev/null; then
    rpmlint "$srcdir/contrib/rpm/slurm-pmm.spec" >out 2>&1
    like "$(tail -n 1 out)" ' 0 errors' "rpmlint: the spec" || diag "$(<out)"
else
    skip "rpmlint: the spec" "not installed: rpmlint or rpm"
fi
if type -P python3 >/dev/null; then
    PYTHONDONTWRITEBYTECODE=1 python3 -c 'import sys
compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' \
        "$srcdir/contrib/spack/package.py"
    ok $? "the Spack recipe is Python"
else
    skip "the Spack recipe is Python" "not installed: python3"
fi
# with: names behind --with- and --without-
with () { sed -nE 's/^ *--with(out)?-([a-z]+).*/\2/p' | sort -u; }
is "$(tr -d ' \n' <"$srcdir/contrib/spack/package.py" |
    grep -oE 'with_or_without\("[a-z]+|--with-[a-z]+' |
    sed 's/.*("/--with-/' | with | comm -23 - \
    <("$srcdir/configure" --help | with))" "" "... and configure has its options"
if [[ ${PMM_LONG-} ]] && type -P rpmbuild >/dev/null; then
    "$srcdir/contrib/package" rpm "$workdir/rpm" >out 2>&1
    ok $? "contrib/package rpm" || diag "$(<out)"
    # The same split; but for what Debian and others place differently.
    for name in "${names[@]}"; do
        rpm -qpl "$workdir"/rpm/*/"$name"-0*.rpm | sed "s|^|$name |"
    done | grep -E ' /usr/(bin|share/slurm-pmm/|.*\.so)' | sort >rpms
    is "$(sed 's|/TRIPLET/slurm-wlm|64/slurm|' expected | grep -E \
        ' /usr/(bin|share/slurm-pmm/|.*\.so)' | diff - rpms)" "" \
        "... by the same split"
    like "$(rpm -qp --requires "$workdir"/rpm/*/slurm-pmm-plugin-*.rpm)" \
        "slurm[^ ]* >= $release" "... the plugin needs Slurm $release"
fi

done_testing
