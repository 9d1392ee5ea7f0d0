// Draws a graph of claims with Cytoscape; the list beside it says the same to everyone.
"use strict";
(() => {
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const LOOKS = {
    food: ["--leaf-wash", "--leaf", "round-rectangle"], person: ["--amber-wash", "--amber", "ellipse"],
    complaint: ["--clay-wash", "--clay", "cut-rectangle"], medicine: ["--blue-wash", "--blue", "barrel"],
    other: ["--sunken", "--soft", "round-rectangle"],
  };
  const sure = (value) => (value < 0 ? token("--soft") : token(`--sure-${value >= 0.9 ? 5 : value >= 0.8 ? 4 : value >= 0.65 ? 3 : value >= 0.45 ? 2 : 1}`));
  const number = (value) => (value < 0 ? "" : value.toFixed(2)); // below nothing: none is said
  const pen = document.createElement("canvas").getContext("2d");
  const font = () => getComputedStyle(document.body).fontFamily;
  const measured = (text) => { pen.font = `13px ${font()}`; return pen.measureText(text).width; };
  const wide = (text) => Math.min(measured(text), 118) + 26;
  const high = (text) => Math.max(34, 14 + 16 * Math.ceil(measured(text) / 104)); // lines end before they are full

  // the library would add an inline style of its own; our style sheet already says the same
  if (!document.getElementById("__________cytoscape_stylesheet")) {
    const stand = document.createElement("meta");
    stand.id = "__________cytoscape_stylesheet";
    document.head.append(stand);
  }

  const looks = (narrow) => [
    { selector: "node", style: {
      label: "data(label)", "font-family": font(), "font-size": 13, color: token("--ink"), "text-valign": "center", "text-halign": "center",
      "text-wrap": "wrap", "text-overflow-wrap": (n) => (/[\u3400-\u9fff]/.test(n.data("label")) ? "anywhere" : "whitespace"), "text-max-width": 118, width: (n) => wide(n.data("label")), height: (n) => (measured(n.data("label")) > 118 ? high(n.data("label")) : 34),
      "background-color": (n) => token(LOOKS[n.data("look")][0]), "border-color": (n) => token(LOOKS[n.data("look")][1]),
      "border-width": (n) => (n.data("seed") ? 3 : 1.2), shape: (n) => LOOKS[n.data("look")][2] } },
    { selector: "edge", style: {
      "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": 0.9, width: (e) => 1 + 2.4 * Math.max(e.data("confidence"), 0),
      "line-color": (e) => sure(e.data("confidence")), "target-arrow-color": (e) => sure(e.data("confidence")),
      label: (e) => (narrow ? number(e.data("confidence")) : `${e.data("label")} ${number(e.data("confidence"))}`), "font-size": 10.5, "font-family": font(), color: token("--soft"),
      "text-rotation": "autorotate", "text-background-color": token("--raised"), "text-background-opacity": 0.92, "text-background-padding": 2 } },
    { selector: ".faded", style: { opacity: 0.22 } },
    { selector: ":selected", style: { "border-width": 3, "overlay-opacity": 0.08, "overlay-color": token("--clay") } },
  ];

  // columns by distance from what was asked; rows follow their neighbours, so that lines cross little
  const layered = (data, width) => {
    const near = new Map(data.nodes.map((n) => [n.id, []]));
    for (const e of data.edges) { near.get(e.source).push(e.target); near.get(e.target).push(e.source); }
    const depth = new Map(data.nodes.filter((n) => n.seed).map((n) => [n.id, 0]));
    for (const queue = [...depth.keys()]; queue.length;) {
      const here = queue.shift();
      for (const next of near.get(here)) if (!depth.has(next)) { depth.set(next, depth.get(here) + 1); queue.push(next); }
    }
    const columns = [];
    for (const n of data.nodes) (columns[depth.get(n.id) ?? 0] ??= []).push(n.id);
    const row = new Map();
    const settle = (column) => column.forEach((id, place) => row.set(id, place - (column.length - 1) / 2));
    columns.forEach(settle);
    for (let sweep = 0; sweep < 6; sweep += 1)
      for (const column of sweep % 2 ? [...columns].reverse() : columns) {
        const mean = (id) => near.get(id).reduce((sum, other) => sum + row.get(other), 0) / (near.get(id).length || 1);
        column.sort((one, other) => mean(one) - mean(other));
        settle(column);
      }
    const rows = Math.max(...columns.map((column) => column.length));
    const step = Math.max(columns.length > 1 ? (width - 150) / (columns.length - 1) : width, 128);
    const at = new Map();
    columns.forEach((column, place) => column.forEach((id) => at.set(id, { x: place * step, y: row.get(id) * 58 * (rows / Math.max(column.length, rows * 0.6)) })));
    return { at, rows };
  };

  // a concept stands in the middle with its neighbours left and right; on a narrow screen all to the right
  const sided = (data, width) => {
    const centre = data.nodes.find((n) => n.seed);
    const others = data.nodes.filter((n) => n !== centre);
    const rows = width < 520 ? others.length : Math.ceil(others.length / 2);
    const at = new Map([[centre.id, { x: 0, y: 0 }]]);
    const reach = width < 520 ? width - 170 : width / 2 - 90;
    others.forEach((n, place) => {
      const left = place >= rows;
      const count = left ? others.length - rows : rows;
      at.set(n.id, { x: left ? -reach : reach, y: ((left ? place - rows : place) - (count - 1) / 2) * 50 });
    });
    return { at, rows: rows * 0.84 };
  };

  // nothing was asked about: each connected part as a tree with its best connected thing in the middle,
  // branches to the left and right, the parts side by side in rows as wide as the screen
  const branched = (data, width) => {
    const near = new Map(data.nodes.map((n) => [n.id, new Set()]));
    for (const e of data.edges) if (e.source !== e.target) { near.get(e.source).add(e.target); near.get(e.target).add(e.source); }
    const seen = new Set();
    const parts = [];
    for (const { id: root } of [...data.nodes].sort((one, other) => near.get(other.id).size - near.get(one.id).size)) {
      if (seen.has(root)) continue;
      seen.add(root);
      const below = new Map();
      const queue = [root];
      for (const here of queue) {
        below.set(here, [...near.get(here)].filter((id) => !seen.has(id)));
        for (const id of below.get(here)) { seen.add(id); queue.push(id); }
      }
      const leaves = (id) => below.get(id).reduce((sum, each) => sum + leaves(each), 0) || 1;
      const at = new Map([[root, { x: 0, y: 0 }]]);
      const sides = [[], []];
      const heavy = [0, 0];
      for (const id of below.get(root)) { const side = heavy[0] <= heavy[1] ? 0 : 1; sides[side].push(id); heavy[side] += leaves(id); }
      sides.forEach((ids, side) => {
        let row = -heavy[side] / 2;
        const place = (id, depth) => {
          const first = row;
          if (below.get(id).length) for (const each of below.get(id)) place(each, depth + 1); else row += 1;
          at.set(id, { x: (side ? -1 : 1) * depth * 215, y: ((first + row) / 2) * 58 });
        };
        for (const id of ids) place(id, 1);
      });
      const xs = [...at.values()].map((each) => each.x);
      parts.push({ at, left: Math.min(...xs), wide: Math.max(...xs) - Math.min(...xs) + 170, high: Math.max(...heavy, 1) * 58 + 30 });
    }
    const at = new Map();
    const room = Math.max(width * 1.1, ...parts.map((part) => part.wide));
    let [x, y, row] = [0, 0, 0];
    for (const part of parts.sort((one, other) => other.high - one.high)) {
      if (x && x + part.wide > room) { x = 0; y += row; row = 0; }
      for (const [id, place] of part.at) at.set(id, { x: x + place.x - part.left, y: y + place.y + part.high / 2 });
      x += part.wide;
      row = Math.max(row, part.high);
    }
    return { at, rows: (y + row) / 60 };
  };

  const some = ({ nodes, edges }, most) => {
    const kept = new Set(nodes.slice(0, most).map((n) => n.id));
    return { nodes: nodes.filter((n) => kept.has(n.id)), edges: edges.filter((e) => kept.has(e.source) && kept.has(e.target)) };
  };

  const draw = (figure) => {
    const stage = figure.querySelector(".graph-stage");
    const said = figure.querySelector(".graph-said");
    const around = "around" in figure.dataset;
    const data = some(JSON.parse(figure.querySelector("script").textContent), around && stage.clientWidth < 520 ? 11 : Infinity);
    const narrow = stage.clientWidth < 520;
    const free = !data.nodes.some((n) => n.seed); // nothing was asked about: branches, or forces where there are too many lines
    const sparse = data.edges.length <= data.nodes.length * 1.3 && data.nodes.length <= 90;
    const { at, rows } = !free ? (around ? sided : layered)(data, stage.clientWidth) : sparse ? branched(data, stage.clientWidth) : { rows: Math.sqrt(data.nodes.length) * 1.7 };
    stage.style.height = `${Math.min(Math.max(rows * 60 + 70, 220), free ? 860 : 720)}px`;
    const spread = { name: "cose", animate: false, randomize: false, nodeRepulsion: () => 60000, idealEdgeLength: () => 110, nodeOverlap: 24, componentSpacing: 60, numIter: data.nodes.length > 120 ? 250 : 700, padding: 20 };
    const graph = cytoscape({
      container: stage, elements: { nodes: data.nodes.map((n) => ({ data: n })), edges: data.edges.map((e) => ({ data: e })) },
      style: looks(narrow), layout: free && !sparse ? spread : { name: "preset", positions: (n) => at.get(n.id()), padding: 20 }, minZoom: 0.08, maxZoom: 2.5, hideEdgesOnViewport: data.nodes.length > 120, textureOnViewport: data.nodes.length > 120, userZoomingEnabled: false, boxSelectionEnabled: false,
      userPanningEnabled: matchMedia("(hover: hover)").matches, autoungrabify: !matchMedia("(hover: hover)").matches,
    });
    if (free && !sparse) { // forces know nothing of the screen: its longer side is for the longer side
      const box = graph.elements().boundingBox();
      if ((box.w > box.h) !== (stage.clientWidth > stage.clientHeight)) graph.nodes().positions((n) => ({ x: n.position("y") * 1.4, y: n.position("x") }));
      graph.fit(undefined, 14);
    }
    const link = (href, text) => { const a = document.createElement("a"); a.href = href; a.textContent = text; return a; };
    graph.on("tap", "edge", ({ target }) => {
      const named = (id) => graph.getElementById(id).data("label");
      said.replaceChildren(`${named(target.data("source"))} · ${target.data("label")} · ${named(target.data("target"))} ${target.data("confidence") < 0 ? "" : `— ${figure.dataset.sure} ${number(target.data("confidence"))}`} `, target.data("href") ? link(target.data("href"), figure.dataset.open) : "");
    });
    graph.on("tap", "node", ({ target }) => {
      graph.elements().removeClass("faded").difference(target.closedNeighborhood()).addClass("faded");
      said.replaceChildren(target.data("href") ? link(target.data("href"), target.data("label")) : target.data("label"));
    });
    graph.on("tap", ({ target }) => { if (target === graph) { graph.elements().removeClass("faded"); said.textContent = figure.dataset.help; } });
    for (const button of figure.querySelectorAll("[data-zoom]"))
      button.addEventListener("click", () => graph.zoom({ level: graph.zoom() * Number(button.dataset.zoom), renderedPosition: { x: stage.clientWidth / 2, y: stage.clientHeight / 2 } }));
    figure.querySelector("[data-fit]").addEventListener("click", () => graph.fit(undefined, 14));
    new ResizeObserver(() => { graph.resize(); graph.fit(undefined, 14); }).observe(stage);
    for (const change of [matchMedia("(prefers-color-scheme: dark)")]) change.addEventListener("change", () => graph.style(looks(narrow)));
    addEventListener("shiyi:theme", () => graph.style(looks(narrow)));
    figure.dataset.drawn = "yes";
  };
  window.shiyiDraw = draw;
})();
