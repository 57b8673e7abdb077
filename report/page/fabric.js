// SPDX-License-Identifier: GPL-2.0-or-later
// The drawing: nodes by levels, the paths that were measured between them. A
// link's colour is its excess; hatched is what could not be resolved.
'use strict';

// Colours of the page's style, read again when the theme changes.
const palette = {};
function readPalette () {
  const style = getComputedStyle (document.documentElement);

  for (const name of ['paper', 'ink', 'soft', 'line', 'faint', 'accent', 'link',
    'x0', 'x1', 'x2', 'x3', 'host', 'switch', 'edge', 'fail', 'warn', 'unknown',
    'ok', 'well', 'sum'])
    palette[name] = style.getPropertyValue (`--${name}`).trim ();
}

const hex = (c) => [1, 3, 5].map ((i) => parseInt (c.slice (i, i + 2), 16));

// A colour of the scale; t from 0 to 1.
function shade (t) {
  const stops = [palette.x0, palette.x1, palette.x2, palette.x3].map (hex);
  const at = Math.min (Math.max (t, 0), 1) * 3;
  const i = Math.min (Math.floor (at), 2);
  const mix = stops[i].map ((a, k) => Math.round (a + (stops[i + 1][k] - a)
    * (at - i)));

  return `rgb(${mix.join (' ')})`;
}

// The canvas of an element at its size; a context in CSS pixels.
function fitCanvas (canvas) {
  const scale = window.devicePixelRatio || 1;
  const w = canvas.clientWidth;
  const h = canvas.clientHeight;

  canvas.width = Math.round (w * scale);
  canvas.height = Math.round (h * scale);
  const g = canvas.getContext ('2d');
  g.setTransform (scale, 0, 0, scale, 0, 0);
  return [g, w, h];
}

const drawing = {
  canvas: $('#drawing canvas'), nodes: [], links: [], places: new Map (),
  zoom: 1, x: 0, y: 0, width: 0, height: 0, top: 300, hover: null, probe: null,
};

const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const PAD = { left: 24, right: 24, top: 40, bottom: 40 };
const WIDE = 640; // from here on, levels have their names at the left
const PATHS = 24; // that are drawn of a finding

// The links to draw.
function inScope () {
  const job = state.job;
  const set = new Set ();

  if (state.scope === 'all' || !job.finding.size)
    return job.links;
  for (const f of head.findings) {
    const of = [...f.suspects, ...f.oneway].map ((id) => job.byId.get (id))
      .filter (Boolean);
    for (const l of of) {
      set.add (l);
      for (const p of l.probes.slice (0, Math.max (2, PATHS / of.length)))
        for (const other of p.row.keys ())
          set.add (other);
    }
  }
  return job.links.filter ((l) => set.has (l));
}

const collator = new Intl.Collator ('en', { numeric: true });

// Places in [0, 1] x levels: by levels, each ordered by the middle of what its
// nodes are cabled to, up and down in turn.
function layOut () {
  const levels = [];
  const near = new Map ();
  const d = drawing;

  d.links = inScope ();
  d.places = new Map ();
  for (const l of d.links)
    for (const [n, other] of [[l.a, l.b], [l.b, l.a]]) {
      if (!near.has (n)) {
        near.set (n, []);
        (levels[n.level] = levels[n.level] || []).push (n);
      }
      near.get (n).push (other);
    }
  d.nodes = [...near.keys ()];
  for (let k = 0; k < levels.length; k++)
    levels[k] = levels[k] || [];
  const spread = (level) => level.forEach ((n, i) => d.places.set (n,
    { u: (i + 0.5) / level.length, v: n.level }));
  for (const level of levels) {
    level.sort ((a, b) => collator.compare (a.name, b.name));
    spread (level);
  }
  const sweep = (k, from) => {
    const middle = new Map ();

    for (const n of levels[k]) {
      const v = near.get (n).filter (from).map ((m) => d.places.get (m).u);
      middle.set (n, v.length ? v.reduce ((a, b) => a + b) / v.length
        : d.places.get (n).u);
    }
    levels[k].sort ((a, b) => middle.get (a) - middle.get (b));
    spread (levels[k]);
  };
  for (let turn = 0; turn < 4; turn++) {
    for (let k = 1; k < levels.length; k++)
      sweep (k, (m) => m.level < k);
    for (let k = levels.length - 2; k >= 0; k--)
      sweep (k, (m) => m.level > k);
  }
  d.levels = levels;
  // Cables between the same two nodes are drawn beside each other.
  const twins = new Map ();
  for (const l of d.links) {
    const key = l.a.at < l.b.at ? `${l.a.at} ${l.b.at}` : `${l.b.at} ${l.a.at}`;
    if (!twins.has (key))
      twins.set (key, []);
    twins.get (key).push (l);
  }
  for (const v of twins.values ())
    v.forEach ((l, i) => { l.beside = (i - (v.length - 1) / 2) * 5; });
}

