#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm report --html: one file, which asks for nothing and runs nothing but its
# own scripts whatever nodes call themselves. In headless Chromium it says what
# to touch, is searched, clicked, zoomed and printed.

. "$(dirname "$0")/lib.sh"
need pmm cc
workdir
cd "$workdir" || exit 1
make_seal

# A fabric two switches and a host of which describe themselves as they like.
evil='</script><script>document.title="evil"</script>'
pmm fabric generate fat-tree --ports 8 --levels 3 -o plain
sed "s|^\(switch 0002c90100000010 8 129\) .*|\1 <img src=x onerror=evil()>|
    s|^\(switch 0002c90200000010 8 [0-9]*\) .*|\1 $evil|
    s|^\(ca 0002c90000000230 1\) .*|\1 h0035 \"\&lt;<b>x|
    0,/^cable/s/^cable/plug 0002c90100000010\/5 <i>Wire<\/i> serial 7\n&/" plain |
    ./seal >fabric
pmm plan -f fabric --hosts 'h00[01-04],h00[17-20],h00[33-36],h00[65-68]' -o plan
simulate () {
    pmm simulate -f fabric --plan plan --latency random:300:800:3 --noise 5 "$@"
}
simulate -o base
mkdir out
cp plan out/plan.json
simulate --seed 2 --slow 0002c90100000010/5=+700 --slow h0035/1=+400 \
    -o out/samples.json
pmm judge -f fabric --plan plan --samples out/samples.json --baseline base \
    -o out/verdict.json
echo '0002c90100000010,5,0002c90200000010,1,A12 <i>' >cables.csv
cat >counted <<X
pmm-counters 1
time 2026-11-26T10:00:00Z
lasted 1
fabric $(sed -n 's/^hash //p' fabric)
columns fec SymbolErrorCounter PortXmitData
port 0002c90000000230/1 rs 12 123456789
port 0002c90100000010/5 rs 7 55555
end 0
X
./seal <counted >counters

pmm report --html -f fabric --baseline base --cabling cables.csv \
    --counters counters out -o page.html 2>said
is $? 1 "a page, and the verdict's exit status" || diag "$(<said)"
pmm report --html -f fabric out/verdict.json >alone.html
is $? 1 "of a verdict alone, too"
like "$(pmm report -f fabric out/verdict.json)" \
    $'\npmm:   .*/5 -- .*\npmm:     cable: <i>Wire</i> serial 7 -- [?]\n' \
    "... as text, with what a plug says of itself"
is "$(head -1 page.html)" '<!DOCTYPE html>' "it is HTML"
ok "$([ "$(wc -c <page.html)" -lt 300000 ]; echo $?)" "of some 100 kB"
is "$(grep -c '<script>document\|<img' page.html)" 0 \
    "no name is HTML of the page"
pmm report --counters counters -f fabric out/verdict.json 2>said
is $? 2 "what only a page shows is refused without --html"
pmm report --html -f fabric plan 2>said
is "$?,$(<said)" "2,pmm report: plan: expected a verdict, this is a plan" \
    "and so is a file that is no verdict"

