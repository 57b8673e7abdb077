#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/troubleshooting.md has each message that the programs print, and no other.
# Its entries are what is between backquotes in the first column of its tables,
# behind the table of what people meet first; "..." is anything.

. "$(dirname "$0")/lib.sh"
workdir
cd "$srcdir" || exit 1

rooms=$(sed -nE 's/^\| `([a-z]+)\/` .*/\1/p' CONTRIBUTING.md)
# shellcheck disable=SC2086
find $rooms tests/emu -name '*.[ch]' ! -path '*/test/*' -print0 | sort -z |
    xargs -0 awk -f tests/messages.awk >"$workdir/messages"
like "$(wc -l <"$workdir/messages")" '[0-9]{4}' "messages are found"

awk -F'`' '
    /^## pmm doctor/ { on = 1 }
    on && /^\| `/ {
        for (i = 2; i < NF; i += 2) {
            if ($(i - 1) ~ / \| /)
                break
            print $i
        }
    }' docs/troubleshooting.md >"$workdir/entries"

# An entry as a regular expression, from begin to end.
awk '
    function regex(s) {
        gsub (/[][\\.*+?^$(){}|\/]/, "\\\\&", s)
        gsub (/\\\.\\\.\\\./, ".*", s)
        return "^" s "$"
    }
    NR == FNR { entry[++n] = $0; re[n] = regex($0); next }
    {
        text = $0
        sub (/^[^\t]*\t/, "", text)
        found = 0
        for (i = 1; i <= n; i++)
            if ((!found || !used[i]) && text ~ re[i])
                found = used[i] = 1
        if (!found)
            print "missing: " $0
    }
    END {
        for (i = 1; i <= n; i++)
            if (!used[i])
                print "no message: " entry[i]
    }' "$workdir/entries" "$workdir/messages" >"$workdir/wrong"
is "$(grep '^missing' "$workdir/wrong")" "" \
    "docs/troubleshooting.md has each: put it into a table, with what to do"
is "$(grep '^no message' "$workdir/wrong")" "" "... and no others"

# CONTRIBUTING, Words.
is "$(cut -f2 "$workdir/messages" | grep -wiE "told apart|nobody|somebody|mended")" \
    "" "they are plain"

done_testing
