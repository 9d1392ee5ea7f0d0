// The query page: an editor with completion, running without leaving the page, other views of the results.
"use strict";
(() => {
  const form = document.querySelector("[data-sparql]");
  const area = form.querySelector("textarea");
  const clock = form.querySelector("[data-clock]");
  const cancel = form.querySelector("[data-cancel]");
  const stored = (id) => JSON.parse(document.getElementById(id)?.textContent || "{}");
  const prefixes = stored("query-prefixes");

  // completion: terms of the vocabulary and prefixes from the endpoint, things by their names
  const TERMS = `SELECT ?term (COUNT(*) AS ?n) WHERE { { ?s ?term ?o } UNION { ?s a ?term } } GROUP BY ?term ORDER BY DESC(?n) LIMIT 400`;
  const short = (iri) => {
    const [prefix, base] = Object.entries(prefixes).find(([, each]) => iri.startsWith(each) && iri.length > each.length) || [];
    return prefix ? `${prefix}:${iri.slice(base.length)}` : `<${iri}>`;
  };
  let known;
  const terms = () => (known ??= fetch(`/sparql?query=${encodeURIComponent(TERMS)}&format=json`)
    .then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(reply.statusText))))
    .then((reply) => reply.results.bindings.map((row) => short(row.term.value)), () => { known = undefined; return []; }));
  const things = async (words) => {
    if (!words) return [];
    const reply = await fetch(`/api/complete?limit=20&q=${encodeURIComponent(words)}`);
    return reply.ok ? (await reply.json()).completions.map((each) => ({ text: short(each.iri), shown: `${each.label} · ${short(each.iri)}` })) : [];
  };
  // a word before the cursor: ?variable, prefix:name, or the beginning of either
  const atCursor = (editor) => {
    const cursor = editor.getDoc().getCursor();
    const before = editor.getDoc().getLine(cursor.line).slice(0, cursor.ch);
    const [word] = before.match(/[?$]?[\p{L}\p{N}_-]*(?::[\p{L}\p{N}_.-]*)?$/u);
    return { word, from: { line: cursor.line, ch: cursor.ch - word.length }, to: cursor, heading: /^\s*PREFIX\s+[\w-]*:?$/i.test(before) };
  };
  const proposals = async (editor, { word, heading }) => {
    if (heading) return Object.entries(prefixes).map(([name, base]) => `${name}: <${base}>`);
    if (/^[?$]/.test(word)) return [...new Set(editor.getDoc().getValue().match(/[?$][\p{L}_][\p{L}\p{N}_]*/gu))].filter((each) => each !== word);
    if (word.startsWith("id:") || /[^\x00-\x7f]/.test(word)) return things(word.replace(/^id:/, ""));
    return [...await terms(), ...Object.keys(prefixes).map((name) => `${name}:`)];
  };
  const hint = async (editor) => {
    const place = atCursor(editor);
    const begun = place.word.toLowerCase();
    const fits = (each) => typeof each !== "string" || place.heading || each.toLowerCase().startsWith(begun) || (begun.length > 2 && each.toLowerCase().includes(begun));
    const list = (await proposals(editor, place)).filter(fits).slice(0, 40);
    return { from: place.from, to: place.to, list: list.map((each) => (typeof each === "string" ? { text: each, displayText: each } : { text: each.text, displayText: each.shown })) };
  };
  const declared = (editor) => {
    const text = editor.getDoc().getValue();
    const missing = [...new Set([...text.replace(/<[^<>\s]*>|"[^"\n]*"|#[^\n]*/g, " ").matchAll(/(?:^|[\s({|^/!])([a-z]\w*):(?=[\p{L}_])/gu)].map((each) => each[1]))]
      .filter((name) => prefixes[name] && !new RegExp(`PREFIX\\s+${name}:`, "i").test(text));
    if (missing.length) editor.getDoc().replaceRange(missing.map((name) => `PREFIX ${name}: <${prefixes[name]}>\n`).join(""), { line: 0, ch: 0 });
  };

  let editor;
  if (window.Yasqe) {
    const Yasqe = window.Yasqe.default || window.Yasqe;
    const place = document.createElement("div");
    place.className = "yasqe-place";
    area.after(place);
    editor = new Yasqe(place, {
      value: area.value, persistenceId: null, consumeShareLink: null, createShareableLink: null, showQueryButton: false, resizeable: false, autocompleters: [],
      editorHeight: "19rem", inputStyle: "contenteditable", // what is edited can be read and scrolled by every aid
      syntaxErrorCheck: false, // its grammar is that of SPARQL 1.1; the server names the place of a fault
      hintConfig: { hint, completeSingle: false }, pluginButtons: () => document.createElement("span"),
      extraKeys: {
        "Ctrl-Space": (here) => here.showHint({ hint, completeSingle: false, closeCharacters: /[\s>"]/ }), "Ctrl-/": (here) => here.commentLines(),
        "Ctrl-Enter": () => form.requestSubmit(), "Cmd-Enter": () => form.requestSubmit(), Tab: false, "Shift-Tab": false, // Tab leaves the field
      },
    });
    area.hidden = true;
    area.required = false; // a field that is not shown cannot be asked to be filled
    const input = editor.getInputField();
    for (const [name, value] of Object.entries({ role: "textbox", "aria-multiline": "true" })) input.setAttribute(name, value);
    input.setAttribute("aria-label", document.getElementById("query-label").textContent);
    form.querySelector("[data-keys]").hidden = false;
    document.getElementById("query-label").addEventListener("click", (event) => { event.preventDefault(); editor.focus(); });
    editor.on("change", () => { area.value = editor.getDoc().getValue(); });
    editor.on("inputRead", (here, change) => {
      if (/[:?\w\u3400-\u9fff]$/.test(change.text[0]) && !here.state.completionActive && atCursor(here).word.includes(":")) here.showHint({ hint, completeSingle: false, closeCharacters: /[\s>"]/ });
    });
    editor.on("endCompletion", () => declared(editor));
  } else {
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
    });
  }
  const write = (text) => { if (editor) editor.getDoc().setValue(text); area.value = text; };
  window.shiyiQuery = { read: () => area.value, write, run: () => form.requestSubmit() }; // for the workbench

  const picker = form.querySelector("[data-examples]");
  const texts = stored("example-queries");
  if (picker) {
    picker.hidden = false;
    picker.addEventListener("change", () => { if (texts[picker.value]) write(texts[picker.value]); });
  }

  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
        const rows = [...body.rows].sort((a, b) => order.compare(a.cells[column].textContent, b.cells[column].textContent));
        body.append(...(up ? rows : rows.reverse()));
      });
    });
  };

  // table, graph and chart as tabs; without scripts they stand below each other
  const tabbed = (box) => {
    const views = [...box.children];
    if (views.length < 2) return;
    const list = document.createElement("div");
    list.className = "view-tabs";
    list.setAttribute("role", "tablist");
    const choose = (chosen, focus) => tabs.forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(place === chosen));
      tab.tabIndex = place === chosen ? 0 : -1;
      views[place].hidden = place !== chosen;
      if (place === chosen && focus) tab.focus();
    });
    const tabs = views.map((view, place) => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.id = `view-tab-${place}`;
      tab.textContent = view.dataset.title;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", (view.id = `view-${place}`));
      view.setAttribute("role", "tabpanel");
      view.setAttribute("aria-labelledby", tab.id);
      tab.addEventListener("click", () => choose(place));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) { event.preventDefault(); choose((place + step + tabs.length) % tabs.length, true); }
      });
      return tab;
    });
    list.append(...tabs);
    box.prepend(list);
    choose(0);
  };

  // what is seen, in its order, as a file: a link's address rather than the words that stand for it
  const shownRows = (root) => [...root.querySelector("[data-sortable]").tBodies[0].rows].filter((row) => !row.hidden);
  const valueOf = (cell) => cell.dataset.value ?? cell.querySelector(".sure-number")?.textContent ?? cell.textContent.trim().replace(/\s+/g, " ");
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csvOf = (root) => {
    const head = [...root.querySelector("[data-sortable]").tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    return [head, ...shownRows(root).map((row) => [...row.cells].map(valueOf))].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
  };
  const save = (name, text) => {
    const made = document.createElement("a");
    made.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    made.download = name;
    made.click();
    setTimeout(() => URL.revokeObjectURL(made.href), 1000);
  };

  const dress = (root) => {
    for (const table of root.querySelectorAll("[data-sortable]")) sortable(table);
    for (const field of root.querySelectorAll("[data-narrow]")) {
      field.parentElement.hidden = false;
      field.addEventListener("input", () => {
        const words = field.value.toLowerCase();
        for (const row of root.querySelector("[data-sortable]").tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(words);
        const left = field.parentElement.querySelector("[data-left]");
        left.textContent = words ? String(shownRows(root).length) : "";
      });
      field.parentElement.querySelector("[data-seen]").addEventListener("click", () => save("shiyi.csv", csvOf(root)));
    }
    for (const box of root.querySelectorAll("[data-views]")) tabbed(box);
    for (const button of root.querySelectorAll("[data-copy-address]")) { button.hidden = !navigator.clipboard; button.addEventListener("click", () => copied(button, location.href)); }
  };
  dress(document);

  // running: the clock counts, and it can be cancelled
  let running;
  const finish = (text) => { clearInterval(running?.ticking); running = undefined; cancel.hidden = true; clock.textContent = text; };
  cancel.addEventListener("click", () => { running?.stop.abort(); finish(form.dataset.cancelled); });
  const show = (page) => {
    const made = new DOMParser().parseFromString(page, "text/html").querySelector("[data-outcome]");
    if (!made) return false;
    const old = document.querySelector("[data-outcome]");
    old.replaceWith(made); // our own page, made from the same template
    enhance(made);
    dress(made);
    made.querySelector("h2")?.scrollIntoView({ block: "nearest" });
    dispatchEvent(new Event("shiyi:shown"));
    return true;
  };
  form.addEventListener("submit", async (event) => {
    if (!area.value.trim()) { event.preventDefault(); editor?.focus(); return; }
    event.preventDefault();
    if (editor) declared(editor); // prefixes that this site knows need not be typed
    dispatchEvent(new CustomEvent("shiyi:query", { detail: area.value }));
    running?.stop.abort();
    clearInterval(running?.ticking);
    const mine = running = { stop: new AbortController() };
    const address = `/sparql?${new URLSearchParams(new FormData(form))}`;
    const begun = performance.now();
    cancel.hidden = false;
    clock.textContent = form.dataset.running;
    mine.ticking = setInterval(() => { clock.textContent = `${form.dataset.running} ${((performance.now() - begun) / 1000).toFixed(1)} s`; }, 200);
    try {
      const reply = await fetch(address, { headers: { Accept: "text/html" }, signal: mine.stop.signal });
      const page = await reply.text();
      if (mine !== running) return;
      if (!show(page)) { location.href = address; return; }
      history.pushState({}, "", address);
      finish("");
    } catch (fault) {
      if (fault.name !== "AbortError" && mine === running) finish(document.body.dataset.lost);
    }
  });
  addEventListener("popstate", () => location.reload());
})();
