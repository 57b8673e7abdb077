// SPDX-License-Identifier: GPL-2.0-or-later
// The map of all cables of a site: a cell each, in a block for each switch.
'use strict';

const CELLS = { WELL: 0, OPEN: 1, SUM: 2, FOUND: 3, DOWN: 4 };
const AGES = [[86400, 1, 'a day'], [7 * 86400, 0.68, 'a week'],
  [30 * 86400, 0.42, '30 days'], [Infinity, 0.22, 'longer']];
const SHARES = [[0.75, 'x3', '< 75 %'], [0.9, 'x2', '< 90 %'],
  [0.97, 'x1', '< 97 %'], [Infinity, 'well', 'more']];
const STEPS = [[500, 'x1', '< 0.5 us'], [2000, 'x2', '< 2 us'],
  [Infinity, 'x3', 'more']];

const cells = {
  canvas: $('#cells canvas'), all: [], rows: [], byId: new Map (), at: -1,
  width: 0, height: 0, size: 8, titles: [],
};

// Columns become cables; each is of a block, the switch at its lower end.
function readCells (map) {
  const guid = (i) => map.guids[i].padStart (16, '0');
  const wrong = new Map (map.wrong);
  const blocks = new Map ();

  cells.map = map;
  cells.all = map.a.map ((a, i) => {
    const b = map.b[i];
    const [la, lb] = [map.levels[a], map.levels[b]];
    const host = la < 0 || lb < 0;
    const lower = host ? (la < 0 ? b : a) : lb < la ? b : a;
    const c = { i, a, b, ap: map.ap[i], bp: map.bp[i], host,
      at: map.when[i] < 0 ? 0 : map.times[map.when[i]], cell: map.cell[i],
      finding: wrong.has (i) ? wrong.get (i) : -1,
      id: `${guid (a)}/${map.ap[i]}`, x: 0, y: 0,
      rate: map.rates && map.rates[i] };

    if (!blocks.has (lower))
      blocks.set (lower, { node: lower, level: Math.max (map.levels[lower], 0),
        name: map.names[lower], hosts: [], up: [] });
    blocks.get (lower)[host ? 'hosts' : 'up'].push (c);
    c.port = lower === a ? map.ap[i] : map.bp[i];
    cells.byId.set (c.id, c);
    return c;
  });
  for (const b of blocks.values ())
    for (const list of [b.hosts, b.up])
      list.sort ((c, d) => c.port - d.port);
  cells.blocks = [...blocks.values ()].sort ((b, c) => b.level - c.level
    || collator.compare (b.name, c.name));
}

// Where cells are: blocks side by side, a level below the other.
function layCells () {
  const n = cells.all.length;
  const width = cells.canvas.clientWidth;
  const widest = Math.max (1, ...cells.blocks.map ((b) => b.hosts.length
    + b.up.length));
  // where two blocks do not fit, one may be larger
  const least = n > 8000 ? 6 : n > 1500 ? 9 : 14;
  const size = cells.size = 2 * (widest + 1) * least > width ? Math.max (least,
    Math.min (9, Math.floor (width / (widest + 2)))) : least;
  const gap = size > 6 ? 2 * size : 10; // between switches; half a cell within
  const top = Math.max (...cells.blocks.map ((b) => b.level), 0);
  let y = 0;

  cells.titles = [];
  for (let level = 0; level <= top; level++) {
    const blocks = cells.blocks.filter ((b) => b.level === level);
    if (!blocks.length)
      continue;
    const labels = blocks.length <= 200;
    const most = Math.max (...blocks.map ((b) => b.hosts.length + b.up.length
      + (b.hosts.length && b.up.length ? 0.5 : 0)));
    const per = Math.min (most, Math.floor (width / size) - 1);
    const across = Math.max (1, Math.floor ((width + gap) / (per * size + gap)));
    const lines = per < most ? Math.ceil ((most + 1) / per) : 1;
    const high = lines * size + (labels ? 15 : 4);
    const hosts = blocks.reduce ((sum, b) => sum + b.hosts.length, 0);
    const up = blocks.reduce ((sum, b) => sum + b.up.length, 0);

    const many = [hosts && `${count (hosts)} to hosts`,
      up && `${count (up)} up`].filter (Boolean).join (', ');

    cells.titles.push ({ y: y + 11, strong: true, x: 0, text: `${level === 1
      ? 'Leaf switches' : level ? `Switches of level ${level}` : 'Others'}: ${
      many}` });
    y += 20;
    blocks.forEach ((b, i) => {
      const left = i % across * (per * size + gap);
      let [at, line] = [0, 0];

      if (i && i % across === 0)
        y += high;
      if (labels)
        cells.titles.push ({ y: y + 9, x: left, text: b.name,
          room: per * size });
      for (const list of [b.hosts, b.up]) {
        for (const c of list) {
          if (at + 1 > per)
            [at, line] = [0, line + 1];
          c.x = left + at * size;
          c.y = y + (labels ? 13 : 0) + line * size;
          at++;
        }
        at += at ? 0.5 : 0;
      }
    });
    y += high + 10;
  }
  const rows = new Map ();
  for (const c of cells.all) {
    if (!rows.has (c.y))
      rows.set (c.y, []);
    rows.get (c.y).push (c);
  }
  cells.rows = [...rows].sort ((r, s) => r[0] - s[0]).map (([at, list]) =>
    ({ y: at, list: list.sort ((c, d) => c.x - d.x) }));
  cells.rows.forEach ((row, r) => row.list.forEach ((c, k) => {
    c.row = r;
    c.column = k;
  }));
  [cells.width, cells.height] = [width, Math.max (y, 20)];
}

