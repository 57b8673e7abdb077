// SPDX-License-Identifier: GPL-2.0-or-later
// Matrices of all pairs: as a series measured them, or computed here from the
// links' latencies and the forwarding tables. A model has labels, lengths (bytes;
// 0: of a check, too), and get (a, b, k), a time in ns of the k-th length, NaN where
// it is not known; deviation (a, b, k) if it was measured.
'use strict';

const SIDE = 640;     // pixels of the drawing, at most
const COMPUTED = 400; // hosts in a row of it, if they are computed
const BINS = 100;     // of the histogram
const GUTTER = 56;    // pixels for the lengths beside a strip

const byName = (a, b) => collator.compare (a, b);

//
// Models
//

// Of a series: of each length a list of a, b, time, deviation, tenths of a ns.
function measuredModel (m) {
  const n = m.labels.length;
  const tables = m.values.map ((v) => {
    const map = new Map ();
    for (let i = 0; i < v.length; i += 4)
      map.set (v[i] * n + v[i + 1], i);
    return { v, map };
  });
  const at = (a, b, k, what) => {
    const t = tables[k];
    let i = t.map.get (a * n + b);
    if (i === undefined)
      i = t.map.get (b * n + a);
    return i === undefined || t.v[i + what] === null ? NaN
      : t.v[i + what] / 10;
  };

  return { name: m.name, labels: m.labels, lengths: m.lengths, stat: m.stat,
    get: (a, b, k) => at (a, b, k, 2), deviation: m.deviation
      && ((a, b, k) => at (a, b, k, 3)) };
}

// Of a job: round trips by these latencies of its links. Costs from everywhere
// to one host are found together, and kept for the hosts that are drawn.
function computedModel (name, latencies) {
  const job = state.job;
  const snapshot = state.snapshot;
  const kept = new Map ();
  const step = (guid, port) => {
    const here = `${guid}/${port}`;
    const far = snapshot.far.get (here);
    if (!far)
      return null;
    const l = job.byId.get (here) || job.byId.get (far);
    return { to: far.slice (0, 16), ns: l && latencies[l.at] !== null
      ? latencies[l.at] : NaN };
  };
  const first = job.ends.map ((e) => step (job.nodes[e[1]].guid, e[2]));
  const steps = new Map (); // of a switch, by port
  const costs = (b) => {
    const to = new Map ();
    const last = job.nodes[job.ends[b][1]].guid;
    const lid = job.ends[b][3];
    const cost = (guid) => {
      const way = [];
      let ns = to.get (guid);
      while (ns === undefined) {
        const node = snapshot.nodes.get (guid);
        const port = node && node.sw ? snapshot.port (node, lid) : 255;
        let ports = steps.get (guid);
        if (guid === last) {
          ns = 0;
          break;
        }
        if (port === 0 || port === 255 || way.length > 64) {
          ns = NaN;
          break;
        }
        if (!ports)
          steps.set (guid, ports = []);
        const next = ports[port] || (ports[port] = step (guid, port));
        if (!next) {
          ns = NaN;
          break;
        }
        way.push ([guid, next.ns]);
        guid = next.to;
        ns = to.get (guid);
      }
      while (way.length) {
        const [from, more] = way.pop ();
        ns += more;
        to.set (from, ns);
      }
      return ns;
    };
    return (a) => first[a] ? first[a].ns + cost (first[a].to) : NaN;
  };
  // The LIDs of a port are no pairs.
  const onePort = (a, b) => job.ends[a][1] === job.ends[b][1]
    && job.ends[a][2] === job.ends[b][2];
  const toward = (b) => {
    if (!kept.has (b)) {
      if (kept.size > 4 * COMPUTED)
        kept.clear ();
      kept.set (b, costs (b));
    }
    return kept.get (b);
  };

  return { name, labels: job.ends.map ((e) => e[0]), lengths: [0], computed: true,
    get: (a, b) => onePort (a, b) ? NaN : toward (b) (a) + toward (a) (b) };
}

