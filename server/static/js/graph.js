// Draws a graph of claims as SVG; the list beside it says the same to everyone.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MOST = 118; // width of a line of a label
  const svg = (name, values = {}, ...inside) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(values)) if (value !== undefined) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const pen = document.createElement("canvas").getContext("2d");
  const measured = (text) => { pen.font = `13px ${getComputedStyle(document.body).fontFamily}`; return pen.measureText(text).width; };
  const level = (value) => (value < 0 ? "none" : value >= 0.9 ? "very-high" : value >= 0.8 ? "high" : value >= 0.65 ? "fair" : value >= 0.45 ? "low" : "very-low");
  const number = (value) => (value < 0 ? "" : value.toFixed(2)); // less than zero: no confidence is given

  // Chinese breaks between any two characters, English between words
  const lines = (label) => {
    const made = [""];
    for (const piece of label.match(/[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]|[^\u3400-\u9fff\u3000-\u303f\uff00-\uffef\s]+\s*/g) || [label]) {
      if (made.at(-1) && measured(made.at(-1) + piece) > MOST) made.push("");
      made[made.length - 1] += piece;
    }
    return made.length > 3 ? [...made.slice(0, 2), `${made[2].slice(0, 12)}…`] : made;
  };
  const sized = (node) => {
    const text = lines(node.label);
    return { ...node, text, wide: Math.max(...text.map(measured)) + 26, high: 18 * text.length + 14 };
  };

  // columns by distance from what was asked; rows follow their neighbours, so that lines cross little
  const layered = ({ nodes, edges }, width) => {
    const near = new Map(nodes.map((n) => [n.id, []]));
    for (const e of edges) { near.get(e.source).push(e.target); near.get(e.target).push(e.source); }
    const depth = new Map();
    for (const n of nodes) if (n.seed && !near.get(n.id).some((other) => depth.has(other))) depth.set(n.id, 0);
    const spread = (queue) => {
      for (const here of queue) for (const next of near.get(here)) if (!depth.has(next)) { depth.set(next, depth.get(here) + 1); queue.push(next); }
    };
    spread([...depth.keys()]);
    for (const n of nodes) if (!depth.has(n.id)) { depth.set(n.id, 1); spread([n.id]); } // what hangs on nothing that was asked about
    const columns = [];
    for (const n of nodes) (columns[depth.get(n.id) ?? 0] ??= []).push(n.id);
    const row = new Map();
    const settle = (column) => column.forEach((id, place) => row.set(id, place - (column.length - 1) / 2));
    columns.forEach(settle);
    const mean = (id) => near.get(id).reduce((sum, other) => sum + row.get(other), 0) / (near.get(id).length || 1);
    for (let sweep = 0; sweep < 6; sweep += 1)
      for (const column of sweep % 2 ? [...columns].reverse() : columns) { column.sort((one, other) => mean(one) - mean(other)); settle(column); }
    const rows = Math.max(...columns.map((column) => column.length));
    if (width >= 520) {
      const step = Math.max(columns.length > 1 ? (width - 150) / (columns.length - 1) : width, 190);
      return new Map(columns.flatMap((column, place) => column.map((id) => [id, { x: place * step, y: row.get(id) * 62 * (rows / Math.max(column.length, rows * 0.6)) }])));
    }
    // on a narrow screen the columns are rows, and a long row is broken
    const at = new Map();
    const fit = Math.max(Math.floor(width / 122), 2);
    let y = 0;
    for (const column of columns) {
      for (let from = 0; from < column.length; from += fit) {
        const part = column.slice(from, from + fit);
        part.forEach((id, place) => at.set(id, { x: (place - (part.length - 1) / 2) * (width - 24) / fit, y: y + (place % 2) * 14 }));
        y += 78;
      }
      y += 34;
    }
    return at;
  };

  // a concept stands in the middle with its neighbours left and right; on a narrow screen all to the right
  const sided = ({ nodes }, width) => {
    const centre = nodes.find((n) => n.seed);
    const others = nodes.filter((n) => n !== centre);
    const narrow = width < 520;
    const rows = narrow ? others.length : Math.ceil(others.length / 2);
    const reach = narrow ? width - 150 : Math.min(width / 2 - 80, 420);
    return new Map([[centre.id, { x: 0, y: 0 }], ...others.map((n, place) => {
      const left = place >= rows;
      const count = left ? others.length - rows : rows;
      return [n.id, { x: left ? -reach : reach, y: ((left ? place - rows : place) - (count - 1) / 2) * 54 }];
    })]);
  };

  // nothing was asked about: each connected part by forces, the parts in rows, the largest first
  const forced = ({ nodes, edges }, width) => {
    const part = new Map(nodes.map((n) => [n.id, [n]]));
    for (const { source, target } of edges) {
      const [one, other] = [part.get(source), part.get(target)];
      if (one !== other) { one.push(...other); for (const n of other) part.set(n.id, one); }
    }
    const parts = [...new Set(part.values())].sort((one, other) => other.length - one.length).map((some) => {
      const at = sprung({ nodes: some, edges: edges.filter((e) => part.get(e.source) === some) }, width);
      const [left, top] = [Math.min(...some.map((n) => at.get(n.id).x - n.wide / 2)), Math.min(...some.map((n) => at.get(n.id).y - n.high / 2))];
      const [right, bottom] = [Math.max(...some.map((n) => at.get(n.id).x + n.wide / 2)), Math.max(...some.map((n) => at.get(n.id).y + n.high / 2))];
      return { some, at, left, top, wide: right - left + 40, high: bottom - top + 40 };
    });
    const area = parts.reduce((sum, each) => sum + each.wide * each.high, 0);
    const row = Math.max(parts[0].wide, Math.sqrt(area * (width < 520 ? 0.7 : 1.9)));
    const found = new Map();
    let [x, y, high] = [0, 0, 0];
    for (const each of parts) {
      if (x && x + each.wide > row) [x, y, high] = [0, y + high, 0];
      for (const n of each.some) found.set(n.id, { x: each.at.get(n.id).x - each.left + x, y: each.at.get(n.id).y - each.top + y });
      [x, high] = [x + each.wide, Math.max(high, each.high)];
    }
    return found;
  };

  // forces between boxes that may not overlap
  const sprung = ({ nodes, edges }, width) => {
    const side = Math.sqrt(nodes.length) * 150;
    const at = new Map(nodes.map((n, i) => [n.id, { x: Math.cos(i * 2.4) * side * Math.sqrt(i / nodes.length), y: Math.sin(i * 2.4) * side * 0.6 * Math.sqrt(i / nodes.length), n }]));
    const all = [...at.values()];
    const rounds = nodes.length > 150 ? 120 : 300;
    for (let round = 0; round < rounds; round += 1) {
      const heat = 30 * (1 - round / rounds) + 1;
      for (const one of all) one.dx = one.dy = 0;
      all.forEach((one, i) => {
        for (let j = i + 1; j < all.length; j += 1) {
          const other = all[j];
          const [x, y] = [one.x - other.x || 0.1, one.y - other.y || 0.1];
          const far = x * x + y * y;
          let [px, py] = [x * 5000 / far, y * 5000 / far];
          const [ox, oy] = [(one.n.wide + other.n.wide) / 2 + 18 - Math.abs(x), (one.n.high + other.n.high) / 2 + 14 - Math.abs(y)];
          if (ox > 0 && oy > 0) { if (ox < oy * 2) px += Math.sign(x) * ox; else py += Math.sign(y) * oy; }
          one.dx += px / 12; one.dy += py / 12; other.dx -= px / 12; other.dy -= py / 12;
        }
        one.dx -= one.x * 0.012; one.dy -= one.y * (width < 520 ? 0.01 : 0.022);
      });
      for (const { source, target } of edges) {
        const [one, other] = [at.get(source), at.get(target)];
        const [x, y] = [other.x - one.x, other.y - one.y];
        const pull = (Math.hypot(x, y) - 100) * 0.04 / (Math.hypot(x, y) || 1);
        one.dx += x * pull; one.dy += y * pull; other.dx -= x * pull; other.dy -= y * pull;
      }
      for (const one of all) { const long = Math.hypot(one.dx, one.dy) || 1; one.x += one.dx / long * Math.min(long, heat); one.y += one.dy / long * Math.min(long, heat); }
    }
    for (let round = 0, moved = true; moved && round < 120; round += 1) { // what still lies on something else moves aside
      moved = false;
      all.forEach((one, i) => all.slice(i + 1).forEach((other) => {
        const [x, y] = [one.x - other.x, one.y - other.y];
        const [ox, oy] = [(one.n.wide + other.n.wide) / 2 + 8 - Math.abs(x), (one.n.high + other.n.high) / 2 + 8 - Math.abs(y)];
        if (ox <= 0 || oy <= 0) return;
        moved = true;
        if (ox < oy) { one.x += Math.sign(x || 1) * ox / 2; other.x -= Math.sign(x || 1) * ox / 2; } else { one.y += Math.sign(y || 1) * oy / 2; other.y -= Math.sign(y || 1) * oy / 2; }
      }));
    }
    return at;
  };

  // where the line from the middle of a box leaves it
  const border = (node, from, to, room) => {
    const [x, y] = [to.x - from.x, to.y - from.y];
    const scale = Math.min((node.wide / 2 + room) / (Math.abs(x) || 0.01), (node.high / 2 + room) / (Math.abs(y) || 0.01), 1);
    return { x: from.x + x * scale, y: from.y + y * scale };
  };

  const drawn = (figure, data, at) => {
    const stage = figure.querySelector(".graph-stage");
    const nodes = new Map(data.nodes.map((n) => [n.id, n]));
    const beside = new Map();
    const narrow = stage.clientWidth < 520;
    const made = data.edges.map((e) => {
      const pair = [e.source, e.target].sort().join(" ");
      const turn = beside.get(pair) || 0; // several claims about the same two things curve apart
      beside.set(pair, turn + 1);
      const [a, b] = [at.get(e.source), at.get(e.target)];
      const [from, to] = [border(nodes.get(e.source), a, b, 1), border(nodes.get(e.target), b, a, 5)];
      const long = Math.hypot(to.x - from.x, to.y - from.y) || 1;
      const bend = (turn % 2 ? -1 : 1) * Math.ceil(turn / 2) * 26;
      const middle = { x: (from.x + to.x) / 2 - (to.y - from.y) / long * bend, y: (from.y + to.y) / 2 + (to.x - from.x) / long * bend };
      const word = narrow ? number(e.confidence) : `${e.label} ${number(e.confidence)}`;
      const line = svg("path", { class: "g-line", d: `M${from.x.toFixed(1)} ${from.y.toFixed(1)}Q${middle.x.toFixed(1)} ${middle.y.toFixed(1)} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`, "marker-end": "url(#g-head)", "stroke-width": (1 + 2.4 * Math.max(e.confidence, 0)).toFixed(2) });
      const [x, y, wide] = [(from.x + 2 * middle.x + to.x) / 4, (from.y + 2 * middle.y + to.y) / 4, measured(word.trim()) * 0.85 + 6];
      const words = [svg("rect", { x: (x - wide / 2).toFixed(1), y: (y - 8).toFixed(1), width: wide.toFixed(1), height: 16, rx: 4 }), svg("text", { x: x.toFixed(1), y: (y + 3.5).toFixed(1) }, word.trim())];
      const named = `${nodes.get(e.source).label} → ${nodes.get(e.target).label}: ${e.label} ${number(e.confidence)}`;
      return svg("a", { class: `g-edge level-${level(e.confidence)}${e.opened === false ? " unopened" : ""}`, href: e.href, "data-claim": e.id, "data-ends": `${e.source} ${e.target}`, "aria-label": named }, line, ...words);
    });
    for (const n of data.nodes) {
      const { x, y } = at.get(n.id);
      const text = svg("text", {}, ...n.text.map((line, i) => svg("tspan", { x: x.toFixed(1), y: (y + 4.5 + (i - (n.text.length - 1) / 2) * 18).toFixed(1) }, line)));
      const box = svg("rect", { x: (x - n.wide / 2).toFixed(1), y: (y - n.high / 2).toFixed(1), width: n.wide.toFixed(1), height: n.high, rx: { person: n.high / 2, complaint: 2, medicine: 11 }[n.look] ?? 7 });
      made.push(svg(n.href ? "a" : "g", { class: `g-node ${n.look}${n.seed ? " seed" : ""}`, href: n.href || undefined, "data-node": n.id, "aria-label": n.href && !n.text.at(-1).endsWith("…") ? n.label : undefined }, box, text));
    }
    const xs = data.nodes.flatMap((n) => [at.get(n.id).x - n.wide / 2, at.get(n.id).x + n.wide / 2]);
    const ys = data.nodes.flatMap((n) => [at.get(n.id).y - n.high / 2, at.get(n.id).y + n.high / 2]);
    const whole = [Math.min(...xs) - 12, Math.min(...ys) - 12, Math.max(...xs) - Math.min(...xs) + 24, Math.max(...ys) - Math.min(...ys) + 24];
    const head = svg("defs", {}, svg("marker", { id: "g-head", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8Z" })));
    const picture = svg("svg", { viewBox: whole.join(" "), role: "group", "aria-label": stage.dataset.title }, head, ...made);
    const scale = Math.min(stage.clientWidth / whole[2], 1.15);
    stage.replaceChildren(picture);
    stage.style.height = `${Math.min(Math.max(whole[3] * scale, 150), 820)}px`;
    return { picture, whole };
  };

  // zoom by changing the window; drag where there is a mouse
  const movable = (figure, state) => {
    const stage = figure.querySelector(".graph-stage");
    const set = (box) => { state.box = box; state.picture.setAttribute("viewBox", box.join(" ")); };
    const zoom = (by) => { const [x, y, w, h] = state.box; set([x + w * (1 - 1 / by) / 2, y + h * (1 - 1 / by) / 2, w / by, h / by]); };
    for (const button of figure.querySelectorAll("[data-zoom]")) button.onclick = () => zoom(Number(button.dataset.zoom));
    figure.querySelector("[data-fit]").onclick = () => set(state.whole);
    stage.onpointerdown = (down) => {
      if (down.pointerType !== "mouse" || state.box[2] >= state.whole[2]) return;
      const [x, y, w, h] = state.box;
      stage.onpointermove = (move) => set([x - (move.clientX - down.clientX) * w / stage.clientWidth, y - (move.clientY - down.clientY) * h / stage.clientHeight, w, h]);
      addEventListener("pointerup", () => { stage.onpointermove = null; }, { once: true });
    };
  };

  // the claims that the page of a thing draws around it
  const grown = async (data, iri) => {
    const reply = await fetch(iri.replace("https://w3id.org/shiyi/id/", "/page/"), { headers: { Accept: "text/html" } });
    if (!reply.ok) throw new Error(reply.statusText);
    const there = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("[data-around] script");
    const around = there ? JSON.parse(there.textContent) : { nodes: [], edges: [] };
    const edges = new Map(data.edges.map((e) => [e.id, e]));
    for (const e of around.edges.filter((each) => !edges.has(each.id)).slice(0, 8)) edges.set(e.id, e);
    const ends = new Set([...edges.values()].flatMap((e) => [e.source, e.target]));
    const nodes = new Map(data.nodes.map((n) => [n.id, n]));
    for (const n of around.nodes) if (ends.has(n.id) && !nodes.has(n.id)) nodes.set(n.id, sized({ ...n, seed: false }));
    return { nodes: [...nodes.values()], edges: [...edges.values()] };
  };

  const draw = (figure) => {
    const stage = figure.querySelector(".graph-stage");
    const caption = figure.querySelector(".graph-caption");
    const all = JSON.parse(figure.querySelector("script").textContent);
    const most = stage.clientWidth < 520 && all.nodes.some((n) => n.seed) ? 10 : Infinity;
    const some = new Set(all.nodes.slice(0, most).map((n) => n.id));
    let data = { nodes: all.nodes.filter((n) => some.has(n.id)).map(sized), edges: all.edges.filter((e) => some.has(e.source) && some.has(e.target)) };
    const layout = () => (!data.nodes.some((n) => n.seed) || data.grown ? forced : "around" in figure.dataset ? sided : layered)(data, stage.clientWidth);
    const state = {};
    const show = () => {
      Object.assign(state, drawn(figure, data, layout()));
      state.box = state.whole;
      for (const each of figure.querySelectorAll("[data-look]")) each.hidden = !data.nodes.some((n) => n.look === each.dataset.look);
    };
    show();
    movable(figure, state);
    const choose = (id) => {
      const near = new Set([id]);
      for (const edge of state.picture.querySelectorAll(".g-edge")) {
        const ends = edge.dataset.ends.split(" ");
        edge.classList.toggle("lit", ends.includes(id));
        if (ends.includes(id)) for (const end of ends) near.add(end);
      }
      for (const node of state.picture.querySelectorAll(".g-node")) node.classList.toggle("lit", near.has(node.dataset.node));
      state.picture.classList.add("choosing");
    };
    stage.addEventListener("click", (event) => {
      const node = event.target.closest(".g-node");
      if (!node) { if (!event.target.closest("a")) { state.picture.classList.remove("choosing"); caption.textContent = figure.dataset.help; } return; }
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const id = node.dataset.node;
      choose(id);
      const open = document.createElement("a");
      open.textContent = data.nodes.find((n) => n.id === id).label;
      open.href = node.getAttribute("href") || "#";
      const more = document.createElement("button");
      more.type = "button";
      more.className = "chip small";
      more.textContent = figure.dataset.more;
      more.addEventListener("click", async () => {
        more.disabled = true;
        try { data = { ...await grown(data, id), grown: true }; show(); choose(id); } catch { caption.textContent = document.body.dataset.lost; }
        more.disabled = false;
      });
      caption.replaceChildren(open, " ", ...(id.startsWith("https://w3id.org/shiyi/id/") ? [more] : []));
    });
    let width = stage.clientWidth;
    new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 40) { width = stage.clientWidth; show(); } }).observe(stage);
    figure.dataset.drawn = "yes";
  };
  window.shiyiDraw = draw;
})();
