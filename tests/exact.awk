# SPDX-License-Identifier: GPL-2.0-or-later
#
# exact.awk - what was solved beside the truth, which is computed here, from the
# latencies and the snapshot's own text.
#
#   awk [-v list=LIST] -f exact.awk latency fabric SOLVED
#
# The latencies are lines "LINK NS", the snapshot is called fabric, and SOLVED
# has lines "pair A B NS", "link ID NS" and "group NS ID=P/Q ...". Prints how
# many pairs, how many links and groups, and 1 if none is wrong relatively by
# 1e-9; on standard error by how much the worst is. LIST gets a line of each:
# its kind and names, the truth, and what was solved, with tabs between.

BEGIN {
    for (i = 0; i < 256; i++)
        value[sprintf("%02x", i)] = i
}
FILENAME == "latency" { ns[$1] = $2; next }
FILENAME == "fabric" && $1 == "ca" { name[$2] = $4 }
FILENAME == "fabric" && $1 == "port" {
    split($2, end, "/")
    port[name[end[1]]] = $2
    lid[name[end[1]]] = $4
}
FILENAME == "fabric" && $1 == "cable" {
    link[$2] = link[$3] = $2
    far[$2] = $3
    far[$3] = $2
}
FILENAME == "fabric" && $1 == "lft" { table = $2; next }
FILENAME == "fabric" && $1 ~ /^[0-9]+$/ {
    for (i = 0; i < length($2) / 2; i++)
        out[table, $1 + i] = value[substr($2, 2 * i + 1, 2)]
}
FILENAME == "fabric" && $1 ~ /^[0-9]+-/ {
    split($1, range, "-")
    for (i = range[1]; i <= range[2]; i++)
        out[table, i] = value[$2]
}
FILENAME == "fabric" { next }

# time from a port over its cable and on to a LID; hosts have no tables
function walk (from, to,    end)
{
    split(far[from], end, "/")
    if (!((end[1], to) in out))
        return ns[link[from]]
    if (!((end[1], to) in rest))
        rest[end[1], to] = walk(end[1] "/" out[end[1], to], to)
    return ns[link[from]] + rest[end[1], to]
}
function compare (what, name, got, want,    error)
{
    count[what]++
    if (list)
        printf "%s\t%s\t%.15g\t%.15g\n", what, name, want, got >list
    error = (got - want) / want
    if (error < 0)
        error = -error
    if (!(error <= worst))
        worst = error
}
$1 == "pair" {
    compare($1, $2 "\t" $3, $4,
        walk(port[$2], lid[$3]) + walk(port[$3], lid[$2]))
}
$1 == "link" { compare($1, $2, $3, ns[$2]) }
$1 == "group" {
    sum = 0
    for (i = 3; i <= NF; i++) {
        split($i, member, "=")
        split(member[2], part, "/")
        sum += ns[member[1]] * part[1] / (part[2] ? part[2] : 1)
    }
    compare($1, "", $2, sum)
}
END {
    print count["pair"] + 0, count["link"] + count["group"], worst < 1e-9
    printf "worst relative error %.2g, %d links, %d groups\n", worst,
        count["link"], count["group"] >"/dev/stderr"
}