const mix = (c, t) => {
  const [from, to] = [hex (palette.paper), hex (c)];
  return `rgb(${from.map ((v, k) => Math.round (v + (to[k] - v) * t)).join (' ')})`;
};
const shadeOf = (at) => AGES.find (([s]) => Date.now () / 1000 - at < s)[1];
const excessOf = (c) => {
  const f = head.findings[c.finding];
  return f && f.excess !== null ? Math.abs (f.excess) : null;
};
const stepOf = (x) => x === null ? STEPS[1] : STEPS.find (([ns]) => x < ns);

function fillOf (c, hatch) {
  if (c.cell === CELLS.DOWN)
    return palette.ink;
  if (state.shows === 'rate')
    return c.rate ? palette[SHARES.find (([share]) => shareOf (c.rate) < share)[1]]
      : hatch;
  if (!c.at)
    return hatch;
  if (c.cell === CELLS.FOUND)
    return mix (palette[stepOf (excessOf (c))[1]], Math.max (shadeOf (c.at), 0.6));
  if (c.cell === CELLS.SUM)
    return mix (palette.sum, Math.max (shadeOf (c.at), 0.6));
  return mix (c.cell === CELLS.OPEN ? palette.edge : palette.well,
    shadeOf (c.at));
}

function hatching (g) {
  const tile = el ('canvas');
  const t = ((tile.width = tile.height = 4), tile.getContext ('2d'));

  t.fillStyle = palette.paper;
  t.fillRect (0, 0, 4, 4);
  t.strokeStyle = palette.edge;
  t.beginPath ();
  for (const x of [-4, 0, 4]) {
    t.moveTo (x - 1, 5);
    t.lineTo (x + 5, -1);
  }
  t.stroke ();
  return g.createPattern (tile, 'repeat');
}

