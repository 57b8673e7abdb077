#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Manual pages and --help list the same options: those of pmm and its verbs are
# put into its pages from man/options, which has to be what --help says; the other
# programs' pages are compared, and groff has no warning about a page. The sample of
# pmm.conf has all keys.

. "$(dirname "$0")/lib.sh"
need pmm pmm-compare pmm-probe pmm-compare-probe pmm-emu
workdir
echo 'FailExces = 3' >"$workdir/conf"

# verbs: that a --help lists
verbs () { sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p'; }

# options COMMAND...: that --help lists, also those of verbs within the verb
options ()
{
    local help word
    help=$("$@" --help) || diag "$* --help: status $?"
    sed -nE 's/^ +(-[a-zA-Z], +)?(--[a-z-]+).*/\2/p' <<<"$help"
    for word in $(verbs <<<"$help"; sed -n 's/^[A-Z][a-z]*, each with --help: //p' \
        <<<"$help"); do
        options "$@" "$word"
    done
}

# page NAME: its text without markup
page () { sed -E 's/\\-/-/g; s/\\f.//g' "$srcdir/man/$1.in"; }

# tags: what of a page's text names an option that it then describes
tags () { awk 'tag || /^\.SS/; { tag = /^\.TP/ }'; }

named () { grep -oE -e '(^|[^a-z-])--[a-z][a-z-]*' | sed 's/^[^-]//' | sort -u; }

# compare PAGE COMMAND...
compare ()
{
    local have
    have=$(for word in "${@:2}"; do
        # shellcheck disable=SC2086
        options $word
    done | sort -u)
    is "$(comm -23 <(echo "$have") \
            <({ page "$1"; echo "$everywhere"; } | named))" "" \
        "$1: all options of --help are there"
    is "$(comm -13 <(named <<<"$have $everywhere") \
            <(page "$1" | tags | named))" "" "... and no others"
}

everywhere="--help --version --output --fabric --conf --json"
like "$(pmm --help | verbs)" "report" "pmm --help lists the verbs"
"$srcdir/man/options.sh" pmm pmm-compare >"$workdir/options"
is "$(awk -F'\t' 'NR == FNR { is[$1]; next } $1 in is' "$workdir/options" \
    "$srcdir/man/options" | diff - "$workdir/options")" "" \
    "man/options is what --help says; else: make options"
for page in $(cut -f2 "$srcdir/man/options" | grep '^pmm'); do
    echo "$builddir/man/$page.1"
done | sort -u | xargs awk -F'\t' '
    NR == FNR {
        if ($3 == "") {
            above = $1
            sub (/ [^ ]*$/, "", above)
            page[$1] = $2
            found[above]
        }
        else if ($3 != "+")
            option[$1 "\t" $3]
        next
    }
    { gsub (/\\f./, ""); gsub (/\\-/, "-") }
    /^\.(Verbs?|Opt|Options)( |$)/ { print FILENAME ": " $0 }
    /^\.SH / { verb = !/OPTIONS/ ? "" : FILENAME ~ /pmm-compare.1/ ? "pmm-compare" : "pmm" }
    /^\.SS / && (at = substr ($0, 6, index ($0, " [option]") - 6)) in page {
        if (index (FILENAME, page[at] ".1"))
            found[at]
        verb = at
    }
    {
        while (match ($0, /--[a-z][a-z-]*/)) {
            has[verb "\t" substr ($0, RSTART + 2, RLENGTH - 2)]
            $0 = substr ($0, RSTART + RLENGTH)
        }
    }
    END {
        for (verb in page)
            if (!(verb in found))
                print "no section in " page[verb] "(1): " verb
        for (o in option) {
            name = o
            sub (/.*\t/, "", name)
            above = o
            sub (/( [^ ]*)?\t.*/, "", above)
            if (!(o in has) && !((above "\t" name) in has))
                print "not in its page: " o
        }
    }' "$srcdir/man/options" >"$workdir/wrong"
is "$(<"$workdir/wrong")" "" "each verb and option is in its page"
compare pmm-emu.1 pmm-emu
compare pmm-probe.1 pmm-probe
compare pmm-compare-probe.1 "pmm-compare-probe pairs" \
    "pmm-compare-probe topology" "pmm-compare-probe noise"
probe=$(compgen -G "$builddir/compare/mpi/pmm-probe-mpi.*[a-z]" | head -n 1)
[ -z "$probe" ] || compare pmm-probe-mpi.1 "$probe operations"

# Verbs write text, and JSON with --json. Others write a file of the pipeline, which
# is JSON, or one that other programs read; or have nothing to write.
is "$(awk -F'\t' '
    $3 == "json" { has[$1] = $3 }
    $3 == "output" { writes[$1] }
    $3 == "" { all[++n] = $1; above = $1; sub (/ [^ ]*$/, "", above); of[above] }
    END {
        for (i = 1; i <= n; i++)
            if (!(all[i] in has) && !(all[i] in of))
                print all[i], all[i] in writes ? "-o" : ""
    }' "$srcdir/man/options" | sed 's/  */ /g; s/ $//')" \
"pmm check
pmm ledger prune
pmm ledger check
pmm ledger salvage
pmm fabric read -o
pmm fabric counters -o
pmm fabric generate fat-tree -o
pmm fabric generate dragonfly -o
pmm fabric generate slimfly -o
pmm fabric generate irregular -o
pmm fabric import -o
pmm fabric export -o
pmm plan -o
pmm simulate -o
pmm solve -o
pmm judge -o
pmm confirm -o
pmm-compare plan -o
pmm-compare simulate -o
pmm-compare report -o
pmm-compare export -o" "who has no --json"
is "$(awk -F'\t' '$3 == "format" && $4 ~ /^[a-z]*\|?[a-z]*$/ ||
    $5 ~ /\[[^]]*[^]0-9x-][^]]*\]/ || $5 ~ /not given|absent/' \
    "$srcdir/man/options")" "" "--format has a choice; defaults are in parentheses"
