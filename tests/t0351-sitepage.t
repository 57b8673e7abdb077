#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The page of a site, in headless Chromium: what is wrong, as a text for a ticket,
# too; the map of all cables by keyboard, mouse and search; at 400 and 1,280 pixels,
# dark, and printed. That the audit service writes it is tests/t0860-serve.t's.

. "$(dirname "$0")/lib.sh"
need pmm cc
maker=$builddir/prolog/test/site_page
[ -x "$maker" ] || skip_all "built without the service"
workdir
cd "$workdir" || exit 1
make_seal

# A fabric of odd names, and it as it was two days ago: two cables of a host were
# in each other's port.
evil='</script><script>document.title="evil"</script>'
pmm fabric generate fat-tree --ports 8 --levels 3 -o plain
sed "s|^\(switch 0002c90100000010 8 129\) .*|\1 <img src=x onerror=evil()>|
    s|^\(ca 0002c90000000060 1\) .*|\1 h0006 \"\&lt;<b>x|
    s|^\(switch 0002c90100000020 8 [0-9]*\) .*|\1 $evil|" plain |
    ./seal >fabric
sed 's|^\(cable 0002c90000000330/1\) .*|\1 0002c901000000d0/4 4xHDR|
    s|^\(cable 0002c90000000340/1\) .*|\1 0002c901000000d0/3 4xHDR|' fabric \
    >"fabric.$(date -u -d '2 days ago' +%Y%m%dT%H%M%SZ)"

echo '0002c90000000060,1,0002c90100000020,2,rack 7 <i>' >cables.csv
CABLING=$workdir/cables.csv "$maker" fabric site >took 2>said
is $? 0 "a page is written" || diag "$(<said)"
page=site/index.html
ok "$([ "$(wc -c <$page)" -lt 300000 ]; echo $?)" "of some 200 kB"
is "$(grep -c '<script>document\|<img' $page)" 0 "no name is HTML of the page"
is "$(grep -c 'alice\|/home\|/opt\|4711' $page)" 0 "it has no users and no paths"

