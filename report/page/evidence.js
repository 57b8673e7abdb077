// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of the chosen cable: its facts, the round trips over it, its
// last 90 days, its counters; tables; the search.
'use strict';

const DAYS = 90;
const ROWS = 200; // of a table that are shown at once

const panel = (id) => $(`#${id} > div`);
const none = (text) => el ('p.none', text);

// A table whose columns sort: [{ name, of: row => value, show: (value, row) =>
// text or element, number, hot: row => bool }].
function table (columns, rows, pick) {
  const body = el ('tbody');
  const headRow = el ('tr');
  const t = el ('table', el ('thead', headRow), body);
  const scroll = el ('div.scroll', t);
  let by = null;
  let down = true;
  let shown = ROWS;
  const fill = () => {
    const sorted = by ? [...rows].sort ((r, s) => {
      const [x, y] = [by.of (r), by.of (s)];
      const none = (v) => v === null || v === undefined || Number.isNaN (v);
      if (none (x) || none (y))
        return none (x) - none (y);
      const order = by.number ? x - y : String (x).localeCompare (String (y),
        'en', { numeric: true });
      return down ? -order : order;
    }) : rows;

    body.replaceChildren (...sorted.slice (0, shown).map ((r) => {
      const tr = el ('tr', ...columns.map ((c) => {
        const td = el (c.number ? 'td.n' : 'td', (c.show || String) (c.of (r), r));
        if (c.hot && c.hot (r))
          td.classList.add ('hot');
        return td;
      }));
      if (pick)
        pick (tr, r);
      return tr;
    }));
    if (rows.length > shown) {
      const b = el ('button', `show ${count (rows.length - shown)} more`);
      const td = el ('td', b);
      td.colSpan = columns.length;
      b.addEventListener ('click', () => {
        shown = rows.length;
        fill ();
      });
      body.append (el ('tr', td));
    }
  };

  for (const c of columns) {
    const b = el ('button', c.name);
    const th = el (c.number ? 'th.n' : 'th', b);

    th.scope = 'col';
    b.type = 'button';
    b.addEventListener ('click', () => {
      down = by === c ? !down : !!c.number;
      by = c;
      for (const other of headRow.children)
        other.removeAttribute ('aria-sort');
      th.setAttribute ('aria-sort', down ? 'descending' : 'ascending');
      fill ();
    });
    headRow.append (th);
  }
  fill ();
  return scroll;
}

function factsList (pairs) {
  const dl = el ('dl.facts-list');

  for (const [key, value] of pairs)
    if (value !== null && value !== undefined && value !== '')
      dl.append (el ('dt', key), value instanceof Node ? el ('dd', value)
        : el ('dd', value));
  return dl;
}

//
// Charts
//

const charts = [];

// A chart that follows the width of its panel.
function chart (at, options, data) {
  const height = options.height || 190;
  const width = () => Math.max (at.clientWidth, 200);
  const axis = () => ({ stroke: palette.soft, font: FONT, size: 34,
    grid: { stroke: palette.faint, width: 1 }, ticks: { show: false } });
  const u = new uPlot ({ width: width (), height, legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } }, ...options,
    axes: options.axes.map ((a) => ({ ...axis (), ...a })) }, data, at);

  charts.push ([u, () => u.setSize ({ width: width (), height })]);
  return u;
}

// Forgets the charts of an element.
function forgetCharts (at) {
  for (let i = charts.length - 1; i >= 0; i--)
    if (at.contains (charts[i][0].root))
      charts.splice (i, 1)[0][0].destroy ();
}

window.addEventListener ('resize', () => {
  for (const [, resize] of charts)
    resize ();
});

function key (color, text, round) {
  return el ('span', swatch ((g) => {
    g.fillStyle = color;
    g.beginPath ();
    if (round)
      g.arc (17, 6, 4, 0, 7);
    else
      g.rect (10, 1, 14, 10);
    g.fill ();
  }), text);
}

