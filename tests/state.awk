# SPDX-License-Identifier: GPL-2.0-or-later
#
# state.awk - is a snapshot true? By the word of ibsim, whose console command
# Dump tells the state of all ports and tables at one moment.
#
#   awk -v host=NODE [-v part=1] -f state.awk NETFILE SNAPSHOT DUMPS
#
# Prints "true" if one of the dumps shows just that which the snapshot says, of
# all that is connected to NODE: nodes, their descriptions (those of NETFILE)
# and LIDs, cables with width and speed, the entries of the tables. Else how
# the snapshot differs from the last of them, a line each. A host's port that
# is not connected is not looked at. Of a part, what it says must be true; what
# it leaves out is not looked at either.

BEGIN {
    for (i = 0; i < 256; i++)
        value[sprintf("%X", i)] = value[sprintf("%02x", i)] = i
    split("2.5G SDR 5.0G DDR 10.0G QDR FDR10 FDR10 14G FDR 25G EDR 50G HDR " \
        "100G NDR", word, " ")
    for (i = 1; i in word; i += 2)
        speed[word[i]] = word[i + 1]
}

FNR == 1 { file++ }

file == 1 && /^(Switch|Ca|Hca)[ \t]/ {
    split($0, quoted, "\"")
    desc[quoted[2]] = quoted[4]
}
file == 1 { next }

file == 2 && ($1 == "ca" || $1 == "switch") {
    words = $1 == "switch" ? 4 : 3
    text = $0
    for (i = 0; i < words; i++)
        sub(/^[^ ]* /, "", text)
    snapshot["node " $2] = $1 " " $3 " " text
    if ($1 == "switch")
        snapshot["lid " $2 "/0"] = $4
}
file == 2 && $1 == "port" {
    snapshot["lid " $2] = $4 " " $5
    snapshot["guid " $2] = $3
}
file == 2 && $1 == "cable" { snapshot["cable " $2 " " $3] = $4 }
file == 2 && $1 == "lft" { table = $2 }
file == 2 && /^[0-9]/ {
    split($1, range, "-")
    if (range[2])
        for (i = range[1]; i <= range[2]; i++)
            snapshot["lft " table " " i] = value[$2]
    else
        for (i = 0; 2 * i < length($2); i++)
            snapshot["lft " table " " range[1] + i] \
                = value[substr($2, 2 * i + 1, 2)]
}
file == 2 { next }

/# Net status/ {
    clear(type)
    clear(far)
    clear(entry)
    clear(lid)
    clear(portguid)
    nodes = 0
    inside = 1
}

inside && /^(Switch|Ca|Hca) / {
    split($0, quoted, "\"")
    node = quoted[2]
    name[++nodes] = node
    type[node] = $1 == "Switch" ? "switch" : "ca"
    ports[node] = $2
    match($0, /nodeguid [0-9a-f]+/)
    guid[node] = pad(substr($0, RSTART + 9, RLENGTH - 9))
}

inside && /^#\tForwarding/ {
    for (i = 5; i <= NF; i++) {
        split($i, word, "]")
        sub(/\[/, "", word[1])
        if (word[2] != "FF")
            entry[node] = entry[node] " " word[1] " " value[word[2]]
    }
}

inside && /^[0-9a-f]+\t\[/ {
    sub(/\t#.*/, "")
    port = bracketed($2)
    if (match($0, /lid [0-9]+ lmc [0-9]+/)) {
        split(substr($0, RSTART, RLENGTH), word, " ")
        lid[node, port] = word[2]
        lmc[node, port] = word[4]
        portguid[node, port] = pad($1)
    }
    if (port > 0 && split($0, quoted, "\"") == 3) {
        far[node, port] = quoted[2]
        into[node, port] = bracketed(quoted[3])
        rate[node, port] = $(NF - 2) speed[$(NF - 1)]
    }
}

inside && /dumped [0-9]+ nodes/ {
    inside = 0
    dumps++
    reach()
    if (same()) {
        found = 1
        exit
    }
}

END {
    if (found)
        print "true"
    else if (!dumps)
        print "there is no dump"
    else
        differences()
}

function clear(array,    key)
{
    for (key in array)
        delete array[key]
}

function pad(hex)
{
    return substr("0000000000000000", length(hex) + 1) hex
}

function bracketed(text)
{
    sub(/^[^\[]*\[/, "", text)
    sub(/\].*/, "", text)
    return text + 0
}

# What is connected to the host, as truth[], which is like snapshot[].
function reach(    queue, first, last, seen, node, port)
{
    clear(truth)
    queue[last = 1] = host
    seen[host] = 1
    for (first = 1; first <= last; first++) {
        node = queue[first]
        add_node(node)
        if (type[node] != "switch" && first > 1)
            continue
        for (port = 1; port <= ports[node]; port++)
            if ((node, port) in far && !(far[node, port] in seen)) {
                queue[++last] = far[node, port]
                seen[far[node, port]] = 1
            }
    }
}

function add_node(node,    at, port, word, n, i)
{
    at = guid[node]
    truth["node " at] = type[node] " " ports[node] " " desc[node]
    if (type[node] == "switch") {
        truth["lid " at "/0"] = lid[node, 0]
        n = split(entry[node], word, " ")
        for (i = 1; i <= n; i += 2)
            truth["lft " at " " word[i]] = word[i + 1]
    }
    for (port = 1; port <= ports[node]; port++) {
        if (!((node, port) in far))
            continue
        add_cable(at, port, guid[far[node, port]], into[node, port],
            rate[node, port])
        if (type[node] != "switch") {
            truth["lid " at "/" port] = lid[node, port] " " lmc[node, port]
            truth["guid " at "/" port] = portguid[node, port]
        }
    }
}

function add_cable(a, i, b, j, rate)
{
    if (a "" < b "" || (a == b && i < j))
        truth["cable " a "/" i " " b "/" j] = rate
}

function same(    key)
{
    for (key in truth)
        if (differs(key))
            return 0
    for (key in snapshot)
        if (!(key in truth))
            return 0
    return 1
}

function differs(key)
{
    return key in snapshot ? snapshot[key] "" != truth[key] "" : !part
}

function differences(    key, n)
{
    for (key in truth)
        if (differs(key)) {
            if (n++ < 6)
                print key ": " (key in snapshot ? snapshot[key] : "missing") \
                    ", not " truth[key]
        }
    for (key in snapshot)
        if (!(key in truth) && n++ < 6)
            print key ": " snapshot[key] ", which is not there"
    if (n > 6)
        print "... and " n - 6 " more"
}
