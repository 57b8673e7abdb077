# SPDX-License-Identifier: GPL-2.0-or-later
#
# walk.awk - the paths of pairs of hosts, by the cables of a netfile and the
# forwarding tables that dump_fts has printed.
#
#   awk -f walk.awk NETFILE TABLES PAIRS
#
# PAIRS has a line "A B" each; a line of A, B and the cables from A to B, each
# as its smaller end, is printed, as by `pmm path --pairs`. Hosts have one port.

FNR == 1 { file++ }

file == 1 && /^(switch|ca)guid=/ {
    gsub(/.*0x|\(.*/, "", $1)
    last = substr("0000000000000000", length($1) + 1) $1
}

file == 1 && /^(Switch|Ca)[ \t]/ {
    split($0, quoted, "\"")
    node = quoted[2]
    guid[node] = last
}

file == 1 && /^\[/ {
    split($0, quoted, "\"")
    port = bracketed(quoted[1])
    far[node, port] = quoted[2]
    into[node, port] = bracketed(quoted[3])
    next
}

file == 2 && /^Unicast lids/ {
    match($0, /guid 0x/)
    table = substr($0, RSTART + RLENGTH, 16)
    next
}

file == 2 && /^0x/ {
    out[table, $1] = $2 + 0
    if (/Channel Adapter/) {
        split($0, quoted, "'")
        split(quoted[2], word, " ")
        lid[word[1]] = $1
    }
    next
}

file == 3 { print $1, $2 walk($1, $2) }

function bracketed(text)
{
    sub(/^[^\[]*\[/, "", text)
    sub(/\].*/, "", text)
    return text + 0
}

function walk(from, to,    at, port, next_at, links, hops)
{
    at = from
    port = 1
    while (hops++ < 64) {
        if (!((at, port) in far))
            return links " nowhere"
        next_at = far[at, port]
        links = links " " smaller(guid[at], port,
            guid[next_at], into[at, port])
        at = next_at
        if (at == to)
            return links
        if (!((guid[at], lid[to]) in out))
            return links " lost"
        port = out[guid[at], lid[to]]
    }
    return links " loop"
}

function smaller(a, i, b, j)
{
    return a "" < b "" ? a "/" i : b "/" j
}
