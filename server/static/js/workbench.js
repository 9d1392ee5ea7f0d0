// Tabs, history and saved queries of the query page; all of it stays in this browser.
"use strict";
(() => {
  const KEY = "shiyi:queries";
  const query = window.shiyiQuery;
  const bar = document.querySelector("[data-tabs]");
  const box = document.querySelector("[data-workbench]");
  if (!query || !bar) return;
  const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) || {}; } catch { return {}; } };
  const state = { tabs: [], at: 0, saved: [], history: [], ...read() };
  const keep = () => { try { localStorage.setItem(KEY, JSON.stringify(state)); } catch { /* not stored */ } };
  const named = (text) => { // by its first comment, in the language of the page, or by what it asks
    const words = (text.match(/^#\s*(.+)/)?.[1] || text.replace(/PREFIX\s[^>]*>/gi, "").trim().replace(/\s+/g, " ") || bar.dataset.name).split(" / ");
    return (words[document.documentElement.lang.startsWith("zh") ? 1 : 0] || words[0]).slice(0, 28);
  };
  const asked = new URLSearchParams(location.search).has("query");
  if (!state.tabs.length) state.tabs = [query.read()];
  if (asked && state.tabs[state.at] !== query.read()) { // an address opens a tab of its own
    const there = state.tabs.indexOf(query.read());
    if (there >= 0) state.at = there; else { state.tabs.push(query.read()); state.at = state.tabs.length - 1; }
  } else query.write(state.tabs[state.at] ?? query.read());

  const button = (text, act, values = {}) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    made.addEventListener("click", act);
    return made;
  };
  const store = () => { state.tabs[state.at] = query.read(); };
  const show = () => {
    bar.hidden = box.hidden = false;
    const choose = (place) => { store(); state.at = place; query.write(state.tabs[place]); keep(); show(); bar.querySelector('[aria-selected="true"]').focus(); };
    const tabs = state.tabs.map((text, place) => button(named(text), () => choose(place), { role: "tab", "aria-selected": String(place === state.at), "aria-controls": "query", tabindex: place === state.at ? 0 : -1 }));
    tabs.forEach((tab, place) => tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); choose((place + step + tabs.length) % tabs.length); }
      else if (event.key === "Delete" && tabs.length > 1) close();
    }));
    bar.replaceChildren(...tabs);
    tools.replaceChildren(
      button("+", () => { store(); state.tabs.push(""); state.at = state.tabs.length - 1; query.write(""); keep(); show(); }, { "aria-label": bar.dataset.new, title: bar.dataset.new, class: "chip small" }),
      ...(state.tabs.length > 1 ? [button("×", () => close(), { "aria-label": bar.dataset.close, title: bar.dataset.close, class: "chip small" })] : []),
    );
    for (const list of box.querySelectorAll("[data-list]")) list.replaceChildren(...state[list.dataset.list].map((text, place) => {
      const item = document.createElement("li");
      item.append(button(named(text), () => { store(); query.write(text); store(); keep(); show(); }, { class: "link" }));
      if (list.dataset.list === "saved") item.append(button("×", () => { state.saved.splice(place, 1); keep(); show(); }, { "aria-label": bar.dataset.close, class: "chip small" }));
      return item;
    }));
  };
  const close = () => { state.tabs.splice(state.at, 1); state.at = Math.max(0, state.at - 1); query.write(state.tabs[state.at]); keep(); show(); };
  const tools = document.createElement("span");
  tools.className = "tab-tools";
  bar.after(tools);
  addEventListener("shiyi:query", ({ detail }) => { store(); state.history = [detail, ...state.history.filter((each) => each !== detail)].slice(0, 30); keep(); show(); });
  addEventListener("pagehide", () => { store(); keep(); });
  box.querySelector("[data-save-query]").addEventListener("click", () => { state.saved = [query.read(), ...state.saved.filter((each) => each !== query.read())].slice(0, 100); keep(); show(); });
  box.querySelector("[data-forget-queries]").addEventListener("click", () => { state.history = []; keep(); show(); });
  box.querySelector("[data-explore]").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = event.target.elements.id.value.trim();
    if (!/^[\w./-]+$/.test(name)) return;
    store();
    query.write(`SELECT ?claim ?s ?p ?o ?confidence WHERE {\n  VALUES ?thing { id:${name} }\n  { ?thing ?p ?o . BIND(?thing AS ?s) } UNION { ?s ?p ?thing . BIND(?thing AS ?o) }\n  ?claim rdf:reifies <<( ?s ?p ?o )>> ; shiyi:confidence ?confidence ; shiyi:status shiyi:accepted FILTER(ISIRI(?o))\n} ORDER BY DESC(?confidence) LIMIT 14`);
    query.run();
    addEventListener("shiyi:shown", () => document.querySelectorAll(".view-tabs button")[1]?.click(), { once: true });
  });
  show();
})();