function drawCells () {
  const canvas = cells.canvas;

  if (!cells.map || !canvas.clientWidth)
    return;
  if (canvas.clientWidth !== cells.width)
    layCells ();
  const size = cells.size;
  // browsers have no canvas of any height
  const scale = Math.min (window.devicePixelRatio || 1, 16000 / cells.height);
  canvas.style.height = `${cells.height}px`;
  canvas.width = Math.round (cells.width * scale);
  canvas.height = Math.round (cells.height * scale);
  const g = canvas.getContext ('2d');
  g.setTransform (scale, 0, 0, scale, 0, 0);
  const hatch = hatching (g);
  const groups = new Map ();
  for (const c of cells.all) {
    const fill = fillOf (c, hatch);
    if (!groups.has (fill))
      groups.set (fill, []);
    groups.get (fill).push (c);
  }
  for (const [fill, list] of groups) {
    g.fillStyle = fill;
    for (const c of list)
      g.fillRect (c.x, c.y, size - 1, size - 1);
  }
  g.strokeStyle = palette.ink;
  for (const c of cells.all)
    if (c.finding >= 0)
      g.strokeRect (c.x - 0.5, c.y - 0.5, size, size);
  g.textBaseline = 'alphabetic';
  for (const t of cells.titles) {
    g.font = t.strong ? FONT.replace ('11px', '600 12px') : FONT;
    g.fillStyle = t.strong ? palette.ink : palette.soft;
    let text = t.text;
    while (t.room && text.length > 4 && g.measureText (text).width > t.room)
      text = `${text.slice (0, -2)}\u2026`;
    g.fillText (text, t.x, t.y);
  }
  const c = cells.all[cells.at];
  if (c) {
    g.lineWidth = 2;
    g.strokeStyle = palette.accent;
    g.strokeRect (c.x - 2, c.y - 2, size + 3, size + 3);
    g.strokeStyle = palette.paper;
    g.lineWidth = 1;
    g.strokeRect (c.x - 0.5, c.y - 0.5, size, size);
  }
}

const endName = (node, port) => `${cells.map.names[node]}/${port}`;

// What is known of a cable, in words.
function cellWords (c) {
  const f = head.findings[c.finding];
  const host = cells.map.nodes[cells.map.levels[c.a] < 0 ? c.a : c.b];

  const wrong = f ? `${f.level}: ${f.says}`
    : 'in a finding that is not shown: pmm ledger list';

  const known = ['as expected', 'measured, could not be judged',
    `${wrong} (known in sums only)`, wrong, 'no link'];

  return [
    c.at || c.cell === CELLS.DOWN ? known[c.cell] : 'never measured',
    c.at && `measured ${age (c.at)} ago`,
    c.rate && rateText (c.rate),
    host && `node ${host}`,
    c.host ? 'to a host' : `level ${cells.map.levels[c.a]} to ${
      cells.map.levels[c.b]}`,
  ].filter (Boolean).join (' \u00b7 ');
}

function showCellAt () {
  const c = cells.all[cells.at];
  const go = c && c.finding >= 0 && el ('a', 'its finding');

  if (go)
    go.href = `#finding-${c.finding}`;
  $('#cell').classList.toggle ('on', !!c);
  $('#cell').replaceChildren (...(c ? [el ('b', `${endName (c.a, c.ap)} \u21c4 ${
    endName (c.b, c.bp)}`), el ('div', cellWords (c), go ? ' \u00b7 ' : '', go || ''),
  el ('code.id', c.id)] : ['Arrow keys, or a click, choose a cable.']));
}

function moveTo (i, scroll) {
  cells.at = i;
  drawCells ();
  showCellAt ();
  const c = cells.all[i];
  if (c && scroll) {
    const box = cells.canvas.getBoundingClientRect ();
    const y = box.top + c.y * box.height / cells.height;
    if (y < 70 || y > innerHeight - 110)
      scrollBy (0, y - innerHeight / 2);
  }
}

// The cell of a row whose middle is nearest.
function nearest (row, x) {
  return row.list.reduce ((best, c) => Math.abs (c.x - x)
    < Math.abs (best.x - x) ? c : best);
}

function cellKey (e) {
  const c = cells.all[cells.at];
  const first = cells.rows[0] && cells.rows[0].list[0];
  const side = (by) => {
    const row = cells.rows[c.row];
    const next = cells.rows[c.row + by];
    return row.list[c.column + by]
      || (next ? next.list[by > 0 ? 0 : next.list.length - 1] : c);
  };
  const up = (by) => {
    const row = cells.rows[c.row + by];
    return row ? nearest (row, c.x) : c;
  };
  const moves = { ArrowRight: () => side (1), ArrowLeft: () => side (-1),
    ArrowDown: () => up (1), ArrowUp: () => up (-1), Home: () => first,
    End: () => cells.rows[cells.rows.length - 1].list.slice (-1)[0] };

  if (e.ctrlKey || e.metaKey || e.altKey || !first)
    return;
  $('#cells .tip').hidden = true;
  if (moves[e.key]) {
    e.preventDefault ();
    moveTo ((c ? moves[e.key] () : first).i, true);
  }
  else if (e.key === 'Enter' && c && c.finding >= 0)
    toFinding (c.finding);
}