// Numbers of probes by how much longer they took than expected.
function showSpread (at, l) {
  const job = state.job;
  const all = job.probes.filter ((p) => p.excess !== null);

  if (!all.length) {
    at.append (none ('No expected times: there are no samples, or no link of '
      + 'these paths could be resolved.'));
    return;
  }
  const low = Math.min (...all.map ((p) => p.excess));
  const high = Math.max (...all.map ((p) => p.excess));
  const raw = (high - low) / 36 || 1;
  const power = 10 ** Math.floor (Math.log10 (raw));
  const step = [1, 2, 5, 10].map ((m) => m * power).find ((s) => s >= raw);
  const first = Math.floor (low / step);
  const n = Math.floor (high / step) - first + 1;
  const x = Array.from ({ length: n }, (_, i) => (first + i + 0.5) * step);
  const every = Array (n).fill (0);
  const across = Array (n).fill (0);

  for (const p of all) {
    const i = Math.floor (p.excess / step) - first;
    every[i]++;
    if (l && p.row.has (l))
      across[i]++;
  }
  const most = Math.max (...every);
  const many = most > 300; // so many that few would not be seen beside them
  const bars = uPlot.paths.bars ({ size: [0.9, 60] });
  const series = (fill) => ({ paths: bars, fill, stroke: fill, width: 0,
    points: { show: false } });

  chart (at, { scales: { x: { time: false, range: () =>
    [first * step - step, (first + n) * step + step] },
  y: many ? { distr: 3, range: [0.7, most * 1.5] }
    : { range: [0, most * 1.08] } },
  axes: [{ values: (u, v) => v.map ((s) => `${thousands.format (s)}`),
    label: 'ns over what was expected, there and back', labelSize: 18,
    labelFont: FONT }, { size: 50, incrs: many ? undefined
    : [1, 2, 5, 10, 20, 50, 100] }],
  series: [{}, series (palette.link), series (palette.x2)] },
  [x, ...[every, across].map ((v) => v.map ((n) => n || null))]);
  at.append (el ('div.legend', key (palette.link, 'probes'), l && key (
    palette.x2, 'of these, across this cable')));
}

function showHistory (at, c, id) {
  const points = (c && c.history) || [];
  const end = head.made || Date.now () / 1000;
  const start = end - DAYS * 86400;
  const rate = state.shows === 'rate';
  const value = (p) => rate ? p.rate_bits / 1e9 : p.change_ns;
  const recent = points.filter ((p) => p.begun >= start
    && Number.isFinite (value (p)));

  if (!c || !c.history) {
    at.append (none (id ? 'Only known of suspects.' : 'Choose a suspect.'));
    return;
  }
  if (!recent.length) {
    at.append (none (`No audit measured ${rate ? 'its rate' : 'it'} in ${DAYS} `
      + 'days.'));
    return;
  }
  const levels = [['OK', 'edge'], ['UNKNOWN', 'unknown'], ['WARN', 'warn'],
    ['FAIL', 'fail']];
  const of = (p) => p.level || 'OK';
  const used = levels.filter (([name]) => recent.some ((p) => of (p) === name));
  const dots = (color, name) => ({ label: name, stroke: color, width: 0,
    paths: () => null, points: { show: true, fill: color, width: 0, size: name === 'OK' ? 6
      : 9 } });

  chart (at, { scales: { x: { range: () => [start, end + 86400] },
    y: { range: (u, min, max) => rate ? [0, max * 1.1]
      : [Math.min (min, -50) * 1.1, Math.max (max, 150) * 1.1] } },
  axes: [{ space: 80, values: (u, v) => v.map ((s) => date (s).slice (0, 10)) }, { size: 52, values: (u, v) => v.map ((s) =>
    rate ? s : thousands.format (s)), label: rate ? 'Gb/s' : 'ns', labelSize: 14, labelFont: FONT }],
  series: [{}, ...used.map (([name, color]) => dots (palette[color], name))] },
  [recent.map ((p) => p.begun), ...used.map (([name]) => recent.map ((p) =>
    of (p) === name ? value (p) : null))]);
  at.append (el ('div.legend', ...used.map (([name, color]) => key (
    palette[color], name === 'OK' ? 'no finding' : name, true))),
  el ('p.note', `${plural (recent.length, 'audit')}; ${rate
    ? `what it carried in its slower direction, of ${gbps (
      recent[recent.length - 1].rate_expected_bits / 1e6)} Gb/s expected.`
    : 'the change of one way over its own lower quartile. Links that its probes '
      + 'share show here, too.'}`));
}

