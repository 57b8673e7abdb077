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
  if (cells.map) {
    cellLegend ();
    drawCells ();
  }
}

function showLinks () {
  $('#links').hidden = !measured (state.job);
  if (measured (state.job))
    $('#links > div').replaceChildren (el ('div.card', linkTable (
      state.job.links)));
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

function otherShows () {
  if (state.setShows)
    state.setShows (state.shows === 'rate' ? 'latency' : 'rate');
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
  r: otherShows,
  t: () => setTheme (!isDark ()),
  '?': () => $('#help').showModal (),
  Escape: () => choose (null),
};

if (site) // which has no drawing
  for (const key of ['+', '=', '-', '0', 'a'])
    delete keys[key];

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
  await new Promise (requestAnimationFrame);
  if (site) {
    startCells (JSON.parse (await inflate ('job')));
    startSearch ();
    document.body.dataset.ready = 'yes';
    return;
  }
  const [job, fabric] = await Promise.all ([inflate ('job'),
    inflate ('fabric')]);
  state.snapshot = new Snapshot (fabric);
  if (job) {
    state.job = prepare (JSON.parse (job), state.snapshot);
    startDrawing ();
    startSearch ();
    state.watch.push (showEvidence);
    if (state.job.rates || Object.values (cables).some ((c) =>
      (c.history || []).some ((p) => p.rate_bits !== undefined)))
      startShows ($('#evidence .row'), () => {
        legend ();
        redraw ();
        showLinks ();
        showEvidence ();
      });
    else
      showLinks ();
  }
  await startMatrix ();
  choose (suspects.length ? { link: suspects[0] } : null);
  document.body.dataset.ready = 'yes';
})();