function at (n) {
  const d = drawing;
  const { u, v } = d.places.get (n);
  const rows = Math.max (d.levels.length - 1, 1);

  return [PAD.left + u * (d.width - PAD.left - PAD.right) * d.zoom + d.x,
    PAD.top + (rows - v) / rows * (d.height - PAD.top - PAD.bottom) * d.zoom
      + d.y];
}

function segment (l) {
  const [ax, ay] = at (l.a);
  const [bx, by] = at (l.b);
  const dx = l.beside || 0;

  return [ax + dx, ay, bx + dx, by];
}

// How a link is drawn: colour, width, dashes, and what comes above what.
function styleOf (l) {
  const f = state.job.finding.get (l);

  if (f) {
    const much = state.shows === 'rate' ? f.rate && 2 * (1 - shareOf (f.rate))
      : f.excess === null ? null : Math.abs (f.excess) / drawing.top;
    const color = much === null || much === undefined ? palette.unknown
      : shade (Math.max (much, 0.4));
    return { color, width: 6, dash: alone (f) ? [] : [3, 2.5], rank: 3 };
  }
  if (state.shows === 'rate') {
    const least = leastShare (l);

    return least === null ? { color: palette.link, width: 1, dash: [], rank: 0 }
      : { color: shade (Math.round (32 * (1 - least)) / 16), width: 2, dash: [],
        rank: 1 };
  }
  if (l.open)
    return { color: palette.unknown, width: 2.5, dash: [1, 4], rank: 2 };
  if (unresolved (l))
    return { color: palette.link, width: 4, dash: [2, 2.5], rank: 0 };
  if (l.known && l.excess !== null && l.excess > 0)
    return { color: shade (Math.round (16 * l.excess / drawing.top) / 16),
      width: 2, dash: [], rank: 1 };
  return { color: palette.link, width: 1.5, dash: [], rank: 0 };
}

function drawLinks (g) {
  const groups = new Map ();
  const thin = drawing.links.length > 2000;

  for (const l of drawing.links) {
    const s = styleOf (l);
    const key = `${s.rank} ${s.color} ${s.width} ${s.dash}`;

    if (!groups.has (key))
      groups.set (key, { s, links: [] });
    groups.get (key).links.push (l);
  }
  for (const { s, links } of [...groups.values ()].sort (
    (a, b) => a.s.rank - b.s.rank)) {
    g.beginPath ();
    for (const l of links) {
      const [x0, y0, x1, y1] = segment (l);
      g.moveTo (x0, y0);
      g.lineTo (x1, y1);
    }
    if (s.rank === 3) {
      g.setLineDash ([]);
      g.strokeStyle = palette.paper;
      g.lineWidth = s.width + 4;
      g.stroke ();
    }
    g.setLineDash (thin && s.rank === 0 ? [] : s.dash);
    g.strokeStyle = s.color;
    g.globalAlpha = thin && s.rank < 2 ? 0.35 : 1;
    g.lineWidth = thin && s.rank < 2 ? 0.5 : s.width;
    g.stroke ();
  }
  g.setLineDash ([]);
  g.globalAlpha = 1;
}

// An outline of chosen links, or of a probe's path.
function outline (g, links, color, width) {
  g.strokeStyle = color;
  g.lineWidth = width;
  g.beginPath ();
  for (const l of links) {
    if (!drawing.places.has (l.a) || !drawing.places.has (l.b))
      continue;
    const [x0, y0, x1, y1] = segment (l);
    const len = Math.hypot (x1 - x0, y1 - y0) || 1;
    const ox = (y1 - y0) / len * 5;
    const oy = -(x1 - x0) / len * 5;
    for (const side of [1, -1]) {
      g.moveTo (x0 + side * ox, y0 + side * oy);
      g.lineTo (x1 + side * ox, y1 + side * oy);
    }
  }
  g.stroke ();
}

