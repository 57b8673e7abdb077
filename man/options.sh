#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# options.sh PROGRAM...: the table man/options, from what --help of the programs
# and of their verbs says. A line is COMMAND, LETTER, OPTION, ARGUMENT, HELP with
# tabs between; of a command, its PAGE, nothing, its OPERANDS, HELP; of a sentence on
# which options go together, nothing, "+", nothing, the sentence.

# table PAGE HELP COMMAND...
table ()
{
    local page=$1 about=$2 help word
    shift 2
    help=$("$@" --help) || exit 1
    awk -v OFS='\t' -v command="$*" -v page="$page" -v about="$about" '
        function flush() {
            if (name != "" && name != "help")
                print command, letter, name, arg, text
            if (name == "help")
                ended = 1
            name = ""
        }
        /^Usage: / && !used {
            used = sub (/.*\[OPTION\]\.\.\. */, "")
            print command, page, "", used ? $0 : "", about
        }
        /^  (-.,|   )? ?--[a-z]/ {
            flush()
            letter = substr ($0, 3, 1) == "-" && substr ($0, 5, 1) == "," ? \
                substr ($0, 4, 1) : ""
            sub (/^ +(-., )?--/, "")
            i = index ($0, "  ")
            text = i ? substr ($0, i) : ""
            sub (/^ +/, "", text)
            arg = name = i ? substr ($0, 1, i - 1) : $0
            sub (/ .*/, "", name)
            arg = substr (arg, length (name) + 2)
            next
        }
        ended && /^[^ \047]/ {
            flush()
            name = "+"
            letter = arg = ""
            text = $0
            next
        }
        name != "" && /^    / {
            sub (/^ +/, "")
            text = text (text == "" ? "" : " ") $0
            next
        }
        { flush() }
        END { flush() }' <<<"$help"
    while IFS=$'\t' read -r page word about; do
        table "$page" "$about" "$@" "$word"
    done < <(awk -v page="$page" -v OFS='\t' '
        /^[^ ].*: pmm-[a-z]*\(1\)$/ { page = substr ($NF, 1, length ($NF) - 3) }
        /^  [a-z]/ { word = $1; sub (/^ +[^ ]+ +/, ""); print page, word, $0 }' \
        <<<"$help")
}

for program; do
    table "$program" "" "$program"
done