function toFinding (i) {
  const card = $(`#finding-${i}`);

  if (card)
    card.scrollIntoView ({ block: 'center' });
}

function cellAt (e) {
  const box = cells.canvas.getBoundingClientRect ();
  const x = (e.clientX - box.left) * cells.width / box.width;
  const y = (e.clientY - box.top) * cells.height / box.height;
  let [low, high] = [0, cells.rows.length - 1];

  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (cells.rows[middle].y <= y)
      low = middle;
    else
      high = middle - 1;
  }
  const row = cells.rows[low];
  return row && y >= row.y && y < row.y + cells.size
    ? row.list.find ((c) => x >= c.x && x < c.x + cells.size) : null;
}

function cellTip (e) {
  const c = cellAt (e);
  const tip = $('#cells .tip');

  tip.hidden = !c;
  if (c) {
    const box = cells.canvas.getBoundingClientRect ();
    tip.textContent = `${endName (c.a, c.ap)} \u21c4 ${endName (c.b, c.bp)}\n${
      cellWords (c)}`;
    const x = Math.min (e.clientX - box.left + 14, box.width - tip.offsetWidth);
    tip.style.left = `${Math.max (x, 0)}px`;
    tip.style.top = `${e.clientY - box.top + 16}px`;
  }
}

function cellLegend () {
  const key = (fill, text) => el ('span', swatch ((g) => {
    g.fillStyle = fill === 'hatch' ? hatching (g) : fill;
    g.fillRect (0, 0, 12, 12);
    g.strokeStyle = palette.edge;
    g.strokeRect (0.5, 0.5, 11, 11);
  }, 12), text);

  $('#cells .legend').replaceChildren (...state.shows === 'rate' ? [
    el ('b', 'of the rate expected'),
    ...SHARES.map (([, color, text]) => key (palette[color], text)),
    key ('hatch', 'not measured'), key (palette.ink, 'no link')] : [
    el ('b', 'as expected, measured within'),
    ...AGES.map (([, t, text]) => key (mix (palette.well, t), text)),
    el ('b', 'excess'),
    ...STEPS.map (([, color, text]) => key (palette[color], text)),
    key (palette.sum, 'in sums with others only'),
    key (palette.edge, 'not judged'), key ('hatch', 'never measured'),
    key (palette.ink, 'no link')]);
}

function startCells (map) {
  readCells (map);
  $('#cells').hidden = false;
  if (map.rates)
    startShows ($('#cells .row'), () => {
      cellLegend ();
      drawCells ();
      showCellAt ();
    });
  cellLegend ();
  drawCells ();
  showCellAt ();
  cells.canvas.addEventListener ('keydown', cellKey);
  cells.canvas.addEventListener ('focus', () => {
    if (cells.at < 0 && cells.rows.length)
      moveTo (cells.rows[0].list[0].i);
  });
  cells.canvas.addEventListener ('click', (e) => {
    const c = cellAt (e);
    if (c)
      moveTo (c.i);
  });
  cells.canvas.addEventListener ('pointermove', cellTip);
  cells.canvas.addEventListener ('pointerleave', () => {
    $('#cells .tip').hidden = true;
  });
  addEventListener ('resize', drawCells);
  state.watch.push (() => {
    const c = cells.byId.get (state.link);
    moveTo (c ? c.i : -1, !!c);
  });
}

function siteIndex () {
  const index = [];
  const seen = new Set ();

  for (const c of cells.all) {
    for (const n of [c.a, c.b])
      if (!seen.has (n)) {
        const name = cells.map.names[n];
        seen.add (n);
        index.push ({ text: `${name} ${cells.map.nodes[n] || ''} ${
          cells.map.guids[n].padStart (16, '0')}`.toLowerCase (), name,
        note: cells.map.levels[n] < 0 ? 'host' : 'switch', link: c.id });
      }
  }
  for (const c of cells.all) {
    const name = `${endName (c.a, c.ap)} \u21c4 ${endName (c.b, c.bp)}`;
    index.push ({ text: `${name} ${c.id}`.toLowerCase (), name, note: 'cable',
      link: c.id });
  }
  return index;
}