function drawNodes (g) {
  const d = drawing;
  const marked = new Set ();

  for (const l of d.links)
    if (state.job.finding.has (l) || l.id === state.link)
      marked.add (l.a).add (l.b);
  g.font = FONT;
  g.textBaseline = 'middle';
  for (const level of d.levels) {
    const room = level.length ? (d.width - PAD.left - PAD.right) * d.zoom
      / level.length : 0;
    const widest = level.reduce ((w, n) => Math.max (w, n.width
      || (n.width = g.measureText (n.name).width)), 0);

    for (const n of level) {
      const [x, y] = at (n);
      const strong = marked.has (n) || n.at === state.node || n === d.hover;
      const fits = widest + 18 <= room;

      if (x < -200 || x > d.width + 200 || y < -50 || y > d.height + 50)
        continue;
      g.lineWidth = n.at === state.node ? 2 : 1;
      g.strokeStyle = n.at === state.node ? palette.accent
        : strong ? palette.ink : palette.edge;
      g.fillStyle = n.sw ? palette.switch : palette.host;
      g.beginPath ();
      if (n.sw) {
        const w = fits ? n.width + 12 : Math.min (12, Math.max (room - 2, 2));
        const h = fits ? 18 : 10;
        n.box = w;
        g.roundRect (x - w / 2, y - h / 2, w, h, 4);
      }
      else
        g.arc (x, y, Math.min (5, Math.max (room / 2 - 1, 1.5)), 0, 7);
      g.fill ();
      g.stroke ();
      g.fillStyle = strong ? palette.ink : palette.soft;
      if (n.sw && fits) {
        g.textAlign = 'center';
        g.fillText (n.name, x, y + 0.5);
      }
      else if (!n.sw && (fits || (strong && room < 13))) {
        g.textAlign = 'center';
        g.fillText (n.name, x, y + 16);
      }
      else if (!n.sw && room >= 13) {
        g.save ();
        g.translate (x, y + 10);
        g.rotate (Math.PI / 2);
        g.textAlign = 'left';
        g.fillText (n.name, 0, 0, 95);
        g.restore ();
      }
      else if (n.sw && strong) {
        const left = Math.min (Math.max (x - n.width / 2, 4),
          d.width - n.width - 4);
        g.textAlign = 'left';
        g.fillStyle = palette.paper;
        g.fillRect (left - 2, y - 24, n.width + 4, 15);
        g.fillStyle = palette.ink;
        g.fillText (n.name, left, y - 16);
      }
    }
  }
}

function drawLevels (g) {
  const d = drawing;

  g.font = FONT;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  d.levels.forEach ((level, k) => {
    if (!level.length)
      return;
    const [, y] = at (level[0]);
    g.fillStyle = palette.faint;
    g.fillRect (0, y - 0.5, d.width, 1);
    const [what, many] = k === 0 ? [plural (level.length, 'host'), '']
      : [`level ${k}`, plural (level.length, 'switch', 'switches')];
    g.fillStyle = palette.soft;
    if (d.width < WIDE)
      g.fillText (many ? `${what}: ${many}` : what, 10, y - 21);
    else {
      g.fillText (what, 12, many ? y - 9 : y);
      g.fillText (many, 12, y + 8);
    }
  });
}

let frame = 0;
function redraw () {
  if (!frame)
    frame = requestAnimationFrame (paint);
}

function paint () {
  const d = drawing;
  const [g, w, h] = fitCanvas (d.canvas);
  const l = state.job && state.job.byId.get (state.link);

  frame = 0;
  d.width = w;
  d.height = h;
  PAD.left = w < WIDE ? 24 : 100;
  PAD.right = w < WIDE ? 24 : 60;
  g.font = FONT;
  PAD.bottom = (w - PAD.left - PAD.right) * d.zoom < 13 * (d.levels
    ? d.levels[0].length : 0) ? 40 : 28 + Math.min (d.nodes.reduce ((most, n) => n.sw ? most
    : Math.max (most, g.measureText (n.name).width), 0), 90);
  g.fillStyle = palette.paper;
  g.fillRect (0, 0, w, h);
  if (!state.job || !d.levels)
    return;
  drawLevels (g);
  drawLinks (g);
  if (d.probe)
    outline (g, [...d.probe.row.keys ()], palette.accent, 1.5);
  if (l)
    outline (g, [l], palette.accent, 2);
  if (d.hover && d.hover.id)
    outline (g, [d.hover], palette.ink, 1);
  drawNodes (g);
}

//
// The mouse, fingers and keys
//