// Of two, by the names that both have and by lengths: the second less the first.
function difference (x, y) {
  const of = new Map (y.labels.map ((name, i) => [name, i]));
  const labels = x.labels.filter ((name) => of.has (name));
  const ax = labels.map ((name) => x.labels.indexOf (name));
  const ay = labels.map ((name) => of.get (name));
  const one = x.lengths.length === 1 && y.lengths.length === 1;
  const lengths = one ? x.lengths
    : x.lengths.filter ((l) => y.lengths.includes (l));
  const kx = lengths.map ((l) => x.lengths.indexOf (l));
  const ky = lengths.map ((l) => one ? 0 : y.lengths.indexOf (l));

  return { name: `${y.name} \u2212 ${x.name}`, labels, lengths, differs: true,
    computed: x.computed || y.computed,
    get: (a, b, k) => y.get (ay[a], ay[b], ky[k]) - x.get (ax[a], ax[b], kx[k]) };
}

//
// The viewer
//

const view = {
  models: [], model: null, length: 0, order: 'name', scale: 'length',
  ratio: false, red: false, low: 0, high: 100, places: [],
  cell: null, at: null, // the pinned pair, and the one where the keys are
  x: 0, y: 0, n: 1, // what is seen: n of the places, from x and y on
};

const bytes = (n) => n < 1024 ? `${n} B`
  : n < 1 << 20 ? `${n / 1024} kB` : `${n / (1 << 20)} MB`;

// Where a host is: its leaf's name and port.
function placeOf (label) {
  const s = state.snapshot;

  if (!view.leaf) {
    view.leaf = new Map ();
    for (const n of s ? s.nodes.values () : []) {
      if (n.sw)
        continue;
      for (let port = 1; port <= 4; port++) {
        const far = s.far.get (`${n.guid}/${port}`);
        const leaf = far && s.nodes.get (far.slice (0, 16));
        const host = n.name.split (' ')[0];
        if (leaf && !view.leaf.has (host))
          view.leaf.set (host, `${leaf.name}/${far.slice (17)}`);
      }
    }
  }
  return view.leaf.get (label.split (/[:~]/)[0]) || '~';
}

function setOrder () {
  const m = view.model;
  const places = m.labels.map ((_, i) => i);
  const key = m.labels.map ((name) => view.order === 'place' ? placeOf (name)
    : name);

  if (view.order !== 'given')
    places.sort ((a, b) => byName (key[a], key[b])
      || byName (m.labels[a], m.labels[b]));
  view.places = places;
}

// The time of a pair at the chosen length; over all lengths the median of what
// it is to the typical pair of each.
function value (a, b, k = view.length) {
  const m = view.model;

  if (k >= 0)
    return m.get (a, b, k) / (view.ratio && !m.differs ? typical (k) : 1);
  const v = m.lengths.map ((_, i) => m.differs ? m.get (a, b, i)
    : m.get (a, b, i) / typical (i)).filter (Number.isFinite)
    .sort ((x, y) => x - y);
  return v.length ? v[v.length >> 1] : NaN;
}

const isRatio = (k = view.length) => !view.model.differs && (view.ratio || k < 0);
const shown = (v, k) => Number.isNaN (v) ? 'not known'
  : isRatio (k) ? `${v.toFixed (3)} of the typical`
    : view.model.differs ? signed (v) : ns (v);

// A sample of what a model has at a length, ascending.
function sampled (k) {
  const m = view.model;
  const n = m.labels.length;
  const every = Math.max (1, Math.floor (n / (m.computed ? 60 : 300)));
  const v = [];

  for (let a = 0; a < n; a += every)
    for (let b = 0; b < n; b += every) {
      const x = a === b ? NaN : m.get (a, b, k);
      if (Number.isFinite (x))
        v.push (x);
    }
  return v.sort ((x, y) => x - y);
}

function typical (k) {
  const m = view.model;

  m.typical = m.typical || [];
  if (m.typical[k] === undefined) {
    const v = sampled (k);
    m.typical[k] = v.length ? v[v.length >> 1] : NaN;
  }
  return m.typical[k];
}

// The cells that are seen: a grid of at most `most` by `most` of the places.
function grid (most) {
  const n = Math.ceil (view.n);
  const cells = Math.min (n, most);
  const pick = (from) => Array.from ({ length: cells }, (_, i) =>
    view.places[Math.min (Math.floor (from + (i + 0.5) * n / cells),
      view.places.length - 1)]);

  return { cells, rows: pick (Math.floor (view.y)), columns: pick (
    Math.floor (view.x)) };
}

