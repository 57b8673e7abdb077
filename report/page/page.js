// SPDX-License-Identifier: GPL-2.0-or-later
// The page: its data, what is chosen, the verdict in words. Text from data is
// only ever set as text: el () makes elements, and nothing here reads HTML.
'use strict';

const $ = (selector) => document.querySelector(selector);

// An element: el ('b', 'text'), el ('ul.scroll', child, child, ...).
function el (tag, ...children) {
  const [name, ...classes] = tag.split ('.');
  const e = document.createElement (name);
  if (classes.length)
    e.className = classes.join (' ');
  for (const c of children)
    if (c !== null && c !== undefined && c !== false)
      e.append (c instanceof Node ? c : String (c));
  return e;
}

const head = JSON.parse ($('#head').textContent);
head.made = Number ($('#made').textContent);
const cables = head.cables;
const state = {
  job: null,     // once it is read
  link: null,    // the id of the chosen link
  node: null,    // or the chosen node
  scope: head.findings.length ? 'suspects' : 'all',
  watch: [],     // functions to call when the choice changes
  shows: 'latency', // or 'rate', where some were measured
};

// Bytes that page_put_bytes wrote, as text.
async function inflate (id) {
  const text = $('#' + id).textContent;
  if (!text)
    return '';
  const binary = atob (text);
  const bytes = new Uint8Array (binary.length);
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = binary.charCodeAt (i);
  const stream = new Blob ([bytes]).stream ()
    .pipeThrough (new DecompressionStream ('deflate'));
  return new Response (stream).text ();
}

//
// Numbers and times
//

const thousands = new Intl.NumberFormat ('en', { maximumFractionDigits: 0 });
const count = (n) => thousands.format (n);
const plural = (n, noun, more) =>
  `${count (n)} ${n === 1 ? noun : more || noun + 's'}`;
const ns = (x) => x === null || x === undefined ? '\u2013'
  : `${thousands.format (x)} ns`;
const signed = (x) => x === null || x === undefined ? '\u2013'
  : `${x < -0.5 ? '\u2212' : '+'}${thousands.format (Math.abs (x))} ns`;
// "98 of 197 Gb/s", of [carried, expected] in Mb/s; the share of what was expected.
const gbps = (x) => x === null ? '?' : x >= 9950 ? thousands.format (x / 1000)
  : String (x >= 1000 ? Math.round (x / 100) / 10 : Math.round (x / 10) / 100);
const rateText = ([x, of]) => `${gbps (x)} of ${gbps (of)} Gb/s`;
const shareOf = ([x, of]) => x !== null && of > 0 ? x / of : null;
const two = (n) => String (n).padStart (2, '0');
function date (s) {
  const d = new Date (s * 1000);
  return !s ? 'not known' : `${d.getFullYear ()}-${two (d.getMonth () + 1)}-`
    + `${two (d.getDate ())} ${two (d.getHours ())}:${two (d.getMinutes ())}`;
}

//
// Latency or rate: what drawings, tables and histories show
//

function startShows (at, redrawAll) {
  const choice = el ('div.choice');
  const names = { latency: 'Latency', rate: 'Rate' };

  choice.setAttribute ('role', 'group');
  choice.setAttribute ('aria-label', 'What is shown');
  state.setShows = (shows) => {
    state.shows = shows;
    for (const b of choice.children)
      b.setAttribute ('aria-pressed', String (b.dataset.shows === shows));
    redrawAll ();
  };
  for (const [shows, name] of Object.entries (names)) {
    const b = el ('button', name);

    b.type = 'button';
    b.dataset.shows = shows;
    b.title = 'r: the other one';
    b.addEventListener ('click', () => state.setShows (shows));
    choice.append (b);
  }
  choice.id = 'shows';
  at.append (choice);
  state.setShows (state.shows);
}

//
// What is chosen
//

function choose (what) {
  state.link = what && what.link || null;
  state.node = what && what.node !== undefined ? what.node : null;
  for (const f of state.watch)
    f ();
}

// The suspects of all findings, the worst first, each once.
const suspects = [...new Set (head.findings.flatMap (
  (f) => [...f.suspects, ...f.oneway]))];

const cableName = (c) => `${c.a.name} \u21c4 ${c.b.name}`;

//
// The job: links by id, with what was measured of them
//