is "$(awk -F'\t' '$3 == "hosts" && $4 == "LIST" && $5 !~ /node\[01-16\] or @FILE/' \
    "$srcdir/man/options")" "" "lists of hosts are as Slurm writes them, or a file"
[[ $(pmm help fabric; pmm fabric netdis 2>&1) != *netdisc* ]]
ok $? "what is for pmm itself is not shown"
like "$(pmm fabric netdisc 2>&1) $?" '(fabric read alone|libraries).* [23]$' \
    "... but is there"

# The sentences on what goes together: each is said, with status 2, to who breaks it.

# split LIST: the words of "A, --b C or --d", a line each
split () { sed 's/, \| and \| or /\n/g' <<<"$1"; }

# value VERB WORD: as it is given on the command line, of choices the first
value ()
{
    local name=${2%% *} arg=${2#* }
    if [[ $name != --* ]]; then
        echo x
        return
    elif [ "$name" = "$arg" ] || [[ $arg != [a-z]* && $arg != *PATTERN ]]; then
        arg=$(awk -F'\t' -v verb="$1" -v name="${name#--}" \
            '$1 == verb && $3 == name { print $4 }' "$srcdir/man/options")
    fi
    case $arg in
    '') ;;
    PATTERN) arg=ring ;;
    [a-z]*) arg=${arg%%|*} ;;
    *'|'*) arg=x ;;
    TIME) arg=1d ;;
    SHARE) arg=.1 ;;
    N) arg=4 ;;
    *) arg=1 ;;
    esac
    echo "$name${arg:+ $arg}"
}

# said VERB WORD: as it is in the sentence to who gave it
said () { [[ $2 == *[a-z]' '[a-z]* ]] && value "$1" "$2" || echo "${2%% [A-Z]*}"; }

# given VERB SENTENCE WORD...: run with these, and with what the verb needs, and
# compare
given ()
{
    local verb=$1 sentence=$2 words='' word said
    shift 2
    for word; do
        words+=" $(value "$verb" "$word")"
    done
    # what the verb needs: rather not what the sentence is about
    if [ "${needed[$verb]}" ] && [[ $'\n'"${needed[$verb]}" != *$'\n'"${1%% *}"* ]]
    then
        while read -r word; do
            [[ $sentence == *"${word%% *}"* ]] || break
        done <<<"${needed[$verb]}"
        words+=" $(value "$verb" "${word:-${needed[$verb]%%$'\n'*}}")"
    fi
    # of two operands
    [[ ! $sentence =~ ^([A-Z]+)\ needs\ ([A-Z]+)$ ]] ||
        sentence="${BASH_REMATCH[2]} is missing: there is only ${BASH_REMATCH[1]}"
    # shellcheck disable=SC2086
    said="$($verb$words 2>&1) $?"
    # pmm-compare export: another sentence may come first
    [ "$said" = "$verb: $sentence 2" ] || [[ $verb == "pmm-compare export" &&
        $said =~ (needs|with)\ .*\ 2$ ]] ||
        echo "$verb$words: not: $sentence"
}