// Fills a grid's values; what takes long lets the page breathe in between.
let turn = 0;
async function fill (g) {
  const mine = ++turn;
  let since = performance.now ();

  g.values = new Float64Array (g.cells * g.cells);
  for (let r = 0; r < g.cells; r++) {
    for (let c = 0; c < g.cells; c++)
      g.values[r * g.cells + c] = g.rows[r] === g.columns[c] ? NaN
        : value (g.rows[r], g.columns[c]);
    if (performance.now () - since > 40) {
      await new Promise ((done) => setTimeout (done));
      if (mine !== turn)
        return false;
      since = performance.now ();
    }
  }
  return true;
}

// What the colours span: the sliders' share of these values.
function range (values) {
  const v = Float64Array.from (values.filter (Number.isFinite)).sort ();

  if (!v.length)
    return [0, 1];
  const at = (p) => v[Math.min (Math.floor (p / 100 * v.length), v.length - 1)];
  let [low, high] = [at (view.low), at (view.high)];
  if (view.model.differs)
    [low, high] = [-1, 1].map ((s) => s * Math.max (Math.abs (low),
      Math.abs (high), 1));
  return low === high ? [low - 1, high + 1] : [low, high];
}

const rgb = (css) => (css.match (/^#/) ? hex (css) : css.match (/\d+/g)
  .map (Number)).slice (0, 3);

// Colours of a table of 256: light to dark, or blue, none, orange for a
// difference.
function colours () {
  const paper = rgb (palette.paper);
  const ink = rgb (palette.ink);
  const mix = (a, b, t) => a.map ((x, i) => x + (b[i] - x) * t);
  const blue = rgb (palette.accent);
  const orange = rgb (palette.x2);

  return Array.from ({ length: 256 }, (_, i) => {
    const t = i / 255;
    return view.model.differs ? (t < 0.5 ? mix (blue, paper, 2 * t)
      : mix (paper, orange, 2 * t - 1)) : t < 0.5
      ? mix (mix (paper, blue, 0.06), blue, 2 * t) : mix (blue, ink, 1.5 * t
        - 0.75);
  });
}

// Sets pixels, whose colours (i) has.
function picture (w, h, colour) {
  const image = new ImageData (w, h);
  const small = new OffscreenCanvas (w, h);

  for (let i = 0; i < w * h; i++)
    image.data.set ([...colour (i), 255], 4 * i);
  small.getContext ('2d').putImageData (image, 0, 0);
  return small;
}

// The colours of values from low to high.
function toner ([low, high], table = colours ()) {
  const none = rgb (palette.faint);

  return (v) => Number.isNaN (v) ? none : table[Math.min (Math.max (Math.round (
    255 * (v - low) / (high - low)), 0), 255)];
}

const isRed = () => view.red && view.model.deviation;

async function drawMatrix () {
  const m = view.model;
  const side = Math.min (SIDE, view.canvas.clientWidth);
  const g = grid (m.computed ? Math.min (side, COMPUTED) : side);

  if (!view.seen || side < 1)
    return;
  view.busy = true;
  if (!await fill (g))
    return;
  const [low, high] = range (view.scale === 'all' && view.length >= 0
    && !isRatio () ? m.lengths.flatMap ((_, k) => sampled (k)) : g.values);
  const table = colours ();
  const tone = toner ([low, high], table);
  const red = rgb (palette.fail);
  view.image = picture (g.cells, g.cells, (i) => {
    const v = g.values[i];
    const c = tone (v);
    if (!isRed () || Number.isNaN (v))
      return c;
    const k = Math.max (view.length, 0);
    const [a, b] = [g.rows[Math.floor (i / g.cells)], g.columns[i % g.cells]];
    const t = Math.min (m.deviation (a, b, k) / m.get (a, b, k) * 4, 1) || 0;
    return c.map ((x, j) => x + (red[j] - x) * t);
  });
  view.grid = g;
  view.range = [low, high];
  paintMatrix ();
  view.key.replaceChildren (el ('span', shown (low), view.bar, shown (high)),
    isRed () ? el ('span', '0', swatch ((s) => {
      s.fillStyle = palette.fail;
      for (let i = 0; i < 34; i++) {
        s.globalAlpha = i / 33;
        s.fillRect (i, 2, 1, 8);
      }
    }), 'a deviation of 25 % of the time, or more') : '',
    el ('span', `${count (Math.min (Math.ceil (view.n), view.places.length))} of `
      + `${plural (view.places.length, 'process', 'processes')}${g.cells
        < Math.ceil (view.n) ? ', a pixel stands for several' : ''}`));
  const [bar] = fitCanvas (view.bar);
  for (let i = 0; i < 120; i++) {
    bar.fillStyle = `rgb(${table[Math.floor (i / 120 * 256)].map (Math.round)
      .join (' ')})`;
    bar.fillRect (i, 1, 1, 10);
  }
  histogram (g.values);
  view.busy = false;
}

// What changes without new values: the marks.
function paintMatrix () {
  if (!view.image)
    return;
  const [ctx, w, h] = fitCanvas (view.canvas);

  ctx.imageSmoothingEnabled = false;
  ctx.drawImage (view.image, 0, 0, w, h);
  markCell (ctx, w, view.at, palette.ink);
  markCell (ctx, w, view.cell, palette.x2);
  drawNames (view.down, w, view.y, false);
  drawNames (view.across, w, view.x, true);
}

function markCell (ctx, w, cell, colour) {
  if (!cell)
    return;
  const at = cell.map ((p) => view.places.indexOf (p));
  const size = w / Math.ceil (view.n);

  for (const [style, width] of [[palette.paper, 5], [colour, 2]]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.strokeRect ((at[1] - Math.floor (view.x)) * size - 1,
      (at[0] - Math.floor (view.y)) * size - 1, size + 2, size + 2);
  }
}

// Names at an axis of so many pixels, as many as have room.
function drawNames (canvas, side, from, turned) {
  const [g, w, h] = fitCanvas (canvas);
  const n = Math.ceil (view.n);
  const size = side / n;

  g.font = FONT;
  g.fillStyle = palette.soft;
  g.textBaseline = 'middle';
  g.textAlign = turned ? 'left' : 'right';
  for (let i = 0; i < n; i += Math.ceil (13 / size)) {
    const p = view.places[Math.floor (from) + i];
    if (p === undefined)
      break;
    g.save ();
    g.translate (...turned ? [(i + 0.5) * size, h - 4]
      : [w - 4, (i + 0.5) * size]);
    g.rotate (turned ? -Math.PI / 2 : 0);
    g.fillText (view.model.labels[p], 0, 0, (turned ? h : w) - 6);
    g.restore ();
  }
}

// How many of the pairs that are seen have which value.
function histogram (values) {
  const v = values.filter (Number.isFinite);

  forgetCharts (view.bins);
  view.bins.replaceChildren ();
  if (!v.length)
    return;
  const low = v.reduce ((x, y) => Math.min (x, y));
  const step = (v.reduce ((x, y) => Math.max (x, y)) - low) / BINS || 1;
  const n = Array (BINS).fill (0);
  for (const x of v)
    n[Math.min (Math.floor ((x - low) / step), BINS - 1)]++;
  const most = Math.max (...n);
  const many = most > 300; // so many that few would not be seen beside them
  const box = el ('div');

  view.counts = n;
  view.bins.append (el ('h3', `${plural (v.length, 'pair')} by ${
    view.model.differs ? 'how much they deviate, ns' : isRatio ()
      ? 'their time over the typical' : 'their time, ns'}`), box);
  chart (box, { height: 130, scales: { x: { time: false, range: () =>
    [low - step, low + (BINS + 1) * step] },
  y: many ? { distr: 3, range: [0.7, most * 1.5] }
    : { range: [0, most * 1.08] } },
  axes: [{ space: 70 }, { size: 50, incrs: many ? undefined
    : [1, 2, 5, 10, 20, 50, 100] }],
  series: [{}, { paths: uPlot.paths.bars ({ size: [1, 60] }), width: 0,
    fill: palette.accent, points: { show: false } }] },
  [n.map ((_, i) => low + (i + 0.5) * step), n.map ((x) => x || null)]);
}

// The places of a row: all, or some of many that are computed.
const partners = () => view.places.length > 2000 && view.model.computed
  ? view.places.filter ((_, i) => i % Math.ceil (view.places.length / 2000)
    === 0) : view.places;

// A row or a column, as a chart.
function rowChart (at, title, of) {
  const v = partners ();
  const box = el ('div');

  at.append (el ('h3', title), box);
  chart (box, { height: 120, scales: { x: { time: false } },
    axes: [{ values: (u, s) => s.map ((i) => Number.isInteger (i) && v[i]
      !== undefined ? view.model.labels[v[i]] : ''), space: 90 }, { size: 56,
      values: (u, s) => s.map ((x) => isRatio () ? x.toFixed (2)
        : thousands.format (x)) }],
    series: [{}, { stroke: palette.accent, width: 0, paths: () => null,
      points: { show: true, size: 4, fill: palette.accent, width: 0 } }] },
  [v.map ((_, i) => i), v.map ((p) => {
    const x = of (p);
    return Number.isNaN (x) ? null : x;
  })]);
}

// The same at all lengths, over the typical pair of each: lengths down, partners
// across. pair (p): of that partner.
function strip (at, pair) {
  const m = view.model;
  const v = partners ();
  const rows = m.lengths.length;
  const canvas = el ('canvas.strip');
  const of = (p, k) => {
    const [a, b] = pair (p);
    return a === b ? NaN : m.differs ? m.get (a, b, k)
      : m.get (a, b, k) / typical (k);
  };
  const values = m.lengths.flatMap ((_, k) => v.map ((p) => of (p, k)));
  const tone = toner (range (values));
  const small = picture (v.length, rows, (i) => tone (values[i]));
  const spot = (e) => {
    const box = canvas.getBoundingClientRect ();
    const x = (e.clientX - box.left - GUTTER) / (box.width - GUTTER);
    const y = (e.clientY - box.top) / box.height;
    const cell = (t, n) => Math.min (Math.max (Math.floor (t * n), 0), n - 1);
    return [pair (v[cell (x, v.length)]), cell (y, rows)];
  };

  canvas.style.height = `${Math.min (Math.max (13 * rows, 40), 240)}px`;
  at.append (canvas);
  const [g, w, h] = fitCanvas (canvas);
  g.imageSmoothingEnabled = false;
  g.drawImage (small, GUTTER, 0, w - GUTTER, h);
  g.font = FONT;
  g.fillStyle = palette.soft;
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  for (let k = 0; k < rows; k += Math.ceil (13 * rows / h))
    g.fillText (bytes (m.lengths[k]), GUTTER - 4, (k + 0.5) * h / rows);
  canvas.addEventListener ('pointermove', (e) => tell (...spot (e)));
  canvas.addEventListener ('click', (e) => {
    [view.cell, view.length] = spot (e);
    controls ();
    drawMatrix ();
    showCell ();
  });
}

// What a pair has at a length, in words.
function tell ([a, b], k = view.length) {
  const m = view.model;

  view.tip.textContent = `${m.labels[a]} \u2192 ${m.labels[b]}${
    k === view.length ? '' : `, ${bytes (m.lengths[k])}`}: ${
    shown (a === b ? NaN : value (a, b, k), k)}`;
}

function showCell () {
  const m = view.model;
  const at = view.side;

  forgetCharts (at);
  at.replaceChildren ();
  if (!view.cell) {
    at.append (none ('Choose a pair in the matrix, or by arrow keys and Enter: its '
      + 'row, its column and its lengths are shown here. Ctrl and the wheel, or '
      + 'a double click, come closer; dragging moves it.'));
    return;
  }
  const [a, b] = view.cell;
  at.append (el ('p.ends', m.labels[a], el ('span.to', '\u2192'), m.labels[b]),
    el ('p.note', shown (value (a, b)), m.deviation && view.length >= 0
      ? `, deviation ${ns (m.deviation (a, b, view.length))}` : ''));
  rowChart (at, `From ${m.labels[a]} to each`, (p) => p === a ? NaN
    : value (a, p));
  if (m.lengths.length > 1)
    strip (at, (p) => [a, p]);
  rowChart (at, `From each to ${m.labels[b]}`, (p) => p === b ? NaN
    : value (p, b));
  if (m.lengths.length > 1) {
    strip (at, (p) => [p, b]);
    const box = el ('div');
    const x = m.lengths.map ((l) => Math.max (l, 1));
    at.append (el ('h3', 'This pair over lengths, ns'), box);
    chart (box, { scales: { x: { time: false, distr: 3, log: 2 }, y: { distr:
      m.differs ? 1 : 3 } }, axes: [{ values: (u, s) => s.map ((l) =>
      l === null ? '' : bytes (l)), space: 60 }, { size: 64 }],
    series: [{}, { stroke: palette.accent, width: 1.5, points: { show: true,
      size: 5 } }] }, [x, m.lengths.map ((_, k) => {
      const v = m.get (a, b, k);
      return Number.isNaN (v) ? null : v;
    })]);
  }
}

function select (label, choices, chosen, set) {
  const s = el ('select');

  for (const [value, text] of choices) {
    const o = el ('option', text);
    o.value = value;
    o.selected = String (value) === String (chosen);
    s.append (o);
  }
  s.addEventListener ('change', () => set (s.value));
  return el ('label', label, s);
}

function controls () {
  const m = view.model;
  const slider = (name, text) => {
    const s = el ('input');
    s.type = 'range';
    s.min = 0;
    s.max = 100;
    s.step = 0.5;
    s.value = view[name];
    s.id = `level-${name}`;
    s.addEventListener ('input', () => {
      view[name] = Number (s.value);
      if (view.low > view.high - 0.5)
        view[name === 'low' ? 'high' : 'low'] = view[name];
      drawMatrix ();
    });
    return el ('label', text, s);
  };
  const check = (name, text) => {
    const c = el ('input');
    c.type = 'checkbox';
    c.checked = view[name];
    c.addEventListener ('change', () => {
      view[name] = c.checked;
      drawMatrix ();
    });
    return el ('label', c, text);
  };
  const again = (name, number) => (v) => {
    view[name] = number ? Number (v) : v;
    if (name === 'order')
      setOrder ();
    drawMatrix ();
    showCell ();
  };

  view.bar2.replaceChildren (...[
    view.models.length > 1 && select ('result', view.models.map ((x, i) =>
      [i, x.name]), view.models.indexOf (m), (i) => useModel (Number (i))),
    m.lengths.length > 1 && select ('length', [...m.lengths.map ((l, k) =>
      [k, bytes (l)]), [-1, 'all']], view.length, again ('length', true)),
    select ('order', [['name', 'by name'], ...state.snapshot
      && state.snapshot.nodes.size ? [['place', 'by place in the fabric']] : [],
    ['given', 'as measured']], view.order, again ('order')),
    m.lengths.length > 1 && !m.differs && select ('colours over', [['length',
      'this length'], ['all', 'all lengths']], view.scale, again ('scale')),
    !m.differs && check ('ratio', 'over the typical pair'),
    m.deviation && check ('red', 'deviation in red'),
    slider ('low', 'levels from'), slider ('high', 'to'),
  ].filter (Boolean));
}

function useModel (i) {
  view.model = view.models[i];
  view.length = 0;
  view.cell = view.at = null;
  setOrder ();
  view.x = view.y = 0;
  view.n = view.places.length;
  controls ();
  drawMatrix ();
  showCell ();
}

function clampView () {
  const most = view.places.length;

  view.n = Math.min (Math.max (view.n, Math.min (8, most)), most);
  view.x = Math.min (Math.max (view.x, 0), most - view.n);
  view.y = Math.min (Math.max (view.y, 0), most - view.n);
}

function matrixMouse () {
  const c = view.canvas;
  let down = null;
  const spot = (e) => {
    const box = c.getBoundingClientRect ();
    return [(e.clientX - box.left) / box.width,
      (e.clientY - box.top) / box.height];
  };
  const pair = ([x, y]) => [view.y + y * view.n, view.x + x * view.n].map ((p) =>
    view.places[Math.min (Math.floor (p), view.places.length - 1)]);
  const zoom = (factor, [x, y]) => {
    const n = view.n;
    view.n /= factor;
    clampView ();
    view.x += x * (n - view.n);
    view.y += y * (n - view.n);
    clampView ();
    drawMatrix ();
  };

  c.addEventListener ('pointerdown', (e) => {
    down = { spot: spot (e), x: view.x, y: view.y, moved: false };
    c.setPointerCapture (e.pointerId);
  });
  c.addEventListener ('pointermove', (e) => {
    const at = spot (e);

    tell (pair (at));
    if (!down)
      return;
    const d = [at[0] - down.spot[0], at[1] - down.spot[1]];
    if (Math.hypot (...d) > 0.01)
      down.moved = true;
    if (down.moved && view.n < view.places.length) {
      view.x = down.x - d[0] * view.n;
      view.y = down.y - d[1] * view.n;
      clampView ();
      drawMatrix ();
    }
  });
  c.addEventListener ('pointerup', (e) => {
    if (down && !down.moved)
      pin (pair (spot (e)));
    down = null;
  });
  c.addEventListener ('pointercancel', () => { down = null; });
  c.addEventListener ('dblclick', (e) => zoom (3, spot (e)));
  c.addEventListener ('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== c)
      return;
    e.preventDefault ();
    zoom (Math.exp (-e.deltaY / 300), spot (e));
  }, { passive: false });
  c.addEventListener ('keydown', (e) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0],
      ArrowDown: [1, 0] }[e.key];
    const factor = { '+': 1.6, '-': 1 / 1.6, 0: 0 }[e.key];

    if (step)
      moveCell (step);
    else if (factor !== undefined)
      zoom (factor || 1e-9, [0.5, 0.5]);
    else if (e.key === 'Enter' && view.at)
      pin (view.at);
    else if (e.key === 'Escape' && (view.at || view.cell))
      pin (null);
    else
      return;
    e.preventDefault ();
    e.stopPropagation ();
  });
}

