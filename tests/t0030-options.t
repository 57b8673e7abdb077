#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Manual pages and --help list the same options: those of pmm and its verbs are
# put into its pages from man/options, which has to be what --help says; the other
# programs' pages are compared, and groff has no warning about a page. The sample of
# pmm.conf has all keys.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu
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

everywhere="--help --version --output --fabric --conf --format --json"
like "$(pmm --help | verbs)" "series" "pmm --help lists the verbs"
"$srcdir/man/options.sh" pmm >"$workdir/options"
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
        else
            option[$1 "\t" $3]
        next
    }
    { gsub (/\\f./, ""); gsub (/\\-/, "-") }
    /^\.(Verbs?|Opt|Options)( |$)/ { print FILENAME ": " $0 }
    /^\.SH / { verb = /OPTIONS/ ? "pmm" : "" }
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
compare pmm-probe.1 pmm-probe "pmm-probe pairs" "pmm-probe topology" \
    "pmm-probe noise"
probe=$(compgen -G "$builddir/probe/mpi/pmm-probe-mpi.*[a-z]" | head -n 1)
[ -z "$probe" ] || compare pmm-probe-mpi.1 "$probe operations"

# What is no verb is shown clean, and short.
for words in "" "fabric " "fabric generate " "ledger " "policy "; do
    # shellcheck disable=SC2086
    out=$(pmm $words$'\e[31m\x01'"$(printf 'x%.0s' {1..500})" 2>&1)
    is "$? $(wc -l <<<"$out")" "2 1" "pmm $words: no such verb: one line"
    [[ $out == *"unknown verb '?[31m?xxx"* && ${#out} -lt 200
        && $out != *[^[:print:]]* ]]
    ok $? "... $out"
done
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
pmm judge -f sam	 --format j	
pmm judge --format=j	
pmm help pla	--me	pap	
pmm help ledger tr	
pmm-probe pai	 --for	fi	
pmm-emu --sock	sa	
'
expected='pmm fabric read --publish --timeout 5
pmm fabric generate fat-tree --routing dmodk --lmc 3
pmm judge -f sample --format json
pmm judge --format json
pmm help plan --method paper
pmm help ledger trend
pmm-probe pairs --format fit
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
for program in pmm pmm-probe pmm-emu; do
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
    s/^  ([A-Za-z]+) +(.*) \[(.*)\]$/# \2\n#\1 = \3/; t print
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