function showCounters (at, c) {
  if (!c) {
    at.append (none ('Only known of suspects.'));
    return;
  }
  const names = [...new Set ([...Object.keys (c.a.counters),
    ...Object.keys (c.b.counters)])];
  const rows = names.map ((name) => ({ name, a: c.a.counters[name],
    b: c.b.counters[name], bad: !/^Port(Xmit|Rcv)(Data|Pkts|Wait)/.test (name) }))
    .filter ((r) => r.a || r.b);

  if (!names.length)
    at.append (none ('Its ports did not answer.'));
  else if (!rows.length)
    at.append (none (`All ${names.length} counters are 0.`));
  else
    at.append (table ([{ name: 'counter', of: (r) => r.name },
      { name: 'one end', number: true, of: (r) => r.a,
        show: (v) => v === undefined ? '\u2013' : count (v),
        hot: (r) => r.bad && r.a > 0 },
      { name: 'other end', number: true, of: (r) => r.b,
        show: (v) => v === undefined ? '\u2013' : count (v),
        hot: (r) => r.bad && r.b > 0 }], rows));
  at.append (el ('p.note', `Read ${date (head.counted)}.`));
}

function showFacts (at, c, l) {
  const e = (x) => x && `${x.desc}, port ${x.port}`;
  const f = l && state.job.finding.get (l);

  at.append (factsList ([
    ['one end', c ? e (c.a) : l.a.name + ', port ' + l.ap],
    ['', c && el ('code', c.a.guid)],
    ['other end', c ? e (c.b) : l.b.name + ', port ' + l.bp],
    ['', c && el ('code', c.b.guid)],
    ['chassis', c && [c.a.system, c.b.system].filter (Boolean).join (', ')],
    ['label', c && c.label],
    ['cable', c && c.plugs],
    ['class', l && l.kind],
    ['latency', l && latencyOf (l) + (l.latency === null || l.error === null
      ? '' : ` \u00b1${thousands.format (l.error)}`)],
    ['expected', l && l.expected !== null ? `${ns (l.expected)}, by ${l.known
      ? 'the baseline' : 'its class'}` : ''],
    ['over it', l && l.excess !== null ? signed (l.excess) : ''],
    ...[0, 1].map ((way) => [l && l.rates[way] ? `to ${(way ? l.a : l.b).name}`
      : '', l && l.rates[way] && rateText (l.rates[way])]),
    ['finding', f && `${f.level}: ${f.says}`],
    ['looks like', l && l.alike && l.alike.length > 1
      ? l.alike.filter ((o) => o !== l).slice (0, 8).map ((o) => o.name)
        .join ('; ') + (l.alike.length > 9 ? `; ${l.alike.length - 9} more` : '')
      : ''],
  ].filter (([k, v]) => k || v)));
}

