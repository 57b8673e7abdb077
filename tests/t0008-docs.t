#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# README and docs/: each link leads somewhere; each file is packed; each verb,
# option and key that they name exists, and man pages have what tables name;
# blocks that are marked as run ("```sh run"), those of a file one after the other
# in a directory of their own, succeed there, beside the other files of docs/.

. "$(dirname "$0")/lib.sh"
workdir
cd "$srcdir" || exit 1
need pmm pmm-probe pmm-emu jq
files=(README.md CONTRIBUTING.md docs/*.md)

# anchors FILE: as browsers of such files name headings
anchors ()
{
    awk '/^```/ { code = !code } !code && /^#+ / {
        sub (/^#+ /, ""); gsub (/`/, ""); $0 = tolower ($0)
        gsub (/[^a-z0-9 _-]/, ""); gsub (/ /, "-"); print }' "$1"
}

# links FILE: their targets
links ()
{
    awk '/^```/ { code = !code } !code && !/^    /' "$1" | tr '\n' ' ' |
        grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//'
}

# astray FILE...: links that lead nowhere
astray ()
{
    local file link to
    for file; do
        while read -r link; do
            case $link in http://* | https://*) continue ;; esac
            to=$(dirname "$file")/${link%%#*}
            [[ $link == '#'* ]] && to=$file
            [[ -e $to ]] || echo "$file: no $link"
            [[ $link != *'#'* || ! -e $to ]] ||
                anchors "$to" | grep -qxF -e "${link#*#}" ||
                echo "$file: no heading $link"
        done < <(links "$file")
    done
}

is "$(astray "${files[@]}")" "" "links lead somewhere"
like "$(links README.md | wc -l)" '^[1-9][0-9]' "... and there are some"

is "$(comm -3 <(printf '%s\n' docs/* | sort) \
        <(grep -oE 'docs/[a-z0-9-]+[.][a-z]+' contrib/Makefile.inc | sort -u))" \
    "" "what is packed is what is there"

# docs/security.md: the lines that are linked, but for a tenth
is "$(while read -r program lines; do
        n=$("$srcdir/tests/linked" "$builddir/$program")
        ((n > lines * 9 / 10 && n < lines * 11 / 10)) ||
            echo "$program has $n lines, not $lines"
    done < <(sed -nE 's/^\| .*`([a-z_.-]+)`.* \| ([0-9,]+) \|$/\1 \2/p' \
        docs/security.md | tr -d , | sed -E 's|^spank|spank/&|
            s|^pmm-probe|probe/&|; s|^pmm |pmm/&|
            s|^pmm-.*|prolog/&|'))" "" "how much is linked is what security.md says"
is "$(for program in pmm/pmm probe/pmm-probe prolog/pmm-epilogslurmctld \
    prolog/pmm-prolog spank/spank_pmm.so; do
    "$srcdir/tests/linked" -f "$builddir/$program" | grep '^compare/'
done)" "" "... and nothing of what compares with other programs"

make -s -C "$builddir" install-docDATA install-docsDATA install-benchdocDATA \
    DESTDIR="$workdir/installed" >"$workdir/out" 2>&1
ok $? "documents are installed" || diag "$(<"$workdir/out")"
installed=$(find "$workdir/installed" -name README.md -printf %h)
is "$(cd "$installed" && astray README.md docs/*.md)" "" \
    "... and links lead somewhere there"

# commands FILE: in blocks and between backquotes, a line each, without comments
commands ()
{
    awk '
        function put(s) {
            sub (/^[ ]*[$#]? */, "", s); sub (/ +# .*/, "", s)
            if (s ~ /^(srun .* )?pmm(-[a-z-]+)?( |$)/)
                print s
        }
        /^```/ { code = !code; next }
        code || held != "" || /^     *[^ |*-]/ {
            if (sub (/\\$/, "")) { held = held $0; next }
            put(held $0); held = ""; next
        }
        { held = "" }
        { text = text $0 " " }
        END {
            n = split (text, part, "`")
            for (i = 2; i <= n; i += 2)
                put(part[i])
        }' "$1"
}