with_browser
browse page.html >said <<'X'
size 1280 900
wait document.body.dataset.ready
eval $('#headline').textContent
eval [...document.querySelectorAll ('#findings .ends')].map (e => e.textContent)
eval $('#findings .alike').textContent.slice (0, 52)
eval $('#findings .sub').textContent
# what to do comes before where and what was measured; a text for a ticket
eval [...$('#findings .card').children].map (e => e.className)
eval $('#findings .todo').textContent
click $('#findings .ticket summary')
click $('#findings .ticket button')
eval [$('#findings .ticket button').textContent, getSelection ().toString () === $('#findings .ticket pre').textContent.trim ()]
eval $('#findings .ticket pre').textContent.split ('\n')[3].slice (0, 60)
eval document.querySelectorAll ('img, b script, main script').length
eval document.title.startsWith ('FAIL: ')
eval $('#limits li').textContent
eval head.resolved + state.job.links.filter (unresolved).length === head.links
# the drawing: what is chosen, suspects' paths or all, the mouse
eval state.link
eval drawing.links.length < state.job.links.length
key a
eval drawing.links.length === state.job.links.length
click (() => { const b = drawing.canvas.getBoundingClientRect (); const [x, y] = at (state.job.nodes.find (n => n.name.startsWith ('h0066'))); return [b.x + x, b.y + y]; }) ()
eval $('#chosen b').textContent
wheel -300 drawing.canvas
wait drawing.zoom > 2
eval (drawing.was = drawing.x, 1)
drag 40 0 drawing.canvas
eval Math.round (drawing.x - drawing.was)
click $('[data-zoom="0"]')
eval [drawing.zoom, drawing.x]
# the keyboard: search, next suspect, themes
key /
text h0035
key ArrowDown
key Enter
eval $('#chosen b').textContent
eval [...document.querySelectorAll ('#p-counters td')].map (e => e.textContent)
key n
key n
eval state.link
key t
eval document.documentElement.dataset.theme
key t
# probes: sorted by what they took over what was expected, the paths shown
click [...document.querySelectorAll ('#p-probes th button')].find (b => b.textContent === 'over it')
eval $('#p-probes tbody tr').children[6].textContent
eval drawing.probe !== null
# no wider than the window, at any width
size 400 800
wait document.documentElement.scrollWidth === 400
size 700 800
wait document.documentElement.scrollWidth === 700
shot small.png
media print
eval [['.status'], ['.legend canvas'], ['.steps > li.chosen', '::before'], ['main']].map (([s, part]) => getComputedStyle ($(s), part).printColorAdjust)
print page.pdf
X
is "$(<said)" '"A cable is 701 ns slow: <img src=x onerror=evil()>/5 -- </script><script>document.title=\"evil\"</script>/1, or </script><script>document.title=\"evil\"</script>/5 -- s3-0001/1, and 1 more finding"
["<img src=x onerror=evil()>/5\u21c4</script><script>document.title=\"evil\"</script>/1", "</script><script>document.title=\"evil\"</script>/5\u21c4s3-0001/1", "h0035 \"&lt;<b>x/1\u21c4s1-0009/3"]
"33 % of the links are resolved, so these 2 look alik"
"label A12 <i> \u00b7 <i>Wire</i> serial 7 -- ? \u00b7 4xHDR"
["kind", "todo", "alike", "steps", "ticket", "big", "why"]
"Reseat the plugs of the first cable, then of the next; swap the one that stays slowAfter the repair: pmm ledger rebase CABLE"
["Copied", true]
"Where: <img src=x onerror=evil()>/5 -- </script><script>docu"
0
true
"32 of the 48 links cannot be resolved by this job'"'"'s paths"
true
"0002c90100000010/5"
true
true
"h0066 mlx5_0"
1
40
[1, 0]
"h0035 \"&lt;<b>x/1 \u21c4 s1-0009/3"
["SymbolErrorCounter", "12", "\u2013", "PortXmitData", "123,456,789", "\u2013"]
"0002c90200000010/5"
"dark"
"+1,402 ns"
false
["exact", "exact", "exact", "economy"]
console 0
requests 0' "what it says, and what it does"
ok "$([ -s page.pdf ] && [ -s small.png ]; echo $?)" "it is printed"