// Chooses a pair, or none.
function pin (cell) {
  view.cell = view.at = cell;
  paintMatrix ();
  showCell ();
}

// Moves the keys' cell, from the middle if there is none, and keeps it in sight.
function moveCell (step) {
  const n = Math.floor (view.n);
  const seen = [view.y, view.x];
  const to = seen.map ((from, i) => Math.min (Math.max (step[i] + (view.at
    ? view.places.indexOf (view.at[i]) : Math.floor (from + n / 2)), 0),
  view.places.length - 1));
  const [y, x] = seen.map ((from, i) => to[i] < from ? to[i]
    : to[i] > Math.floor (from) + n - 1 ? to[i] - n + 1 : from);

  view.at = to.map ((p) => view.places[p]);
  tell (view.at);
  if (y === view.y && x === view.x)
    paintMatrix ();
  else {
    [view.y, view.x] = [y, x];
    clampView ();
    drawMatrix ();
  }
}

async function startMatrix () {
  const job = state.job;
  const given = JSON.parse (await inflate ('series') || '[]');

  if (job && job.before)
    view.models.push (computedModel ('by the baseline', job.before));
  if (job && job.now)
    view.models.push (computedModel ('this check', job.now));
  view.models.push (...given.map (measuredModel));
  if (!view.models.length)
    return;
  const plain = [...view.models];
  for (let i = 1; i < plain.length; i++)
    view.models.push (difference (plain[i - 1], plain[i]));
  const box = $('#matrix > div');
  view.canvas = el ('canvas.cells');
  view.across = el ('canvas.across');
  view.down = el ('canvas.down');
  view.canvas.tabIndex = 0;
  view.canvas.setAttribute ('role', 'img');
  view.canvas.setAttribute ('aria-label', 'Times of all pairs');
  view.bar = el ('canvas.bar120');
  view.key = el ('div.legend');
  view.tip = el ('p.note', 'Rows send first.');
  view.tip.setAttribute ('role', 'status');
  view.bins = el ('div.bins');
  view.side = el ('div.side');
  view.bar2 = el ('div.controls');
  box.append (el ('div.card', view.bar2, el ('div.pair', el ('div.square',
    el ('span.sub', 'to \u2192\nfrom \u2193'), view.across, view.down,
    view.canvas, view.key, view.tip, view.bins), view.side)));
  $('#matrix').hidden = false;
  matrixMouse ();
  useModel (job && job.now && job.before ? 1 : 0);
  new ResizeObserver (() => drawMatrix ()).observe (box);
  new IntersectionObserver (([entry]) => {
    if (entry.isIntersecting && !view.seen) {
      view.seen = true;
      drawMatrix ();
    }
  }, { rootMargin: '300px' }).observe (box);
}
