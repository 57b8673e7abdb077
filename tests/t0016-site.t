#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# From the packages alone, on fresh Debian 12 and 13: installed, configured by
# their samples, the first verdict, a drain and a resume, an upgrade from the
# last commit's packages, a removal and a purge (contrib/site). With PMM_LONG.

. "$(dirname "$0")/lib.sh"
[[ ${PMM_LONG-} ]] || skip_all "PMM_LONG is not set"
need debootstrap systemd-nspawn jq
((EUID == 0)) || skip_all "a container needs root"
workdir
cd "$workdir" || exit

for release in bookworm trixie; do
    package=("$srcdir/contrib/package" --suite $release)
    from=()
    if git -C "$srcdir" cat-file -e HEAD~1:debian 2>/dev/null; then
        "${package[@]}" --commit HEAD~1 deb $release-last >out 2>&1
        ok $? "$release: the last commit's packages" || diag "$(<out)"
        from=(--from $release-last)
    fi
    "${package[@]}" deb $release >out 2>&1
    ok $? "$release: packages" || { diag "$(<out)"; continue; }
    "$srcdir/contrib/site" "${from[@]}" $release $release >out 2>&1
    status=$?
    diag "$(grep -E '^(#|site:|==)' out)"
    while read -r _ right what; do
        [[ $right == right: ]]
        ok $? "$release: $what"
    done < <(grep -E '^site: (right|WRONG):' out)
    is $status 0 "$release: all is as it should be" || diag "$(<out)"
done

done_testing