function showProbes (at, probes, l) {
  if (!probes.length) {
    at.append (none ('No probe crossed it, or the measurements are not in this '
      + 'report: give --plan and --samples.'));
    return;
  }
  const columns = [
    { name: 'from', of: (p) => p.a }, { name: 'to', of: (p) => p.b },
    { name: 'round', number: true, of: (p) => p.round + 1 },
    { name: 'median', number: true, of: (p) => p.rtt, show: ns },
    { name: 'least', number: true, of: (p) => p.min, show: ns },
    { name: 'expected', number: true, of: (p) => p.expected, show: ns },
    { name: 'over it', number: true, of: (p) => p.excess, show: signed,
      hot: (p) => p.excess > 200 },
    { name: 'crosses it', number: true, of: (p) => p.row.get (l) || 0,
      show: (n) => n === 2 ? 'both ways' : n === 1 ? 'one way' : '' },
    { name: 'sent', number: true, of: (p) => p.sent, show: count },
    { name: 'lost', number: true, of: (p) => p.lost, show: count,
      hot: (p) => p.lost > 0 },
  ].filter ((c) => l || c.name !== 'crosses it');

  at.append (table (columns, probes, (tr, p) => {
    const mark = (on) => () => {
      drawing.probe = on ? p : null;
      redraw ();
    };
    tr.classList.add ('pick');
    tr.addEventListener ('pointerenter', mark (true));
    tr.addEventListener ('pointerleave', mark (false));
  }));
}

function showNode (n) {
  $('#chosen').replaceChildren (el ('b', n.name), ` ${n.sw ? `switch, level ${
    n.level}` : 'host'} `, el ('code', n.guid));
  panel ('p-facts').append (factsList ([['name', n.name], ['GUID',
    el ('code', n.guid)], ['measured links', String (n.links.length)]]));
  $('#p-facts h3').textContent = n.sw ? 'This switch' : 'This host';
  $('#p-probes h3').textContent = 'Its measured links';
  panel ('p-probes').append (linkTable (n.links));
  showSpread (panel ('p-spread'), null);
  panel ('p-history').append (none ('Choose a cable.'));
  panel ('p-counters').append (none ('Choose a cable.'));
}

function showEvidence () {
  const job = state.job;

  forgetCharts ($('#evidence'));
  $('#p-facts').hidden = !state.link && state.node === null;
  $('#p-history').hidden = !head.past;
  $('#p-counters').hidden = !head.counted;
  for (const id of ['p-facts', 'p-spread', 'p-history', 'p-counters',
    'p-probes'])
    panel (id).replaceChildren ();
  if (state.node !== null) {
    showNode (job.nodes[state.node]);
    return;
  }
  const id = state.link;
  const c = cables[id];
  const l = job && job.byId.get (id);

  $('#p-facts h3').textContent = 'This cable';
  $('#p-probes h3').textContent = id ? 'Probes across it' : 'All probes';
  if (!id) {
    $('#chosen').textContent = 'Choose a cable or node above, or find one.';
  }
  else {
    $('#chosen').replaceChildren (el ('b', c ? cableName (c) : l.name), ' ',
      el ('code', id));
    showFacts (panel ('p-facts'), c, l);
  }
  showSpread (panel ('p-spread'), l);
  showHistory (panel ('p-history'), c, id);
  showCounters (panel ('p-counters'), c);
  showProbes (panel ('p-probes'), l ? l.probes : job.probes, l);
}

//
// All links
//

function linkTable (links) {
  const which = [
    { name: 'one end', of: (l) => `${l.a.name}/${l.ap}` },
    { name: 'other end', of: (l) => `${l.b.name}/${l.bp}` },
    { name: 'class', of: (l) => l.kind },
  ];
  const carried = (way) => (l) => l.rates[way] && l.rates[way][0];
  const rate = (x) => x === null ? '\u2013' : `${gbps (x)} Gb/s`;
  const columns = state.shows === 'rate' ? [
    { name: 'there', number: true, of: carried (0), show: rate },
    { name: 'back', number: true, of: carried (1), show: rate },
    { name: 'of what was expected', number: true, of: leastShare, show: (x) =>
      x === null ? '\u2013' : `${Math.round (100 * x)} %`,
    hot: (l) => state.job.finding.has (l) },
  ] : [
    { name: 'latency', number: true, of: (l) => l.latency,
      show: (v, l) => latencyOf (l) },
    { name: '\u00b1', number: true, of: (l) => l.error, show: (v) =>
      v === null ? '' : thousands.format (v) },
    { name: 'expected', number: true, of: (l) => l.expected, show: ns },
    { name: 'over it', number: true, of: (l) => l.excess, show: signed,
      hot: (l) => state.job.finding.has (l) },
    { name: 'by', of: (l) => l.known ? 'baseline' : 'class' },
    { name: 'probes', number: true, of: (l) => l.probes.length },
  ];

  return table ([...which, ...columns], links, (tr, l) => {
    tr.classList.add ('pick');
    tr.addEventListener ('click', () => choose ({ link: l.id }));
  });
}