function prepare (job, snapshot) {
  const byId = new Map ();
  const open = new Set (job.open);
  job.nodes = job.nodes.map (([guid, name, sw, level, host], at) =>
    ({ at, guid, name, sw: !!sw, level: sw ? level || 1 : 0, host, links: [] }));
  job.links = job.links.map (([a, ap, b, bp, kind, latency, error, expected,
    known], at) => {
    const l = { at, a: job.nodes[a], ap, b: job.nodes[b], bp,
      kind: job.classes[kind], latency, error, expected, known: !!known,
      open: open.has (at), probes: [], alike: null, rates: [null, null] };
    l.id = `${l.a.guid}/${ap}`;
    l.name = `${l.a.name}/${ap} \u21c4 ${l.b.name}/${bp}`;
    l.excess = latency === null || expected === null ? null
      : latency - expected;
    l.a.links.push (l);
    l.b.links.push (l);
    byId.set (l.id, l);
    return l;
  });
  job.byId = byId;
  for (const [at, way, rate] of job.rates || [])
    job.links[at].rates[way] = rate;
  job.probes = (job.probes || []).map (([a, b, round, forth, back, before, sent,
    lost, rtt, min], at) => {
    const [from, to] = [job.ends[a], job.ends[b]];
    const way = (way, one, other) => way || snapshot.walk (
      job.nodes[one[1]].guid, one[2], other[3], byId);
    const p = { at, a: from[0], b: to[0], round, before, sent, lost, rtt, min,
      ends: [from[1], to[1]], row: new Map () };
    for (const arc of [...way (forth, from, to), ...way (back, to, from)]) {
      const l = job.links[arc >> 1];
      p.row.set (l, (p.row.get (l) || 0) + 1);
    }
    for (const l of p.row.keys ())
      l.probes.push (p);
    return p;
  });
  for (const p of job.probes) {
    let sum = 0;
    for (const [l, n] of p.row)
      sum += l.expected === null ? NaN : n * l.expected;
    p.expected = p.before !== null ? p.before : Number.isFinite (sum) ? sum
      : null;
    p.excess = p.rtt === null || p.expected === null ? null
      : p.rtt - p.expected;
  }
  // Links that exactly the same probes cross look alike.
  const classes = new Map ();
  for (const l of job.links) {
    const key = l.probes.map ((p) => `${p.at}:${p.row.get (l)}`).join (',');
    if (!l.probes.length)
      continue;
    if (!classes.has (key))
      classes.set (key, []);
    classes.get (key).push (l);
  }
  for (const group of classes.values ())
    for (const l of group)
      l.alike = group;
  job.finding = new Map ();
  for (const f of head.findings)
    for (const id of [...f.suspects, ...f.oneway])
      if (byId.has (id) && !job.finding.has (byId.get (id)))
        job.finding.set (byId.get (id), f);
  return job;
}

// The least share of what was expected, in either direction; null: not measured.
const leastShare = (l) => l.rates.reduce ((least, r) => r === null
  || shareOf (r) === null ? least : Math.min (least ?? Infinity, shareOf (r)), null);
const measured = (job) => job && job.probes.length > 0;
// Whether others look like it. A link that is resolved may still have a latency
// that is known as part of sums only.
const unresolved = (l) => l.alike !== null && l.alike.length > 1;
const latencyOf = (l) => l.latency !== null ? ns (l.latency)
  : !l.probes.length ? 'not measured' : unresolved (l) ? 'not resolved'
    : 'only in sums';

//
// The verdict in words
//

const glyph = { FAIL: '\u25b2', WARN: '\u25c6', UNKNOWN: '?', OK: '\u2713' };

const capital = (s) => s[0].toUpperCase () + s.slice (1);

// Suspects of these explain the excess together, not one of them.
const together = (f) => f.kind === 'switch';
const alone = (f) => together (f) || f.among + f.oneway.length === 1;

function ends (c) {
  return el ('div.ends', c.a.name, el ('span.to', '\u21c4'), c.b.name);
}

function cableRow (id, oneway) {
  const c = cables[id];
  const li = el ('li.cable');
  const facts = [];

  if (c.label)
    facts.push (`label ${c.label}`);
  if (c.plugs)
    facts.push (c.plugs);
  if (oneway)
    facts.push ('in one direction');
  if (c.internal)
    facts.push ('no cable: within a chassis or card');
  if (c.rate)
    facts.push (c.rate);
  for (const e of [c.a, c.b])
    if (e.state !== 'active' && e.state !== 'unknown')
      facts.push (`${e.name} is ${e.state}`);
  li.append (ends (c));
  if (facts.length)
    li.append (el ('div.sub', facts.join (' \u00b7 ')));
  li.append (el ('div.id', `${c.a.guid}/${c.a.port}  ${c.b.guid}/${c.b.port}`));
  li.tabIndex = 0;
  li.dataset.link = id;
  li.addEventListener ('click', () => choose ({ link: id }));
  li.addEventListener ('keydown', (e) => {
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault ();
      choose ({ link: id });
    }
  });
  return li;
}

// The text for a ticket: selected and copied by a button, or by hand.
function ticketOf (f) {
  const text = el ('pre', f.ticket);
  const button = el ('button', 'Copy');

  button.type = 'button';
  button.addEventListener ('click', () => {
    getSelection ().selectAllChildren (text);
    button.textContent = document.execCommand ('copy') ? 'Copied' : 'Selected';
  });
  return el ('details.ticket', el ('summary', 'For a ticket'), button, text);
}