# Of all pairs: those of the check are computed in the page, by the links' sums.
pmm solve -f fabric --plan plan --samples out/samples.json --pairs -o pairs
pmm-compare report --series pairs -f fabric --baseline base out -o all.html
browse all.html >said <<'X'
size 1280 900
wait document.body.dataset.ready
eval view.models.map (m => m.name)
eval (() => { const [, mine, theirs] = view.models; let worst = 0, n = 0; for (let a = 0; a < 16; a++) for (let b = 0; b < 16; b++) if (a !== b) { n++; worst = Math.max (worst, Math.abs (mine.get (a, b, 0) - 2 * theirs.get (theirs.labels.indexOf (mine.labels[a]), theirs.labels.indexOf (mine.labels[b]), 0))); } return [n, worst < 8]; }) ()
eval (useModel (3), view.model.name)
eval ($('#matrix').scrollIntoView (), 1)
wait view.busy === false
eval Math.round (view.range[1] / 100)
click view.canvas
wait view.cell
eval view.places.indexOf (view.cell[0])
wheel -300 view.canvas
wait view.n < 16 && view.busy === false
eval document.querySelectorAll ('#matrix .side .uplot').length
X
is "$(<said)" '["by the baseline", "this check", "pairs", "this check \u2212 by the baseline", "pairs \u2212 this check"]
[240, true]
"this check \u2212 by the baseline"
1
15
8
2
console 0
requests 0' "the matrix of all pairs, computed, is that of pmm solve --pairs"
if pmm-compare series --help >/dev/null 2>&1; then
    pmm-compare report --series pairs --series pairs >series.html
    ok $? "matrices without a verdict"
    browse series.html >said <<'X'
size 400 800
wait document.body.dataset.ready
wait document.documentElement.scrollWidth === 400
eval [document.title, view.models.length]
X
    is "$(<said)" '["slurm-pmm", 3]
console 0
requests 0' "are a page of their own"

    # twelve hosts, three lengths, twice; the second time h01 is 50 ns slower
    for more in 0 50; do
        jq -nc --argjson more "$more" '{ kind: "series", version: 1,
            test: "one_to_one", seed: 1, repeats: 9, noise_length: 0,
            noise_messages: 0, noise_processes: 0, steps: 1, probes: 1,
            seconds: 1, complete: true, topologies: [],
            processes: [range (12) | "h\(100 + . | tostring | .[1:])" |
                { label: ., host: ., lost: false }],
            pairs: [(0, 1024, 8192) as $l | range (12) as $a | range (12) as $b |
                select ($a != $b) | { a: $a, b: $b, length: $l, count: 9,
                lost: 0, time_ns: ((1000 + $l + 10 * ($a - $b | fabs)
                    + (if $a == 1 or $b == 1 then $more else 0 end)) |
                    { min: ., p25: ., median: ., p75: ., max: ., mean: .,
                      sd: 100 }) }] }' >"series$more"
    done
    pmm-compare report --series series0 --series series50 >series.html
    browse series.html >said <<'X'
size 1280 900
wait document.body.dataset.ready
eval ($('#matrix').scrollIntoView (), view.canvas.focus (), 1)
wait view.busy === false
# of 132 pairs; those of neighbours are the first bin
eval [view.counts.length, view.counts.reduce ((x, y) => x + y), view.counts[0], $('#matrix .bins h3').textContent]
eval [view.down, view.across].map ((c) => c.getContext ('2d').getImageData (0, 0, c.width, c.height).data.some ((x) => x))
eval view.key.textContent.includes ('deviation')
click [...document.querySelectorAll ('#matrix label')].find ((l) => l.textContent === 'deviation in red')
wait view.key.textContent.includes ('a deviation of 25 % of the time')
# the keys' cell begins in the middle, stays inside, is pinned and let go
eval (view.canvas.focus (), 1)
key ArrowDown
eval [view.tip.textContent, view.cell]
key Enter
eval [view.cell.map ((p) => view.model.labels[p]), document.querySelectorAll ('#matrix .strip').length]
key ArrowLeft
eval [view.at, view.cell]
key Escape
eval [view.at, view.cell]
eval (view.at = [0, 0], 1)
key ArrowUp
eval view.at
# closer, it follows the keys
eval (view.n = 8, clampView (), view.at = [7, 7], 1)
key ArrowRight
eval [view.at, view.x, view.y]
key Enter
# all lengths of its row: the last one, and the last partner
click (() => { const s = $('#matrix .strip'); s.scrollIntoView ({ block: 'center' }); const b = s.getBoundingClientRect (); return [b.right - 3, b.bottom - 3]; }) ()
eval [view.cell, view.length]
# two series: h01's 22 pairs deviate
eval (useModel (2), 1)
wait view.busy === false
eval [view.counts.filter ((x) => x), $('#matrix .bins h3').textContent]
X
    is "$(<said)" '1