//
// The search, also over what the snapshot has and was not measured
//

const search = { index: null, found: [], at: -1 };

function searchIndex () {
  const job = state.job;
  const index = [];
  const seen = new Set ();

  for (const n of job.nodes) {
    seen.add (n.guid);
    index.push ({ text: `${n.name} ${n.guid}`.toLowerCase (), name: n.name,
      note: n.sw ? `switch, level ${n.level}` : 'host', node: n.at });
  }
  for (const l of job.links) {
    const c = cables[l.id];
    const more = c ? `${c.label} ${c.plugs} ${cableName (c)}` : '';
    index.push ({ text: `${l.name} ${l.id} ${more}`.toLowerCase (),
      name: c ? cableName (c) : l.name, note: 'cable', link: l.id });
  }
  for (const n of state.snapshot.nodes.values ())
    if (!seen.has (n.guid))
      index.push ({ text: `${n.name} ${n.guid}`.toLowerCase (), name: n.name,
        note: 'not measured', guid: n.guid });
  return index;
}

function find () {
  const list = $('#found');
  const words = $('#search').value.toLowerCase ().split (/\s+/)
    .filter (Boolean);

  if (!words.length || !(state.job || cells.map)) {
    list.hidden = true;
    $('#search').setAttribute ('aria-expanded', 'false');
    return;
  }
  search.index = search.index || (site ? siteIndex () : searchIndex ());
  search.found = [];
  for (const it of search.index)
    if (words.every ((w) => it.text.includes (w))) {
      search.found.push (it);
      if (search.found.length === 40)
        break;
    }
  search.at = search.found.length ? 0 : -1;
  list.replaceChildren (...search.found.map ((it, i) => {
    const li = el ('li', it.name, el ('span.id', it.note));
    li.role = 'option';
    li.addEventListener ('pointerdown', (e) => {
      e.preventDefault ();
      take (i);
    });
    return li;
  }));
  if (!search.found.length)
    list.append (el ('li.none', 'Nothing has this name.'));
  list.hidden = false;
  $('#search').setAttribute ('aria-expanded', 'true');
  markFound ();
}

function markFound () {
  [...$('#found').children].forEach ((li, i) => {
    li.setAttribute ('aria-selected', String (i === search.at));
    if (i === search.at)
      li.scrollIntoView ({ block: 'nearest' });
  });
}

function take (i) {
  const it = search.found[i];

  if (!it)
    return;
  $('#found').hidden = true;
  if (it.guid) {
    choose (null);
    $('#chosen').replaceChildren (el ('b', it.name), ' was not measured here ',
      el ('code', it.guid));
  }
  else
    choose (it.link ? { link: it.link } : { node: it.node });
  $('#search').blur ();
}

function startSearch () {
  const input = $('#search');

  input.addEventListener ('input', find);
  input.addEventListener ('focus', find);
  input.addEventListener ('blur', () => { $('#found').hidden = true; });
  input.addEventListener ('keydown', (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];

    if (step && search.found.length) {
      e.preventDefault ();
      search.at = (search.at + step + search.found.length)
        % search.found.length;
      markFound ();
    }
    else if (e.key === 'Enter')
      take (search.at);
    else if (e.key === 'Escape') {
      input.value = '';
      input.blur ();
    }
  });
}