declare -A needed
while IFS=$'\t' read -r verb sentence; do
    [[ $sentence != *' is needed' ]] ||
        needed[$verb]=$(split "${sentence% is needed}")
done < <(sed -nE 's/^([^\t]*)\t+\+\t+/\1\t/p' "$srcdir/man/options")
rules=0
while IFS=$'\t' read -r verb sentence; do
    ((++rules))
    [ -z "$(comm -23 <(named <<<"$sentence") \
        <(awk -F'\t' -v verb="$verb" '$1 == verb { print "--" $3 }' \
            "$srcdir/man/options" | sort))" ] || echo "$verb: option in: $sentence"
    case $sentence in
    *' is needed')
        [[ $($verb 2>&1) == *" is missing" ]] || echo "$verb: $sentence" ;;
    'Only one of '*)
        mapfile -t of < <(split "$(sed 's/Only one of //; s/ can be given//' \
            <<<"$sentence")")
        given "$verb" "$(said "$verb" "${of[0]}") cannot be combined with $(
            said "$verb" "${of[1]}")" "${of[0]}" "${of[1]}" ;;
    *' cannot be combined with '*)
        split "${sentence%% cannot *}" | while read -r a; do
            split "${sentence#* combined with }" | while read -r b; do
                given "$verb" "$(said "$verb" "$a") cannot be combined with $(
                    said "$verb" "$b")" "$a" "$b"
            done
        done ;;
    *)
        split "${sentence%% need*}" | while read -r a; do
            given "$verb" "$(said "$verb" "$a") needs ${sentence#* need* }" "$a"
        done ;;
    esac
done < <(sed -nE 's/^([^\t]*)\t+\+\t+/\1\t/p' "$srcdir/man/options") \
    >"$workdir/wrong"
like "$rules" '^[0-9]{2}$' "there are sentences on what goes together: $rules"
is "$(<"$workdir/wrong")" "" "... and each is said"

