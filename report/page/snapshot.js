// SPDX-License-Identifier: GPL-2.0-or-later
// The snapshot: a file as pmm-fabric(5) describes, read for names, cables and
// forwarding tables.
'use strict';

class Snapshot {
  constructor (text) {
    this.nodes = new Map (); // by GUID
    this.far = new Map ();   // 'guid/port' of one end to that of the other
    let tables = null;

    for (let from = 0, to; from < text.length; from = to + 1) {
      to = text.indexOf ('\n', from);
      if (to < 0)
        to = text.length;
      const digit = text.charCodeAt (from);
      if (digit >= 48 && digit <= 57) {
        if (tables)
          tables.push ([from, to]);
        continue;
      }
      const words = text.slice (from, to).split (' ');
      tables = null;
      if (words[0] === 'ca')
        this.nodes.set (words[1], { guid: words[1], sw: false,
          name: words.slice (3).join (' ') });
      else if (words[0] === 'switch')
        this.nodes.set (words[1], { guid: words[1], sw: true,
          name: words.slice (4).join (' ') });
      else if (words[0] === 'cable') {
        this.far.set (words[1], words[2]);
        this.far.set (words[2], words[1]);
      }
      else if (words[0] === 'lft' && this.nodes.has (words[1])) {
        tables = [];
        this.nodes.get (words[1]).tables = tables;
      }
    }
    this.text = text;
  }

  // The port of a switch for a LID, 255: none. A line of its table is read when
  // it is wanted: of a big fabric most never are.
  port (node, lid) {
    if (!node.lines)
      node.lines = (node.tables || []).map (([from, to]) => {
        const blank = this.text.indexOf (' ', from);
        const [first, last] = this.text.slice (from, blank).split ('-')
          .map (Number);
        return { first, same: last !== undefined, at: blank + 1,
          last: last === undefined ? first + (to - blank - 1) / 2 - 1 : last };
      });
    let low = 0;
    let high = node.lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (node.lines[middle].last < lid)
        low = middle + 1;
      else
        high = middle;
    }
    const line = node.lines[low];
    if (!line || line.first > lid)
      return 255;
    const at = line.at + (line.same ? 0 : 2 * (lid - line.first));
    return parseInt (this.text.slice (at, at + 2), 16);
  }

  // The arcs from a port of an adapter to a LID, as in the job: twice the number
  // of a link, and 1 if it is crossed from its second end. What the job does not
  // have is left out; a path that leads nowhere ends there.
  walk (guid, port, lid, byId) {
    const arcs = [];

    for (let hops = 0; hops < 64; hops++) {
      const here = `${guid}/${port}`;
      const far = this.far.get (here);
      if (!far)
        break;
      const l = byId.get (here) || byId.get (far);
      if (l)
        arcs.push (2 * l.at + (l.id === here ? 0 : 1));
      guid = far.slice (0, 16);
      const node = this.nodes.get (guid);
      if (!node || !node.sw)
        break;
      port = this.port (node, lid);
      if (!port || port === 255)
        break;
    }
    return arcs;
  }
}
