# SPDX-License-Identifier: GPL-2.0-or-later
#
# messages.awk - the sentences that C files have for people: of each call of one
# of the functions below, and each row of the words of facts, the first string, with
# "..." where a value is put in.
# Prints FILE, a tab, the sentence. Those with no three letters are left out:
# they only put a name before another sentence.

BEGIN {
    calls = "(^|[^a-z_])((error|die)_(input|world|errno|prefix|usage)|die|" \
        "say(_ok|_info|_warn|_fail|_unknown)?|doctor_say|service_log|" \
        "slurm_error|slurm_spank_log|place_input|import_fault|" \
        "add_limit|add_note|fabric_warn|look_add|outcome_set|db_refuse|" \
        "print_verbose|set_no_result|set_queue_answer|set_decision|" \
        "add_policy_remark|report_policy_line|log_policy_line|" \
        "add_edges_sentence|node_error|why = (xasprintf|pool_printf)) *[(]|" \
        "\\[FACT_[A-Z_]+\\][ \n]*="
}

# The string that starts behind the quote at s[i]; end is where it ends.
function string(s, i,    c, out) {
    for (out = ""; (c = substr (s, i, 1)) != "\"" && c != ""; i++) {
        if (c == "\\") {
            c = substr (s, ++i, 1)
            if (c == "n")
                c = " "
        }
        out = out c
    }
    end = i
    return out
}

# The first string of a call's arguments, and those that stand for it behind a
# colon, with a newline between them; skip: after so many commas.
function sentence(s, skip, words,    depth, i, c, out, found) {
    depth = 1
    for (i = 1; i <= length (s) && depth > 0; i++) {
        c = substr (s, i, 1)
        if (c == "\"") {
            if (skip <= 0) {
                out = out string(s, i + 1)
                found = 1
            }
            else
                string(s, i + 1)
            i = end
        }
        else if (found && match (substr (s, i), /^PRI[a-zA-Z0-9]+/)) {
            out = out "u"
            i += RLENGTH - 1
        }
        else if (found && c == ":" && substr (s, i) ~ /^:[ \n]*"/)
            out = out "\003"
        else if (found && c !~ /[ \n]/)
            break
        else {
            depth += (c == "(") - (c == ")")
            skip -= c == "," && depth == 1
        }
    }
    gsub (words ? "%" : "%%", "\001", out)
    gsub (/%[-+ #0]*[0-9*]*([.][0-9*]*)?(hh|h|ll|l|j|z|t)?[a-zA-Z]/, "...", out)
    gsub (/\001/, "%", out)
    gsub (/[{][^}]*[}]/, "...", out)
    gsub (/[ \n]+/, " ", out)
    while (sub (/\.\.\.\.\.\./, "...", out))
        ;
    gsub (/ ?\003 ?/, "\n", out)
    sub (/ $/, "", out)
    return out
}

function flush(    s, call, skip, out, i, n) {
    for (s = text; match (s, calls);) {
        call = substr (s, RSTART, RLENGTH)
        s = substr (s, RSTART + RLENGTH)
        skip = call ~ /look_add/ ? 3 : call ~ /doctor_say/ ? 2 : 0
        n = split (sentence(s, skip, call ~ /FACT/), out, "\n")
        for (i = 1; i <= n; i++)
            if (out[i] ~ /[a-zA-Z][a-zA-Z][a-zA-Z]/)
                print name "\t" out[i]
    }
    text = ""
}

FNR == 1 { flush(); name = FILENAME }
/^ *(\*|\/\*|#)/ { next }
{ sub (/^[ \t]+/, " "); text = text $0 "\n" }
END { flush() }
