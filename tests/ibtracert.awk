# SPDX-License-Identifier: GPL-2.0-or-later
#
# What ibtracert says of pairs, behind a line "pair NAME NAME" each, as
# "NAME NAME LINK...", with a link's smaller end.

function guid(s) { sub(/.*{0x/, "", s); sub(/}.*/, "", s); return s }
function port(s) { sub(/^[^\[]*\[/, "", s); sub(/\].*/, "", s); return s }
$1 == "pair" { name = $2 " " $3 }
$1 == "From" { n = 0; at = guid($0) }
/^\[/ { out[++n] = at "/" port($1); at = guid($0); to[n] = at
        s = $0; sub(/.*}/, "", s); into[n] = port(s) }
$1 == "To" {
    to[n] = guid($0)
    printf "%s", name
    for (i = 1; i <= n; i++) {
        far = to[i] "/" into[i]
        printf " %s", out[i] < far ? out[i] : far
    }
    print ""
}