with_browser
browse $page >said <<'X'
size 1280 900
wait document.body.dataset.ready
eval document.title
eval [...document.querySelectorAll ('#findings h3')].map (e => e.textContent)
eval document.querySelectorAll ('img, main script, .card b script').length
eval [...document.querySelectorAll ('#finding-1 .facts-list dt')].map (e => e.textContent)
eval $('#finding-1 .facts-list').textContent.includes ('drained by pmm') && $('#finding-1 .facts-list').textContent.includes ('4242, 4250')
# what to do comes before where, since when and how it was measured
eval [...$('#finding-1').children].map (e => e.classList[0])
eval [...document.querySelectorAll ('#finding-1 .todo li')].map (e => e.textContent)[0]
# the ticket that an audit's page has, with what the site knows
eval $('#finding-1 pre').textContent.split ('\n').map (l => l.split (':')[0])
eval [$('#finding-1 .sub').textContent, $('#finding-1 pre').textContent.split ('\n').find (l => l.startsWith ('Where'))]
eval $('#finding-1 pre').textContent.split ('\n').filter (l => /^(Jobs|Node|Found)/.test (l))
# the map: a cell for each cable
eval [cells.all.length, new Set (cells.all.map (c => `${c.x} ${c.y}`)).size]
eval [0, 1, 2, 3, 4].map (s => cells.all.filter (c => c.cell === s && c.at).length > 0)
eval cells.all.filter (c => !c.at).length > 0
eval cells.titles.filter (t => t.strong).map (t => t.text)
eval cells.canvas.tabIndex
# of two suspects, of which one has been clean since, the other one is marked
eval head.findings[0].suspects.concat (head.findings[0].oneway).map (id => [cells.byId.get (id).finding, cellWords (cells.byId.get (id)).split (' \u00b7')[0]])
# latency or rate
eval [...document.querySelectorAll ('#shows button')].map (b => b.textContent + b.getAttribute ('aria-pressed'))
eval cellWords (cells.all.find (c => c.rate && c.rate[0] < 1e5)).split (' \u00b7 ')[2]
eval (globalThis.was = $('#cells .legend').textContent, $('#cells .legend').textContent.includes ('excess'))
key r
eval [state.shows, $('#cells .legend').textContent.includes ('< 75 %'), $('#shows [aria-pressed=true]').textContent]
eval [...new Set (cells.all.filter (c => c.rate).map (c => fillOf (c, 'none')))].map (c => Object.keys (palette).find (k => palette[k] === c))
eval fillOf (cells.all.find (c => !c.rate), 'none')
click (() => { $('#shows').scrollIntoView ({ block: 'center' }); const b = $('#shows button').getBoundingClientRect (); return [b.x + 5, b.y + 5]; }) ()
eval $('#cells .legend').textContent === was
# by keyboard
eval (cells.canvas.focus (), $('#cell b').textContent)
key ArrowRight
eval $('#cell b').textContent
key ArrowDown
key ArrowLeft
key ArrowUp
eval cells.at === cells.rows[0].list[0].i
key End
eval $('#cell').textContent.includes ('never measured')
eval [$('#cell').getAttribute ('aria-live'), cells.canvas.getAttribute ('aria-describedby')]
key n
key n
eval cells.all[cells.at].finding
# by mouse
click (() => { cells.canvas.scrollIntoView ({ block: 'center' }); const b = cells.canvas.getBoundingClientRect (); const c = cells.all.find (c => c.finding === 1); return [b.x + c.x + 3, b.y + c.y + 3]; }) ()
eval $('#cell').textContent.slice (0, 60)
eval $('#cell a').getAttribute ('href')
# by name
key /
text h0100
key Enter
eval $('#cell b').textContent
# the rest
eval [...document.querySelectorAll ('#missed tbody td:last-child')].map (e => e.textContent)
eval [...document.querySelectorAll ('#changed tbody tr')].map (e => e.children[1].textContent).sort ()
eval [...document.querySelectorAll ('#changed td')].find (e => e.textContent.includes ('moved')).textContent
eval document.querySelectorAll ('#audits tbody tr').length
# no wider than the window, light and dark
eval (drawCells (), document.documentElement.scrollWidth)
size 400 800
wait document.documentElement.scrollWidth === 400 && cells.width === cells.canvas.clientWidth
eval [document.documentElement.dataset.theme, palette.paper]
dark yes
wait document.documentElement.dataset.theme === 'dark'
eval palette.paper
media print
eval ['.status', '#cells .legend', '#cells .canvases', '.tag'].map (s => getComputedStyle ($(s)).printColorAdjust)
print page.pdf
# a cable whose finding is one too many; before the first audit
eval (head.findings = [], cellWords (cells.all.find (c => c.cell === CELLS.FOUND)).split (' \u00b7')[0])
eval (head.status = 'UNKNOWN', showSite (), [document.title, $('#headline').textContent])
X
is "$(<said)" '"FAIL: 4 findings \u2013 slurm-pmm"
["A cable is 2.4 us slow: h0009'"'"'s, or s1-0003/5 -- s2-0001/3", "A cable is 1.0 us slow: h0006'"'"'s", "A cable is 210 ns slow: h0003'"'"'s", "A cable loses messages: s1-0017/5 -- s2-0017/1"]
0
["since", "last seen", "node", "jobs hit"]
true
["kind", "todo", "steps", "facts-list", "ticket", "big", "why"]
"Reseat h0006'"'"'s cable at both ends, then swap it"
["FAIL", "Do", "      look at the adapter and PCIe slot of h0006", "      look at its software", "      after the repair", "Where", "Since", "Jobs", "Node", "Found by", "Measured", ""]
["label rack 7 <i> \u00b7 4xHDR", "Where: h0006 \"&lt;<b>x/1 -- </script><script>document.title=\"evil\"</script>/2 (0002c90000000060/1), label rack 7 <i>"]
["Jobs: 4242, 4250", "Node: h0006, drained by pmm", "Found by: audit 4"]
[384, 384]
[true, true, true, true, false]
true
["Leaf switches: 128 to hosts, 128 up", "Switches of level 2: 128 up"]
0
[[-1, "as expected"], [0, "FAIL: a cable is 2.4 us slow: h0009'"'"'s, or s1-0003/5 -- s2-0001/3 (known in sums only)"]]
["Latencytrue", "Ratefalse"]
"98 of 197 Gb/s"
true
["rate", true, "Rate"]
["well", "x3"]
"none"
true
"h0005 mlx5_0/1 \u21c4 </script><script>document.title=\"evil\"</script>/1"
"h0006 \"&lt;<b>x/1 \u21c4 </script><script>document.title=\"evil\"</script>/2"
true
true
["polite", "cell"]
0
"h0006 \"&lt;<b>x/1 \u21c4 </script><script>document.title=\"evil\"</"
"#finding-1"
"h0100 mlx5_0/1 \u21c4 s1-0025/4"
["no fault is known: it was never idle, or is not in AuditPartition", "audits failed because of it: cannot run ...: </script><b>no", "drained, not by pmm", "drained by pmm", "down", "not a node of Slurm"]
["drained", "learned", "re-cabled", "repaired", "roll-out"]
"2 cables moved: h0051 mlx5_0/1 -- s1-0013/3, was s1-0013/4; h0052 mlx5_0/1 -- s1-0013/4, was s1-0013/3"
8
1280
["light", "#ffffff"]
"#171a1e"
["exact", "exact", "exact", "exact"]
"in a finding that is not shown: pmm ledger list"
["UNKNOWN: no cable has been measured yet \u2013 slurm-pmm", "No cable has been measured yet"]
console 0
requests 0' "what it says, and what it does"
ok "$([ -s page.pdf ]; echo $?)" "it is printed"

done_testing
