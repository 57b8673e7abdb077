// SPDX-License-Identifier: GPL-2.0-or-later
// The start: the verdict at once, then what is compressed; themes and keys.
'use strict';

function setTheme (dark) {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  readPalette ();
  if (state.job) {
    legend ();
    redraw ();
    showEvidence ();
  }
  if (view.model) {
    drawMatrix ();
    showCell ();
  }
}

function step (by) {
  if (suspects.length) {
    const i = suspects.indexOf (state.link);
    choose ({ link: suspects[i < 0 ? (by > 0 ? 0 : suspects.length - 1)
      : (i + by + suspects.length) % suspects.length] });
  }
}

function otherScope () {
  if ($('#scope').children.length)
    setScope (state.scope === 'all' ? 'suspects' : 'all');
}

const isDark = () => document.documentElement.dataset.theme === 'dark';

const keys = {
  '/': () => $('#search').focus (),
  n: () => step (1),
  p: () => step (-1),
  '+': () => zoomBy (1.6),
  '=': () => zoomBy (1.6),
  '-': () => zoomBy (1 / 1.6),
  0: zoomAll,
  a: otherScope,
  t: () => setTheme (!isDark ()),
  '?': () => $('#help').showModal (),
  Escape: () => choose (null),
};

document.addEventListener ('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $('#help').open
    || /^(INPUT|SELECT|TEXTAREA)$/.test (e.target.tagName))
    return;
  const act = keys[e.key];
  if (act) {
    e.preventDefault ();
    act ();
  }
});

// The index: a table of audits, with links to those that have a page.
function showAudits () {
  const link = (a) => {
    if (!a.page)
      return String (a.id);
    const e = el ('a', a.id);
    e.href = `audit-${Number (a.id)}.html`;
    return e;
  };
  const level = (a) => el (`span.tag.is-${glyph[a.status] ? a.status
    : 'UNKNOWN'}`, `${glyph[a.status] || '?'} ${a.status || 'runs'}`);
  const fails = head.index.filter ((a) => a.status === 'FAIL').length;

  document.title = 'Audits \u2013 slurm-pmm';
  $('#audits').hidden = false;
  $('#audits > div').append (el ('p.note', `The last ${plural (
    head.index.length, 'audit')}: ${fails} FAIL. A page is written of those `
    + 'that FAIL, and of those that were asked for.'), table ([
    { name: 'audit', number: true, of: (a) => a.id, show: (id, a) => link (a) },
    { name: 'begun', of: (a) => a.begun, show: date },
    { name: 'result', of: (a) => a.status || '', show: (s, a) => level (a) },
    { name: 'nodes', number: true, of: (a) => a.hosts },
    { name: 'by', of: (a) => a.why || '' },
    { name: 'job', number: true, of: (a) => a.about || null,
      show: (id) => id === null ? '' : String (id) },
    { name: 'says', of: (a) => a.sentence || '' },
  ], head.index));
}

(async () => {
  const dark = matchMedia ('(prefers-color-scheme: dark)');
  let before = null;

  setTheme (dark.matches);
  dark.addEventListener ('change', () => setTheme (dark.matches));
  $('#theme').addEventListener ('click', keys.t);
  $('#keys').addEventListener ('click', keys['?']);
  addEventListener ('beforeprint', () => {
    before = isDark ();
    view.seen = true;
    setTheme (false);
    paint ();
  });
  addEventListener ('afterprint', () => setTheme (before));
  showVerdict ();
  if (head.index) {
    showAudits ();
    document.body.dataset.ready = 'yes';
    return;
  }
  await new Promise (requestAnimationFrame);
  const [job, fabric] = await Promise.all ([inflate ('job'),
    inflate ('fabric')]);
  state.snapshot = new Snapshot (fabric);
  if (job) {
    state.job = prepare (JSON.parse (job), state.snapshot);
    startDrawing ();
    startSearch ();
    state.watch.push (showEvidence);
  }
  if (measured (state.job)) {
    $('#links').hidden = false;
    $('#links > div').append (el ('div.card', linkTable (state.job.links)));
  }
  await startMatrix ();
  choose (suspects.length ? { link: suspects[0] } : null);
  document.body.dataset.ready = 'yes';
})();
