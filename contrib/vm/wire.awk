# SPDX-License-Identifier: GPL-2.0-or-later
#
# wire.awk - what contrib/vm/fabric runs to build a snapshot, as batches.
#
#   awk -f wire.awk -v dir=DIR -v min=NS -v max=NS -v seed=N \
#       file=endpoints ENDPOINTS file=latencies LATENCIES file= SNAPSHOT
#
# ENDPOINTS has lines "PORTGUID LID NODE", LATENCIES "LINK NS [NS]"; cables
# that it leaves out draw theirs from min..max.  Written to DIR:
#
#   switches.ip    for ip(8) in the switches' namespace: bridges and cables
#   hosts.ip       for ip(8) in the machine's: addresses, routes, neighbours
#   switches.fdb   for bridge(8): forwarding entries, nothing else forwards
#   switches.tc, hosts.tc  for tc(8): latencies
#   hosts.rdma     for rdma(8): devices
#   links          LINK DEV DEV NS NS NAME..., tabs between; DEV is an
#                  interface at its smaller and at its other end
#   map, hosts     as fabric prints them
#
# Switch s has the bridge sS and for its port P the interface sSpP, endpoint E
# the interface eE in the machine's namespace.  The numbers are those of the
# order in SNAPSHOT, of its format pmm-fabric(5).

BEGIN {
    OFS = "\t"
    ip = dir "/switches.ip"
    fdb = dir "/switches.fdb"
    for (i = 0; i < 9; i++)
        seed = seed * 16807 % 2147483647 # small seeds, small first numbers
}

function fatal (text)
{
    print "fabric: " text >"/dev/stderr"
    failed = 1
    exit 2
}

# tc(8) takes whole microseconds.
function rounded (ns) { return int((ns + 999) / 1000) * 1000 }

# Park and Miller: the same numbers from any awk.  None twice, if there are so
# many.
function draw (    ns, tries)
{
    do {
        seed = seed * 16807 % 2147483647
        ns = rounded(min + int((max - min + 1) * (seed / 2147483647)))
    } while (ns in drawn && tries++ < 99)
    drawn[ns] = 1
    return ns
}