// What is wrong, what to do, where, and more; how it was measured comes last.
function findingCard (f, ...more) {
  const n = f.among + f.oneway.length;
  const percent = Math.floor (100 * head.resolved / head.links);
  const places = el ('ol.steps');
  const level = el (`span.tag.is-${f.level}`, `${glyph[f.level]} ${f.level}`);
  const card = el ('article.card',
    el ('div.kind', level, el ('h3', capital (f.says))),
    el ('ol.todo', ...f.steps.map ((text) => el ('li', capital (text)))));

  if (!alone (f) && head.links)
    card.append (el ('p.alike', (head.site ? 'These '
      : `${percent} % of the links are resolved, so these `)
      + `${n} look alike. The likeliest is first.`));
  f.suspects.forEach ((id) => places.append (cableRow (id, false)));
  f.oneway.forEach ((id) => places.append (cableRow (id, true)));
  if (f.among > f.suspects.length)
    places.append (el ('li', `and ${count (f.among - f.suspects.length)} more, `
      + 'listed in the verdict'));
  card.append (places, ...more, ticketOf (f));
  if (f.excess !== null)
    card.append (el ('p.big', el ('b', signed (f.excess)),
      f.stderr === null ? '' : ` \u00b1${thousands.format (f.stderr)}`,
      f.expected === null ? '' : ` over ${ns (f.expected)}`, `, ${f.against}`));
  else if (!f.rate)
    card.append (el ('p.big', f.against));
  if (f.rate)
    card.append (el ('p.big', el ('b', rateText (f.rate))));
  card.append (el ('p.why', f.why));
  return card;
}

function showVerdict () {
  const parts = [];

  if (head.site) {
    showSite ();
    return;
  }
  if (!head.status) {
    document.title = 'slurm-pmm';
    document.body.classList.add ('plain');
    $('#about').textContent = date (head.made);
    return;
  }
  document.title = `${head.status}: ${head.sentence} \u2013 slurm-pmm`;
  $('#about').textContent = [head.about, date (head.made)]
    .filter (Boolean).join (' \u00b7 ');
  $('#status').textContent = `${glyph[head.status] || ''} ${head.status}`;
  $('#status').classList.add (`is-${head.status}`);
  $('#headline').textContent = capital (head.sentence);
  parts.push (plural (head.nodes, 'node'));
  if (head.probes)
    parts.push (`${plural (head.links, 'link')} by ${plural (head.probes,
      'probe')} in ${plural (head.rounds, 'round')}`,
    `${Math.floor (100 * head.resolved / head.links)} % of the links resolved`);
  else
    parts.push ('nothing measured');
  if (head.measured && !head.measured.baselines)
    parts.push ('no baseline');
  if (head.measured && head.measured.missing)
    parts.push (`${plural (head.measured.missing, 'host')} did not answer`);
  $('#facts').textContent = parts.join (' \u00b7 ');

  const list = $('#findings');
  head.findings.forEach ((f) => list.append (findingCard (f)));
  if (!head.findings.length)
    list.append (el ('div.card', el ('p', capital (head.sentence))));
  state.watch.push (() => {
    for (const li of list.querySelectorAll ('li.cable'))
      li.classList.toggle ('chosen', li.dataset.link === state.link);
  });

  const limits = $('#limits ul');
  head.limits.forEach ((text) => limits.append (el ('li', text)));
  if (head.measured && head.measured.spread)
    limits.append (el ('li', `${plural (head.measured.spread, 'switch',
      'switches')} spread messages: the paths drawn are those of the tables, `
      + 'and messages may take others.'));
  if (!limits.children.length)
    limits.append (el ('li', 'Nothing that the verdict mentions.'));

  const about = $('#source dl');
  const say = (key, value, isId) => value !== '' && about.append (el ('dt', key),
    isId ? el ('dd', el ('code', value)) : el ('dd', value));
  say ('report', date (head.made));
  say ('program', head.program);
  say ('fabric', `${plural (head.fabric.hosts, 'host')}, ${plural (
    head.fabric.switches, 'switch', 'switches')}, ${plural (head.fabric.cables,
    'cable')}`);
  say ('read', `${head.fabric.time ? date (head.fabric.time) + ', ' : ''}`
    + head.fabric.source);
  say ('hash', head.fabric.hash, true);
  if (head.measured) {
    say ('job', head.measured.job ? String (head.measured.job) : '');
    say ('service level', String (head.measured.level));
    say ('baselines', String (head.measured.baselines));
  }
  say ('not given', [[head.measured, 'plan and samples (--plan, --samples)'],
    [head.measured && head.measured.baselines, 'baseline (--baseline)'],
    [head.past, 'ledger (-L)'], [head.counted, 'counters (--counters)'],
    [head.labels, 'table of cables (--cabling)']]
    .filter (([given]) => !given).map (([, text]) => text).join (', '));
}