function hit (x, y) {
  const d = drawing;
  let best = null;
  let least = 10;

  for (const n of d.nodes) {
    const [nx, ny] = at (n);
    const within = n.sw && Math.abs (x - nx) < (n.box || 0) / 2
      && Math.abs (y - ny) < 9;
    const far = within ? 0 : Math.hypot (x - nx, y - ny);
    if (far < least) {
      least = far;
      best = n;
    }
  }
  if (best)
    return best;
  least = 7;
  for (const l of d.links) {
    const [x0, y0, x1, y1] = segment (l);
    const dx = x1 - x0;
    const dy = y1 - y0;
    const t = Math.min (Math.max (((x - x0) * dx + (y - y0) * dy)
      / (dx * dx + dy * dy || 1), 0), 1);
    const far = Math.hypot (x0 + t * dx - x, y0 + t * dy - y)
      - (state.job.finding.has (l) ? 2 : 0);
    if (far < least) {
      least = far;
      best = l;
    }
  }
  return best;
}

function tipText (it) {
  if (!it.id)
    return `${it.name}\n${it.sw ? `switch, level ${it.level}` : 'host'}, ${plural (
      it.links.length, 'measured link')}`;
  const f = state.job.finding.get (it);
  return `${it.name}\n` + (f ? `${f.level}: ${f.says}`
    : it.open ? 'not judged'
      : unresolved (it) ? `not resolved: ${plural (it.alike.length, 'link')} `
        + 'look alike'
        : it.latency === null ? `${it.kind}, ${latencyOf (it)}`
          : `${ns (it.latency)}${it.known ? `, ${signed (it.excess)} over the `
            + 'baseline' : ''}`)
    + it.rates.map ((r, way) => r ? `\nto ${(way ? it.a : it.b).name}: ${
      rateText (r)}` : '').join ('');
}

function zoomBy (factor, x, y) {
  const d = drawing;
  const zoom = Math.min (Math.max (d.zoom * factor, 1), 200);
  const k = zoom / d.zoom;

  x = x === undefined ? d.width / 2 : x;
  y = y === undefined ? d.height / 2 : y;
  d.x = x - PAD.left - (x - PAD.left - d.x) * k;
  d.y = y - PAD.top - (y - PAD.top - d.y) * k;
  d.zoom = zoom;
  if (zoom === 1)
    d.x = d.y = 0;
  redraw ();
}

function zoomAll () {
  drawing.zoom = 1;
  drawing.x = drawing.y = 0;
  redraw ();
}

// Moves a node or link into sight.
function reveal (it) {
  const d = drawing;
  const n = it.id ? it.a : it;

  if (!d.places.has (n)) {
    setScope ('all');
    if (!d.places.has (n))
      return;
  }
  const [x, y] = at (n);
  if (d.zoom > 1 && (x < 0 || x > d.width || y < 0 || y > d.height)) {
    d.x += d.width / 2 - x;
    d.y += d.height / 2 - y;
  }
  redraw ();
}

function listen () {
  const d = drawing;
  const fingers = new Map ();
  const tip = $('#tip');
  let moved = 0;
  const spot = (e) => {
    const box = d.canvas.getBoundingClientRect ();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  const hover = (it, x, y) => {
    if (it !== d.hover) {
      d.hover = it;
      d.canvas.style.cursor = it ? 'pointer' : '';
      redraw ();
    }
    tip.hidden = !it;
    if (it) {
      tip.textContent = tipText (it);
      tip.style.left = `${Math.max (Math.min (x + 14, d.width
        - tip.offsetWidth - 8), 8)}px`;
      tip.style.top = `${y + 14 + tip.offsetHeight > d.height
        ? y - tip.offsetHeight - 10 : y + 14}px`;
    }
  };

  d.canvas.addEventListener ('pointerdown', (e) => {
    fingers.set (e.pointerId, spot (e));
    moved = 0;
    d.canvas.setPointerCapture (e.pointerId);
  });
  d.canvas.addEventListener ('pointermove', (e) => {
    const [x, y] = spot (e);
    const old = fingers.get (e.pointerId);

    if (!state.job)
      return;
    if (!old) {
      hover (hit (x, y), x, y);
      return;
    }
    fingers.set (e.pointerId, [x, y]);
    moved += Math.abs (x - old[0]) + Math.abs (y - old[1]);
    if (fingers.size === 2) {
      const [other] = [...fingers].filter (([id]) => id !== e.pointerId)
        .map (([, v]) => v);
      const far = (p) => Math.hypot (p[0] - other[0], p[1] - other[1]) || 1;
      zoomBy (far ([x, y]) / far (old), (x + other[0]) / 2, (y + other[1]) / 2);
    }
    else if (moved > 4) {
      d.x += x - old[0];
      d.y += d.zoom > 1 ? y - old[1] : 0;
      hover (null);
      redraw ();
    }
  });
  const up = (e) => {
    if (fingers.delete (e.pointerId) && moved <= 4 && state.job
      && e.type === 'pointerup') {
      const it = hit (...spot (e));
      choose (!it ? null : it.id ? { link: it.id } : { node: it.at });
    }
  };
  d.canvas.addEventListener ('pointerup', up);
  d.canvas.addEventListener ('pointercancel', up);
  d.canvas.addEventListener ('pointerleave', () => hover (null));
  d.canvas.addEventListener ('dblclick', (e) => zoomBy (2, ...spot (e)));
  d.canvas.addEventListener ('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== d.canvas)
      return;
    e.preventDefault ();
    zoomBy (Math.exp (-e.deltaY / 300), ...spot (e));
  }, { passive: false });
  d.canvas.addEventListener ('keydown', (e) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60],
      ArrowDown: [0, -60] }[e.key];

    if (!step)
      return;
    e.preventDefault ();
    d.x += step[0];
    d.y += step[1];
    redraw ();
  });
  for (const b of document.querySelectorAll ('[data-zoom]'))
    b.addEventListener ('click', () => b.dataset.zoom === '0' ? zoomAll ()
      : zoomBy (b.dataset.zoom === '1' ? 1.6 : 1 / 1.6));
}

