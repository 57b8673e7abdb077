// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a site: what is wrong now, what audits miss, what changed, the
// audits. Ages are of the reader's clock.
'use strict';

const site = head.site;
const CARDS = 12; // findings that are shown at once

//
// Times
//

function age (s) {
  const past = Math.max (Date.now () / 1000 - s, 0);

  return past < 60 ? 'a moment' : past < 5400 ? `${Math.floor (past / 60)} min`
    : past < 129600 ? `${Math.round (past / 3600)} h`
      : plural (Math.round (past / 86400), 'day');
}

// A time with its age, which goes on.
function since (s, short) {
  const e = el ('time');

  e.dateTime = new Date (s * 1000).toISOString ();
  e.title = date (s);
  e.tell = () => {
    e.textContent = short ? age (s) : `${date (s)}, ${age (s)} ago`;
  };
  e.tell ();
  return e;
}

//
// What is wrong now
//

function auditLink (id, page, text = `audit ${id}`) {
  const e = el (page ? 'a' : 'span', text);

  if (page)
    e.href = `audit-${Number (id)}.html`;
  return e;
}

function siteCard (f, i) {
  const a = site.about[i];
  const nodes = a.nodes.map ((n) => el ('div', el ('b', n.node), `: ${n.state}`,
    n.said && el ('div.sub', n.said)));

  const card = findingCard (f, factsList ([
    ['since', el ('span', since (a.since), ' (', auditLink (a.first), ')')],
    ['last seen', el ('span', since (a.seen), ' (', auditLink (a.audit, a.page),
      ')', a.audits > 1 ? `, in ${plural (a.audits, 'audit')}` : '')],
    ['node', nodes.length ? el ('div', ...nodes) : ''],
    ['jobs hit', a.jobs.length ? a.jobs.join (', ') : 'none that led to an audit'],
    ['muted', a.muted ? el ('span', a.muted.why, a.muted.until
      ? `, until ${date (a.muted.until)}` : '') : ''],
  ]));
  if (a.muted)
    card.firstChild.append (el ('span.tag.plain', 'muted'));
  card.id = `finding-${i}`;
  return card;
}

function showWrong () {
  const list = $('#findings');
  const show = (from, to) => list.append (...head.findings.slice (from, to)
    .map ((f, i) => siteCard (f, from + i)));
  const named = new Set (site.about.flatMap ((a) => a.nodes.map ((n) => n.node)));
  const drained = site.drained.filter ((d) => !named.has (d.node));

  $('#touch-h').textContent = 'What is wrong now';
  show (0, CARDS);
  if (head.findings.length > CARDS) {
    const b = el ('button', `show ${count (head.findings.length - CARDS)} more`);
    b.addEventListener ('click', () => {
      b.remove ();
      show (CARDS);
    });
    list.append (b);
  }
  if (site.unshown)
    list.append (el ('p.note', `${plural (site.unshown, 'finding')} more: pmm `
      + 'ledger list.'));
  if (!head.findings.length)
    list.append (el ('div.card', el ('p', head.status === 'OK'
      ? 'No cable is slow or loses messages, in the newest audit of each.'
      : 'No audit has measured a cable yet.')));
  if (site.down.length)
    list.append (el ('div.card.flat', el ('h3', `${plural (site.down.length,
      'cable')} without a link`), table ([
      { name: 'one end', of: (d) => d.a }, { name: 'other end', of: (d) => d.b },
      { name: 'state', of: (d) => d.state }], site.down)));
  if (drained.length)
    list.append (el ('div.card.flat', el ('h3', `${plural (drained.length, 'node')} `
      + 'drained by pmm, whose cables have been clean since'), table ([
      { name: 'node', of: (d) => d.node }, { name: 'reason', of: (d) => d.reason },
    ], drained)));
  if (site.remarks.length)
    list.append (el ('div.card.flat', el ('h3', 'The policy says'),
      ...site.remarks.map ((text) => el ('p', text))));
  if (site.cabling)
    list.append (el ('div.card.flat', el ('h3', 'No labels of cables'),
      el ('p', site.cabling)));
}

//
// The rest
//

function showTables () {
  const into = (id, ...children) => {
    $(id).hidden = false;
    $(`${id} > div`).append (...children);
  };
  const level = (a) => el (`span.tag.is-${glyph[a.status] ? a.status
    : 'UNKNOWN'}`, `${glyph[a.status] || '?'} ${a.status || 'runs'}`);
  const when = (s) => since (s);

  into ('#missed', !site.slurm ? none ('Slurm did not say which nodes there are.')
    : site.missed.length ? table ([
      { name: 'nodes', of: (m) => m.nodes },
      { name: 'number', number: true, of: (m) => m.n },
      { name: 'why', of: (m) => m.why }], site.missed)
      : none (site.every ? 'None: audits have measured every node in time.'
        : 'None that is known: AuditEvery is 0, so no audit is due.'));
  into ('#changed', site.changed.length ? table ([
    { name: 'when', of: (c) => c.time, number: false, show: when },
    { name: 'what', of: (c) => c.kind },
    { name: 'which', of: (c) => c.text }], site.changed)
    : none ('Nothing in 30 days.'));
  into ('#audits', el ('p.note', 'A page is written of those that FAIL, and of '
    + 'those that were asked for.'), table ([
    { name: 'audit', number: true, of: (a) => a.id,
      show: (id, a) => auditLink (id, a.page, id) },
    { name: 'begun', of: (a) => a.begun, show: when },
    { name: 'result', of: (a) => a.status || '', show: (s, a) => level (a) },
    { name: 'nodes', number: true, of: (a) => a.hosts },
    { name: 'by', of: (a) => a.why || '' },
    { name: 'job', number: true, of: (a) => a.about || null,
      show: (id) => id === null ? '' : String (id) },
    { name: 'says', of: (a) => a.sentence || '' },
  ], site.audits));
}

function showSite () {
  const newest = Math.max (0, ...site.audits.filter ((a) => a.status)
    .map ((a) => a.begun));
  const missed = site.missed.reduce ((n, m) => n + m.n, 0);
  const says = head.findings.length ? head.sentence : head.status === 'OK'
    ? 'nothing is wrong: no cable is slow' : 'no cable has been measured yet';

  document.body.classList.add ('site');
  $('#about').replaceChildren ('written ', since (head.made));
  $('#status').textContent = `${glyph[head.status] || ''} ${head.status}`;
  $('#status').classList.add (`is-${head.status}`);
  $('#headline').textContent = capital (says);
  document.title = `${head.status}: ${head.findings.length
    ? plural (head.findings.length, 'finding') : says} \u2013 slurm-pmm`;
  $('#facts').replaceChildren (`${count (head.links)} of ${plural (
    head.fabric.cables, 'cable')} measured`, site.down.length
    ? ` \u00b7 ${site.down.length} without a link` : '', site.drained.length
    ? ` \u00b7 ${plural (site.drained.length, 'node')} drained by pmm` : '', missed
    ? ` \u00b7 audits miss ${plural (missed, 'node')}` : '', newest
    ? ' \u00b7 newest audit ' : '', newest ? since (newest, true) : '',
  newest ? ' ago' : '');
  showWrong ();
  showTables ();
  setInterval (() => {
    for (const e of document.querySelectorAll ('time'))
      e.tell ();
  }, 60000);
}
