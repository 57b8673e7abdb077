# SPDX-License-Identifier: GPL-2.0-or-later
#
# options.awk - puts the options of the table man/options, which is read first,
# into a manual page. In the page's source
#
#     .Verb pmm plan       begins the section of a verb
#     .Opt links switch    is the tag of these options of it. Without text behind
#                          it, the text is the table's.
#     .Options             is where its other options go; else behind its section
#     .Verbs pmm-replay    lists the verbs of that page
#
# Which options go together comes behind them. Options that pmm --help lists for
# many verbs are only named there. A verb of
# verbs has those that its verbs have. What the table does not have stays as it is.

BEGIN { FS = "\t" }

FNR == NR {
    if ($3 == "") {
        operands[$1] = $4
        page[$1] = $2
        about[$1] = $5
    }
    else {
        row[$1, ++rows[$1]] = $0
        of[$1, $3] = $0
    }
    if ($3 == "")
        commands[++n] = $1
    next
}

function text(s) {
    gsub (/\\/, "\\e", s)
    gsub (/-/, "\\-", s)
    return s
}

# The words of a choice are bold, what stands for a value is italic.
function argument(arg,    part, n, i, out) {
    n = split (text(arg), part, "|")
    for (i = 1; i <= n; i++)
        out = out (i > 1 ? "|" : "") \
            (part[i] ~ /^[a-z0-9.\\-]+$/ && n > 1 ? "\\fB" : "\\fI") part[i] "\\fR"
    return out
}

function tag(line,    part) {
    split (line, part, "\t")
    return (part[2] != "" ? "\\fB\\-" part[2] "\\fR, " : "") \
        "\\fB\\-\\-" text(part[3]) "\\fR" \
        (part[4] != "" ? " " argument(part[4]) : "")
}

function sentence(line,    part) {
    split (line, part, "\t")
    return text(toupper (substr (part[5], 1, 1)) substr (part[5], 2) ".")
}

# An option of the command, or of the first of its verbs that has it.
function find(name,    i) {
    if ((verb, name) in of)
        return of[verb, name]
    for (i = 1; i <= n; i++)
        if (index (commands[i], verb " ") == 1 && (commands[i], name) in of)
            return of[commands[i], name]
    return ""
}

# True if it is described, with the verb or with one that has the verb.
function described(name,    above) {
    for (above = verb; above != ""; sub (/ ?[^ ]*$/, "", above))
        if ((above, name) in seen)
            return 1
    return 0
}

function shared(line,    part, many) {
    split (line, part, "\t")
    split (of["pmm", part[3]], many, "\t")
    return verb != "pmm" && many[5] == part[5]
}

# The options that the text did not mention, and what goes together.
function rest(    i, part, named, rules) {
    for (i = 1; i <= rows[verb]; i++) {
        split (row[verb, i], part, "\t")
        if (part[3] == "+") {
            part[5] = text(part[5])
            gsub (/\\-\\-[a-z]+(\\-[a-z]+)*/, "\\fB&\\fR", part[5])
            if (!ruled[verb])
                rules = rules (rules == "" ? "" : "\n") part[5] "."
            continue
        }
        if (described(part[3]))
            continue
        seen[verb, part[3]] = 1
        if (shared(row[verb, i])) {
            sub (/ .*/, "", part[4])
            named = named (named == "" ? "" : ", ") "\\fB\\-\\-" part[3] "\\fR"
        }
        else
            print ".TP\n" tag(row[verb, i]) "\n" sentence(row[verb, i])
    }
    if (named != "")
        print ".PP\n" named ": see \\fBpmm\\fR(1)."
    if (rules != "")
        print ".PP\n" rules
    ruled[verb] = 1
}

# What stands before the line that comes next.
function flush() {
    if (held != "")
        print held
    held = ""
}

/^\.(Verbs?|Opt|Options|S[SH]|TP|PP|IP)( |$)/ { flush() }
{ held = "" }

/^\.(Verb|SH) / {
    if (verb != "")
        rest()
    verb = ""
}
/^\.Verb / {
    verb = substr ($0, 7)
    if (!(verb in operands))
        print
    else if (verb != "pmm")
        print ".SS \"" text(verb) " [option]..." \
            (operands[verb] != "" ? " " operands[verb] : "") "\""
    next
}
/^\.Verbs / {
    for (i = 1; i <= n; i++)
        if (page[commands[i]] == substr ($0, 8) && commands[i] ~ /^pmm [^ ]*$/)
            print ".TP\n.B " text(substr (commands[i], 5)) "\n" \
                text(about[commands[i]])
    next
}
/^\.Options$/ { rest(); next }
/^\.Opt / {
    m = split (substr ($0, 6), name, " ")
    line = ""
    for (i = 1; i <= m; i++) {
        seen[verb, name[i]] = 1
        if (find(name[i]) == "")
            print ".Opt " name[i]
        line = line (i > 1 ? ", " : "") tag(find(name[i]))
    }
    print ".TP\n" line
    held = sentence(find(name[1]))
    next
}
{ print }
END {
    flush()
    if (verb != "")
        rest()
}