[100, 132, 22, "132 pairs by their time, ns"]
[true, true]
false
1
["h07 \u2192 h06: 1,010 ns", null]
[["h07", "h06"], 2]
[[7, 5], [7, 6]]
[null, null]
1
[0, 0]
1
[[7, 8], 1, 0]
[[7, 11], 2]
1
[[110, 22], "132 pairs by how much they deviate, ns"]
console 0
requests 0' "a matrix: names, keys, all lengths, a histogram"
fi

browse alone.html >said <<'X'
wait document.body.dataset.ready
eval $('#headline').textContent
eval drawing.links.length
eval document.querySelectorAll ('#p-history, #p-counters').length
X
is "$(<said)" '"A cable is 701 ns slow: <img src=x onerror=evil()>/5 -- </script><script>document.title=\"evil\"</script>/1, or </script><script>document.title=\"evil\"</script>/5 -- s3-0001/1, and 1 more finding"
3
2
console 0
requests 0' "so does that of a verdict alone"
# What cables carried: a switch of what is shown, by mouse and key.
python3 - out/verdict.json <<'X'
import json, sys
v = json.load (open (sys.argv[1]))
v["rates"] = [{"link": "0002c90000000230/1", "way": way, "bits": bits,
               "expected": 197e9} for way, bits in ((0, 98.3e9), (1, 196e9))]
x = next (f for f in v["findings"] if f["nodes"])
x["rate_bits"], x["rate_expected_bits"] = 98.3e9, 197e9
json.dump (v, open (sys.argv[1], "w"))
X
pmm report --html -f fabric --baseline base out -o rates.html 2>said
is $? 1 "a page with rates" || diag "$(<said)"
browse rates.html >said <<'X'
size 1280 900
wait document.body.dataset.ready
eval [...document.querySelectorAll ('#shows button')].map (b => b.textContent + b.getAttribute ('aria-pressed'))
key n
key n
eval [...document.querySelectorAll ('#p-facts dd')].map (e => e.textContent).filter (t => t.endsWith ('197 Gb/s') && t.length < 20)
eval [...document.querySelectorAll ('.big')].map (e => e.textContent).filter (t => t.endsWith ('197 Gb/s') && t.length < 20)
eval $('#legend').textContent.includes ('ns slower')
key r
eval [state.shows, $('#legend').textContent.includes ('50 % less'), [...document.querySelectorAll ('#links th')].map (e => e.textContent)]
eval [...document.querySelectorAll ('#links tr')].map (e => e.textContent).filter (t => t.includes ('Gb/s'))[0].slice (-19)
eval styleOf (state.job.byId.get (state.link)).color === shade (1)
click (() => { $('#shows').scrollIntoView ({ block: 'center' }); const b = $('#shows button').getBoundingClientRect (); return [b.x + 5, b.y + 5]; }) ()
eval [state.shows, $('#legend').textContent.includes ('ns slower')]
size 400 800
wait document.documentElement.scrollWidth === 400
X
is "$(<said)" '["Latencytrue", "Ratefalse"]
["98 of 197 Gb/s", "196 of 197 Gb/s"]
["98 of 197 Gb/s"]
true
["rate", true, ["one end", "other end", "class", "there", "back", "of what was expected"]]
"98 Gb/s196 Gb/s50 %"
true
["latency", true]
console 0
requests 0' "... shows them beside latencies"

done_testing