# What is no verb is shown clean, and short.
for words in "" "fabric " "fabric generate " "ledger " "policy "; do
    # shellcheck disable=SC2086
    out=$(pmm $words$'\e[31m\x01'"$(printf 'x%.0s' {1..500})" 2>&1)
    is "$? $(wc -l <<<"$out")" "2 1" "pmm $words: no such verb: one line"
    [[ $out == *"unknown verb '?[31m?xxx"* && ${#out} -lt 200
        && $out != *[^[:print:]]* ]]
    ok $? "... $out"
done
# What the last release had says what to use instead.
while read -r program main; do
    sed -nE '/ gone\[\] = /,/^};/s/^ *\{ "([^"]*)", (NULL|"([^"]*)"), .*/\1|\3/p' \
        "$srcdir/$main" | sed "s/^/$program /"
done >"$workdir/gone" <<EOF
pmm pmm/main.c
pmm-compare compare/cmd/main.c
EOF
like "$(<"$workdir/gone")" '|' "there are options that are gone"
while IFS='|' read -r verb option; do
    # shellcheck disable=SC2086
    for given in ${option:+"--$option" "--${option/=/ }"} ''; do
        [[ $given || ! $option ]] || continue
        # shellcheck disable=SC2086
        like "$($verb $given 2>&1) $?" \
            "^pmm[a-z -]*: (.* is gone|moved): .* 2\$" "$verb $given"
    done
    [ ! "$option" ] ||
        is "$(awk -F'\t' -v v="$verb" -v o="${option%=*}" -v x="${option#*=}" '
            $1 == v && $3 == o && (o == x || "|" $4 "|" ~ "[|]" x "[|]")' \
            "$workdir/options")" "" "... which is so"
done <"$workdir/gone"
# What was meant: a verb, one of a verb's own, an option, a key.
while IFS='|' read -r words meant; do
    # shellcheck disable=SC2086
    like "$(pmm $words 2>&1) $?" "; did you mean $meant\? ?.* 2$" "pmm $words"
done <<EOF
plna|plan
fabirc|fabric
fabric raed|read
fabric generate fattree|fat-tree
counters|fabric counters
plan --exta-rounds 3|--extra-rounds
plan --exta-rounds=3|--extra-rounds
fabric read --timeuot 3|--timeout
plan --conf $workdir/conf|FailExcess
EOF
# Completion, in shells on a terminal: what is typed, with tabs, and what is run.
typed='pmm fabr	rea	--publ	 --ti	5
pmm fabric generate fat-tree --routing dm	 --lm	3
pmm-compare infer lat --format d	
pmm-compare infer --format=d	
pmm report --colo	alw	
pmm help ledger tr	
pmm-compare-probe pai	 --for	fi	
pmm judge -f sam	 --plan sam	
pmm-emu --sock	sa	
'
expected='pmm fabric read --publish --timeout 5
pmm fabric generate fat-tree --routing dmodk --lmc 3
pmm-compare infer lat --format dot
pmm-compare infer --format dot
pmm report --color always
pmm help ledger trend
pmm-compare-probe pairs --format fit
pmm judge -f sample --plan sample
pmm-emu --socket sample'

# complete_in SHELL...: the commands that are run
complete_in ()
{
    printf '%sexit\n' "$typed" |
        (cd "$workdir" && touch sample && TERM=dumb HOME=$workdir \
            timeout 60 script -qec "$*" /dev/null) |
        tr -d '\r' | sed -nE 's/^ran: //; t show; b; :show
            s/(--[a-z-]+)=/\1 /g; p'
}
cat >"$workdir/rc" <<'EOF'
PS1='$ '
for program in pmm pmm-compare pmm-probe pmm-compare-probe pmm-emu; do
    eval "$program () { case \"\$*\" in *--help) command $program \"\$@\" ;;
        *) echo ran: $program \"\$@\" ;; esac; }"
done
EOF
{ cat "$workdir/rc"; echo "source $srcdir/contrib/completion/pmm"; } \
    >"$workdir/bashrc"
is "$(complete_in bash --noprofile --rcfile bashrc -i)" "$expected" \
    "completion: bash"
if type zsh >/dev/null 2>&1; then
    { cat "$workdir/rc"; cat <<EOF; } >"$workdir/.zshrc"
fpath=($srcdir/contrib/completion \$fpath)
autoload -Uz compinit
compinit -u -d $workdir/zdump
zstyle ':completion:*' insert-tab false
EOF
    is "$(ZDOTDIR=$workdir complete_in zsh -i)" "$expected" "... and zsh"
else
    skip "... and zsh" "no zsh"
fi

for verb in plan "fabric read" "ledger show" "fabric generate fat-tree"; do
    # shellcheck disable=SC2086
    is "$(pmm help $verb)" "$(pmm $verb --help)" "pmm help $verb"
done
is "$(pmm help)" "$(pmm --help)" "pmm help"
for program in prolog/pmm-comment prolog/pmm-healthcheck; do
    [ ! -x "$builddir/$program" ] || like \
        "$("$builddir/$program" --help) $?" '^Usage: .* 0$' "$program --help"
done

# The sample has each key and its default, as pmm-probe tells them.
pmm-probe --help | sed -nE '1,/^Keys/d
    /^  (Conf|Hooks) /d
    s/^  ([A-Za-z]+) +(.*) \(default: (.*)\)$/# \2\n#\1 = \3/; t print
    s/^  ([A-Za-z]+) +(.*)$/# \2\n#\1 =/; t print
    d; :print p' >"$workdir/keys"
is "$(sed -n '/^## /,$ { /^## /d; /./p }' "$builddir/contrib/samples/pmm.conf" \
    | diff - "$workdir/keys")" "" "the sample pmm.conf has all keys and defaults"
is "$(grep -v '^#' "$builddir/contrib/samples/pmm.conf")" "" "... and sets none"
if type groff >/dev/null 2>&1; then
    is "$(grep -L '^\.so ' "$builddir"/man/*.[158] |
        xargs -n 1 groff -man -ww -z -Tutf8 2>&1)" "" \
        "manual pages are formatted without a warning"
else
    skip "manual pages are formatted" "no groff"
fi

done_testing