# exists WORD...: a command line, whose options and verbs exist
exists ()
{
    local help word program said=$* rest
    [[ $said =~ (^|.*[[:space:]])(pmm(-[a-z-]+)?)([[:space:]].*|$) ]] || return 0
    program=${BASH_REMATCH[2]}
    read -ra rest <<<"${BASH_REMATCH[4]}"
    type -P "$program" >/dev/null || return 0
    help=$program
    for word in "${rest[@]:0:3}"; do
        [[ $word =~ ^[a-z][a-z-]*$ ]] || break
        # shellcheck disable=SC2086
        if $help "$word" --help >/dev/null 2>&1 </dev/null; then
            help="$help $word"
        elif [[ $(eval "$help" --help) =~ (\ VERB\ \[OPTION|each with --help:) ]]
        then
            echo "no verb $word: $said"
            return
        fi
    done
    # shellcheck disable=SC2086
    help=$($help --help 2>&1; [[ $program == pmm ]] || $program --help 2>&1)
    for word in "${rest[@]}"; do
        [[ $word =~ ^(--[a-z][a-z-]*) ]] || continue
        grep -qE -e "(^|[^a-z-])${BASH_REMATCH[1]}([^a-z-]|$)" <<<"$help" ||
            echo "no ${BASH_REMATCH[1]}: $said"
    done
}

for file in "${files[@]}"; do
    commands "$file"
done | sort -u >"$workdir/commands"
while read -r line; do
    # shellcheck disable=SC2086
    set -f && exists $line
done <"$workdir/commands" >"$workdir/wrong"
is "$(<"$workdir/wrong")" "" "verbs and options exist"
like "$(wc -l <"$workdir/commands")" '^[1-9][0-9]+$' "... and are named"

# Keys of pmm.conf are written "Key = value", those of Slurm's files Key=value.
is "$(grep -ohE '(^ *|`)[A-Z][A-Za-z]+ +=( |`)' "${files[@]}" |
    tr -d ' `=' | sort -u |
    grep -vxFf <(sed -nE 's/^#([A-Za-z]+) = ?.*/\1/p' \
        contrib/samples/pmm.conf.in))" "" "keys are pmm.conf's"

# rows FILE TABLE: the names with which rows of a table of C begin
rows ()
{
    sed -nE "/ $2\[.*\] = \{/,/^\}/ s/^    (\[[A-Z_]+\] = )?\{ \"([^\"]+)\".*/\2/p" "$1"
}

# undocumented DOCUMENT: of the names on standard input, those it does not have
undocumented ()
{
    local name
    sed 's/\\-/-/g' "$1" >"$workdir/document"
    while read -r name; do
        grep -qwF -e "$name" "$workdir/document" || echo "$1: no $name"
        echo "$name" >>"$workdir/rows"
    done
}

grep 'fabric import.*FORMAT:FILE' man/options >"$workdir/formats"
is "$(rows ibquery/import/import.c formats | undocumented "$workdir/formats"
    rows pmm/fabric/formats.c formats | undocumented man/pmm-fabric.1.in
    rows report/words.c event_words | undocumented man/pmm.conf.5.in
    grep -oE '"pmm_[a-z_]+' prolog/serve/duty_metrics.c | tr -d '"' |
        undocumented man/pmm.conf.5.in)" \
    "" "man pages have formats, notices and metrics"
like "$(sort -u "$workdir/rows" | wc -l)" '^4[0-9]$' "... all of them"

for file in "${files[@]}"; do
    awk '/^```sh run$/ { on = 1; next } /^```/ { on = 0 } on' "$file" \
        >"$workdir/script"
    [[ -s $workdir/script ]] || continue
    rm -rf "$workdir/run"
    mkdir "$workdir/run"
    find docs -type f ! -name '*.md' -exec cp -t "$workdir/run" {} +
    (cd "$workdir/run" && bash -eo pipefail "$workdir/script") \
        >"$workdir/out" 2>&1
    ok $? "what $file says is run" || diag "$(tail -n 5 "$workdir/out")"
done

done_testing