function setScope (scope) {
  state.scope = scope;
  layOut ();
  for (const b of $('#scope').children)
    b.setAttribute ('aria-pressed', String (b.dataset.scope === scope));
  zoomAll ();
}

//
// The legend
//

function swatch (draw, width = 34) {
  const c = el ('canvas');

  c.style.width = `${width}px`;
  c.style.height = '12px';
  requestAnimationFrame (() => {
    const [g] = fitCanvas (c);
    draw (g);
  });
  return c;
}

function line (s) {
  return swatch ((g) => {
    g.strokeStyle = s.color;
    g.lineWidth = s.width;
    g.setLineDash (s.dash);
    g.beginPath ();
    g.moveTo (0, 6);
    g.lineTo (34, 6);
    g.stroke ();
  });
}

function legend () {
  const job = state.job;
  const add = (s, text) => $('#legend').append (el ('span', line (s), text));
  const scale = swatch ((g) => {
    for (let i = 0; i < 34; i++) {
      g.fillStyle = shade (i / 33);
      g.fillRect (i, 2, 1, 8);
    }
  });

  $('#legend').replaceChildren (el ('span', '0', scale, state.shows === 'rate'
    ? '50 % less than expected' : `${thousands.format (drawing.top)} ns slower`));
  if ([...job.finding.values ()].some (alone))
    add ({ color: palette.x2, width: 6, dash: [] }, 'suspect');
  if ([...job.finding.values ()].some ((f) => !alone (f)))
    add ({ color: palette.x2, width: 6, dash: [3, 2.5] }, 'suspects that look '
      + 'alike');
  if (job.links.some ((l) => !job.finding.has (l) && unresolved (l)))
    add ({ color: palette.link, width: 4, dash: [2, 2.5] },
      'not resolved, nothing slow');
  if (job.open.length)
    add ({ color: palette.unknown, width: 2.5, dash: [1, 4] }, 'not judged');
}

function startDrawing () {
  const job = state.job;
  const choices = job.finding.size && job.links.length > job.finding.size
    ? [['suspects', 'Suspects\u2019 paths'], ['all', 'All measured']] : [];
  const alike = job.links.filter (unresolved);

  drawing.top = Math.max (300, ...head.findings.map ((f) =>
    Math.abs (f.excess || 0)));
  drawing.top = Math.ceil (drawing.top / 100) * 100;
  for (const [scope, text] of choices) {
    const b = el ('button', text);

    b.type = 'button';
    b.dataset.scope = scope;
    b.title = 'a: the other one';
    b.addEventListener ('click', () => setScope (scope));
    $('#scope').append (b);
  }
  if (alike.length) {
    const groups = new Set (alike.map ((l) => l.alike));
    $('#resolved').textContent = `${Math.floor (100 * (1 - alike.length
      / job.links.length))} % of the links are resolved. ${plural (
      alike.length, 'link')} (hatched) are in ${plural (groups.size, 'group')}: `
      + 'the links of a group look alike, since the same probes cross them; a '
      + 'slow one of them is seen, but not which.';
  }
  legend ();
  setScope (choices.length ? state.scope : 'all');
  listen ();
  new ResizeObserver (redraw).observe (drawing.canvas);
  state.watch.push (() => {
    const l = job.byId.get (state.link);

    if (l)
      reveal (l);
    else if (state.node !== null)
      reveal (job.nodes[state.node]);
    redraw ();
  });
}