function node_of (at) { sub(/\/.*/, "", at); return at }
function port_of (at) { sub(/.*\//, "", at); return at }

function hex (s, at)
{
    return 16 * index("123456789abcdef", substr(s, at, 1)) \
        + index("123456789abcdef", substr(s, at + 1, 1))
}

# The interface of a port, "" where there is none to build.
function device (at)
{
    if (node_of(at) in bridge)
        return "s" bridge[node_of(at)] "p" port_of(at)
    return at in endpoint ? "e" endpoint[at] : ""
}

# What else a link may be called by this end of it.
function names (at)
{
    return at OFS desc[node_of(at)] "/" port_of(at) \
        (at in endpoint ? OFS host[endpoint[at]] "/" port_of(at) : "")
}

# The latencies of the link of these names: given or drawn.  Sets forth, back.
function latency (all,    i, n, name, value)
{
    forth = back = draw()
    n = split(all, name, OFS)
    for (i = 1; i <= n; i++)
        if (name[i] in given) {
            if (name[i] in used && used[name[i]] != all)
                fatal(name[i] ": more than one link of this name")
            used[name[i]] = all
            split(given[name[i]], value, " ")
            forth = rounded(value[1])
            back = rounded(value[2])
        }
}

function mac (e) { return sprintf("02:00:00:00:%02x:%02x", e / 256, e % 256) }
function address (e) { return "10.77." int(e / 256) "." e % 256 }

function netem (dev, ns)
{
    return "qdisc add dev " dev " root netem limit 10000 delay " \
        ns / 1000 "us"
}

# How to create this end of a veth pair, seen from the switches' namespace.
function veth (at)
{
    return device(at) \
        (at in endpoint ? " address " mac(endpoint[at]) : "")
}

# Rules of routing that find the table of a sender among 2^bits, from the first
# on: a binary tree of jumps, because the kernel tries one after the other, and
# all are to send in the same time.
function rules (first, bits, pref,    half, right)
{
    if (bits == 0) {
        print "rule add pref " pref " from " address(first) \
            " lookup " 1000 + first >(dir "/hosts.ip")
        return
    }
    half = first + 2 ^ (bits - 1)
    right = pref + 2 ^ bits
    if (half <= endpoints) {
        print "rule add pref " pref " from " address(half) "/" 33 - bits \
            " goto " right >(dir "/hosts.ip")
        rules(half, bits - 1, right)
    }
    rules(first, bits - 1, pref + 1)
}

# An end is there: bring it into service.
function attach (at, ns,    dev, e, to)
{
    dev = device(at)
    if (!(at in endpoint)) {
        print "link set " dev " master s" bridge[node_of(at)] " up" >ip
        print "link set dev " dev " learning off flood off mcast_flood off" \
            " bcast_flood off" >fdb
        print netem(dev, ns) >(dir "/switches.tc")
        wired[dev] = 1
        return
    }
    e = endpoint[at]
    to = dir "/hosts.ip"
    print "addr add " address(e) "/32 dev " dev >to
    print "link set " dev " up" >to
    print "route add 10.77.0.0/16 dev " dev " src " address(e) \
        " table " 1000 + e >to
    print netem(dev, ns) >(dir "/hosts.tc")
    print "link add rxe" e " type rxe netdev " dev >(dir "/hosts.rdma")
    print host[e] " " guid[e] " rxe" e "/1" >(dir "/map")
    print host[e] " " dev " " address(e) >(dir "/hosts")
    wired[dev] = 1
}

file == "endpoints" {
    name_of[$1] = $3
    lid_of[$1] = $2
    next
}

file == "latencies" {
    if (NF == 2)
        $3 = $2
    if (NF != 3 || $2 !~ /^[0-9]+$/ || $3 !~ /^[0-9]+$/)
        fatal("line " FNR " of the latencies: not LINK NS [NS]")
    given[$1] = $2 " " $3
    next
}

$1 == "ca" || $1 == "switch" {
    skip = $1 == "ca" ? 3 : 4
    text = $0
    for (i = 1; i <= skip; i++)
        sub(/^[^ ]* */, "", text)
    desc[$2] = text
}

$1 == "switch" {
    bridge[$2] = ++switches
    print "link add s" switches " type bridge stp_state 0 mcast_snooping 0" >ip
    print "link set s" switches " up" >ip
}

$1 == "port" && $3 in name_of {
    endpoint[$2] = ++endpoints
    guid[endpoints] = $3
    host[endpoints] = name_of[$3]
    lid[lid_of[$3]] = endpoints
}

$1 == "cable" {
    all = names($2) OFS names($3)
    latency(all)
    if (device($2) == "" || device($3) == "") {
        left_out++
        next
    }
    print $2, device($2), device($3), forth, back, all >(dir "/links")
    print "link add " veth($2) ($2 in endpoint ? " netns 1" : "") \
        " type veth peer name " veth($3) ($3 in endpoint ? " netns 1" : "") >ip
    attach($2, forth)
    attach($3, back)
}

$1 == "lft" { at = bridge[$2] }

$1 ~ /^[0-9]+(-[0-9]+)?$/ {
    n = split($1, range, "-")
    last = n == 2 ? range[2] : range[1] + length($2) / 2 - 1
    for (i = range[1] + 0; i <= last + 0; i++) {
        dev = "s" at "p" hex($2, n == 2 ? 1 : 2 * (i - range[1]) + 1)
        if (i in lid && dev in wired)
            print "fdb add " mac(lid[i]) " dev " dev " master static" >fdb
    }
}

END {
    if (failed)
        exit 2
    for (name in given)
        if (!(name in used))
            fatal(name ": no such link")
    for (bits = 1; 2 ^ bits <= endpoints; bits++)
        ;
    rules(0, bits, 100)
    # Itself too: what it sends there its device loops back.
    for (i = 1; i <= endpoints; i++)
        for (j = 1; j <= endpoints; j++)
            if (("e" i) in wired)
                print "neigh add " address(j) " lladdr " mac(j) " dev e" i \
                    " nud permanent" >(dir "/hosts.ip")
    if (left_out)
        print "fabric: " left_out " cables are not built, those of routers" \
            " and of adapters that are no hosts" >"/dev/stderr"
}
