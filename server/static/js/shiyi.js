// Enhancements only: every page works without them.
"use strict";

const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// light and dark
for (const button of $$("[data-theme-switch]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* not stored, still shown */ }
    dispatchEvent(new Event("shiyi:theme"));
  });
}

// a citation mark opens its claim
const openTarget = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let above = target.querySelector("details") || target.closest("details"); above; above = above.parentElement?.closest("details")) above.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();

// completion: a listbox under the field, by arrow keys, mouse or touch
const lastWord = (text) => text.split(/[\s,，、;；。？?！!]+/).pop();

class Completion {
  constructor(field) {
    this.field = field;
    this.opens = field.dataset.complete === "open";
    this.names = field.dataset.complete === "id"; // the field takes one identifier
    this.whole = this.opens || field.dataset.complete === "whole"; // the field takes one name
    this.kinds = field.dataset.kinds?.split(" ");
    this.list = document.createElement("ul");
    this.list.className = "suggestions";
    this.list.id = `suggest-${field.id || field.name}`;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", field.labels?.[0]?.textContent.trim() || field.name);
    this.list.hidden = true;
    field.after(this.list);
    this.combo = field.tagName !== "TEXTAREA"; // one of several lines stays a text box that has a list
    const roles = this.combo ? { role: "combobox", "aria-expanded": "false" } : { "aria-haspopup": "listbox" };
    for (const [name, value] of Object.entries({ ...roles, "aria-autocomplete": "list", "aria-controls": this.list.id })) field.setAttribute(name, value);
    field.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.ask(), 150); });
    field.addEventListener("keydown", (event) => this.key(event));
    field.addEventListener("blur", () => setTimeout(() => this.close(), 150));
  }
  async ask() {
    const words = (this.names || this.whole ? this.field.value.trim() : lastWord(this.field.value)).slice(-40);
    if (words.length < (/[^\x00-\x7f]/.test(words) ? 1 : 3)) return this.close();
    this.request?.abort();
    this.request = new AbortController();
    try {
      const body = new URLSearchParams({ q: words, limit: this.kinds ? 40 : 8 }); // posted: it may tell of a person
      const reply = await fetch("/api/complete", { method: "POST", body, signal: this.request.signal });
      if (!reply.ok) return;
      const found = (await reply.json()).completions;
      this.show((this.kinds ? found.filter((each) => this.kinds.includes(each.kind)) : found).slice(0, 8));
    } catch (fault) { if (fault.name !== "AbortError") this.close(); }
  }
  show(found) {
    this.found = found;
    this.at = -1;
    this.list.replaceChildren(...found.map((each, index) => {
      const item = document.createElement("li");
      item.id = `${this.list.id}-${index}`;
      item.setAttribute("role", "option");
      const more = document.createElement("span");
      more.textContent = [each.matched !== each.label && each.matched, each.label === each.label_zh ? each.label_en : each.label_zh].filter(Boolean).join(" · ");
      if (each.approximate) more.prepend(`${document.body.dataset.meant} `);
      item.append(each.label, more);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); this.take(index); });
      return item;
    }));
    this.list.hidden = !found.length;
    if (this.combo) this.field.setAttribute("aria-expanded", String(!this.list.hidden));
  }
  move(step) {
    const items = this.list.children;
    this.at = (this.at + step + items.length + (this.at < 0 && step < 0 ? 1 : 0)) % items.length;
    for (const [index, item] of [...items].entries()) item.setAttribute("aria-selected", String(index === this.at));
    this.field.setAttribute("aria-activedescendant", items[this.at].id);
    items[this.at].scrollIntoView({ block: "nearest" });
  }
  take(index) {
    const each = this.found[index];
    if (this.opens) { location.href = each.iri.replace("https://w3id.org/shiyi/id/", "/page/"); return; }
    if (this.names) { this.field.value = each.iri.split("/id/").pop(); this.close(); this.field.dispatchEvent(new Event("change", { bubbles: true })); return; }
    if (this.whole) { this.field.value = each.label; this.close(); this.field.dispatchEvent(new Event("taken")); return; }
    const word = lastWord(this.field.value);
    this.field.value = this.field.value.slice(0, this.field.value.length - word.length) + each.label;
    this.close();
    this.field.focus();
  }
  key(event) {
    if (this.list.hidden) return;
    if (event.key === "ArrowDown") { event.preventDefault(); this.move(1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); this.move(-1); }
    else if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && this.at >= 0) { event.preventDefault(); event.stopImmediatePropagation(); this.take(this.at); }
  }
  close() {
    this.list.hidden = true;
    if (this.combo) this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }
}

// a graph is drawn when it comes near the screen, and before it is printed
const loaded = new Map();
const load = (address) => {
  if (!loaded.has(address)) loaded.set(address, new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  }));
  return loaded.get(address);
};
const draw = (target) => {
  graphs.unobserve(target);
  load(target.dataset.script).then(() => { if (target.dataset.drawn) return; if (target.offsetWidth) window.shiyiDraw(target); else graphs.observe(target); }, () => { target.remove(); }); // a hidden one waits
};
const graphs = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) if (isIntersecting) draw(target);
}, { rootMargin: "900px" });
// the others once there is time, so that a print has them too
addEventListener("load", () => (window.requestIdleCallback || setTimeout)(() => { for (const each of $$("[data-graph]:not([data-drawn])")) draw(each); }));

// asking: the answer is watched as it comes; where that cannot be, the form is sent as usual
const fieldsOf = (form, submitter) => {
  const fields = new URLSearchParams();
  const replies = [];
  for (const [name, value] of new FormData(form, submitter)) {
    if (!value.trim()) continue;
    if (name === "reply") replies.push(value.trim()); else fields.append(name, value.trim());
  }
  if (replies.length) fields.set("q", [fields.get("q"), ...replies].join("\n"));
  return fields;
};

async function* eventsOf(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [, name, data] = part.match(/^event: (\w+)\ndata: (.*)$/s) || [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

const PERSONAL = ["age", "sex", "pregnant", "lactating", "medicines", "allergies", "conditions", "constitution", "avoids", "context", "reply", "drop"];
const addressOf = (fields) => PERSONAL.some((name) => fields.has(name)) ? "/ask" : `/ask?${fields}`;
const addressed = new URLSearchParams(location.search);
if (location.pathname === "/ask" && PERSONAL.some((name) => addressed.has(name))) history.replaceState({}, "", addressed.has("q") ? `/ask?${new URLSearchParams({ q: addressed.get("q") })}` : "/ask"); // an old address

const words = () => document.body.dataset;
const line = (className, text) => {
  const made = document.createElement("p");
  made.className = className;
  made.textContent = text;
  return made;
};
let asking;

class Asking {
  constructor(form, submitter, tries = 0) {
    this.form = form;
    this.submitter = submitter;
    this.tries = tries;
    this.fields = fieldsOf(form, submitter);
    this.panel = document.createElement("div");
    this.panel.className = "progress";
    this.panel.setAttribute("role", "status");
    this.panel.append(line("thinking", form.dataset.thinking));
    form.querySelector(".progress")?.remove();
    form.append(this.panel);
    this.paths = 0;
    this.stop = new AbortController();
  }
  async run() {
    try {
      const reply = await fetch("/api/ask/stream?page=1", { method: "POST", body: this.fields, signal: this.stop.signal });
      if (!reply.ok) return this.fail((await reply.json()).detail);
      this.answered = true;
      for await (const [name, value] of eventsOf(reply)) {
        if (name === "page") return this.show(value);
        if (name === "error") return this.fail(value.detail);
        this.tell(name, value);
      }
      this.lost();
    } catch (fault) { if (fault.name !== "AbortError") this.lost(); }
  }
  // an answer that broke off is asked for once more; the same question has the same answer
  lost() {
    if (!this.answered || this.tries) return this.fail(words().lost);
    this.panel.append(line("step", words().lostAgain));
    setTimeout(() => { if (asking === this) (asking = new Asking(this.form, this.submitter, 1)).run(); }, 1200);
  }
  tell(name, value) {
    if (name === "linked" && value.length) this.panel.append(line("step", `${words().linked} ${value.map((each) => each.label || each.mention).join(" · ")}`));
    else if (name === "path") (this.count ??= this.panel.appendChild(line("step", ""))).textContent = `${words().paths} ${++this.paths}`;
    else if (name === "token") (this.draft ??= this.panel.appendChild(line("draft", ""))).append(`${value} `);
    else if (name === "warning") this.panel.append(line("step warned", value.text));
  }
  fail(detail) {
    const again = document.createElement("button");
    again.type = "button";
    again.className = "chip small";
    again.textContent = words().again;
    again.addEventListener("click", () => this.form.requestSubmit(this.submitter));
    const note = line("fault-note", `${detail} `);
    note.setAttribute("role", "alert");
    note.append(again);
    this.panel.replaceChildren(note);
  }
  show({ html, title }) {
    const main = document.getElementById("main");
    main.innerHTML = html; // nosemgrep: html-from-a-text - our own page, made from the same template as /ask
    document.title = title;
    history.pushState({}, "", main.querySelector(".remembered") ? "/ask" : addressOf(this.fields)); // a question alone, and nothing of a person
    shown = location.pathname + location.search;
    remember(this.fields.get("q"));
    enhance(main);
    scrollTo({ top: 0, behavior: "instant" });
    document.getElementById("answer-title").focus({ preventScroll: true });
  }
}
let shown = location.pathname + location.search;
addEventListener("popstate", () => { if (shown !== location.pathname + location.search) location.reload(); });

const onAsk = (form) => {
  const question = form.querySelector("textarea");
  question?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !event.defaultPrevented) { event.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asking?.stop.abort();
    asking = new Asking(form, event.submitter);
    asking.run();
  });
};

// what was asked on this device: the question alone, in this browser alone
const HISTORY = "shiyi:questions";
const asked = () => { try { return JSON.parse(localStorage.getItem(HISTORY)) || []; } catch { return []; } };
const keep = (list) => { try { if (list.length) localStorage.setItem(HISTORY, JSON.stringify(list)); else localStorage.removeItem(HISTORY); } catch { /* not stored */ } };
const remember = (question) => { if (question) keep([{ q: question.slice(0, 300), at: Date.now() }, ...asked().filter((each) => each.q !== question.slice(0, 300))].slice(0, 30)); };
const onHistory = (box) => {
  const list = asked();
  const at = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  box.hidden = !list.length;
  box.querySelector("ol").replaceChildren(...list.map((each) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `/ask?${new URLSearchParams({ q: each.q })}`;
    link.textContent = each.q;
    const when = document.createElement("time");
    when.dateTime = new Date(each.at).toISOString();
    when.textContent = at.format(each.at);
    item.append(link, when);
    return item;
  }));
  box.querySelector("[data-forget]").onclick = () => { keep([]); onHistory(box); };
};
if (location.pathname === "/ask") remember(new URLSearchParams(location.search).get("q"));

// a citation mark opens a card with the claim behind it
const card = document.createElement("dialog");
card.className = "claim-card";
card.addEventListener("click", (event) => { if (event.target === card) card.close(); });
const onCite = (mark) => {
  mark.setAttribute("aria-haspopup", "dialog");
  mark.addEventListener("click", (event) => {
    const cited = document.getElementById(mark.hash.slice(1));
    if (!cited || !card.showModal || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const title = cited.querySelector(".spo").cloneNode(true);
    title.id = "card-title";
    const close = document.createElement("button");
    close.type = "button";
    close.className = "icon close";
    close.textContent = "×";
    close.setAttribute("aria-label", words().close);
    close.addEventListener("click", () => card.close());
    card.setAttribute("aria-labelledby", "card-title");
    card.lang = cited.closest("[lang]")?.lang || document.documentElement.lang;
    card.replaceChildren(close, title, cited.querySelector(".citation-body").cloneNode(true));
    if (!card.isConnected) document.body.append(card);
    card.showModal();
  });
};

const copied = async (button, text) => {
  try { await navigator.clipboard.writeText(text); button.textContent = button.dataset.done; } catch { button.textContent = words().refused; }
};
const linkTo = (question) => `${location.origin}/ask?${new URLSearchParams({ q: question })}`; // a question, and nothing of a person
const answerText = () => {
  const text = (each) => each.textContent.replace(/\s+/g, " ").trim();
  const body = $$(".answer .verdict-band h2, .answer .verdict-band p, .answer .warning, .answer .prose").map((each) => {
    const copy = each.cloneNode(true);
    for (const mark of $$("a.cite", copy)) mark.replaceWith(` [${mark.textContent}]`);
    return text(copy);
  });
  const sources = $$(".citation").map((each) => `[${text(each.querySelector(".cite-number"))}] ${text(each.querySelector(".spo"))} — ${$$(".sources > li > :is(a, .tag + *)", each).map(text).join("; ")} ${each.querySelector(".links a").href}`);
  const question = document.querySelector("[data-link]").dataset.link;
  return [question, ...body, ...sources, `${linkTo(question)} ${new Date().toISOString().slice(0, 10)}`].filter(Boolean).join("\n\n");
};

// dialogs of an answer: sharing, and the page for a doctor
const onDialog = (dialog) => {
  for (const button of $$("[data-closes]", dialog)) button.addEventListener("click", () => dialog.close());
  const field = dialog.querySelector("[data-link]");
  if (!field) return;
  field.value = linkTo(field.dataset.link);
  const more = dialog.querySelector("[data-add]");
  const details = more && document.getElementById(more.dataset.add);
  more?.addEventListener("change", () => { details.hidden = !more.checked; });
  const button = dialog.querySelector("[data-share]");
  button.addEventListener("click", async () => {
    const text = [field.dataset.link, more?.checked && details.textContent.trim()].filter(Boolean).join("\n");
    if (navigator.share && matchMedia("(pointer: coarse)").matches) { try { await navigator.share({ text, url: field.value }); } catch { /* the reader changed their mind */ } return; }
    copied(button, more?.checked ? `${text}\n${field.value}` : field.value);
  });
};

// sentences that cite: each lights its claims in the graph, and the rail of sources follows them
const SENTENCE = /(?<=[\u3002\uff01\uff1f\uff1b])|(?<=[.!?;])(?=\s)/;
const sentences = (block) => {
  const made = [];
  let now;
  const open = () => { now = document.createElement("span"); now.className = "sentence"; made.push(now); return now; };
  for (const node of [...block.childNodes]) {
    node.remove();
    if (node.nodeType === Node.TEXT_NODE) {
      for (const piece of node.data.split(SENTENCE)) {
        if (!piece.trim()) { (now || open()).append(piece); continue; }
        if (!now || now.dataset.ended) open();
        now.append(piece);
        if (/[\u3002\uff01\uff1f\uff1b.!?;]\s*$/.test(piece)) now.dataset.ended = "yes";
      }
    } else (now || open()).append(node); // marks after the full stop belong to the sentence before them
  }
  block.append(...made);
  return made.filter((each) => each.querySelector("a.cite"));
};
const claimsOf = (sentence) => $$("a.cite", sentence).map((mark) => document.getElementById(mark.hash.slice(1))?.dataset.claim).filter(Boolean);
const light = (sentence, follow) => {
  const claims = new Set(sentence ? claimsOf(sentence) : []);
  for (const other of $$(".sentence.lit")) other.classList.toggle("lit", other === sentence);
  sentence?.classList.add("lit");
  const picture = document.querySelector(".answer .graph-stage svg");
  const ends = new Set();
  for (const edge of $$(".g-edge", picture || undefined)) {
    const on = claims.has(edge.dataset.claim);
    edge.classList.toggle("lit", on);
    if (on) for (const end of edge.dataset.ends.split(" ")) ends.add(end);
  }
  for (const node of $$(".g-node", picture || undefined)) node.classList.toggle("lit", ends.has(node.dataset.node));
  picture?.classList.toggle("choosing", ends.size > 0);
  let first;
  for (const citation of $$(".citation")) {
    const on = claims.has(citation.dataset.claim);
    citation.classList.toggle("now", on);
    if (on) first ??= citation;
  }
  const rail = first?.closest(".behind");
  if (follow && rail && rail.scrollHeight > rail.clientHeight + 4) {
    const folded = first.closest(".more-citations");
    if (folded) folded.open = true;
    rail.scrollTo({ top: first.offsetTop - rail.clientHeight / 4, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
  }
};
const onAnswer = (article) => {
  const blocks = $$(".prose > p, .prose li, .prose blockquote > p, .warning > span, .prose-line", article).filter((each) => each.querySelector(":scope > a.cite"));
  const all = blocks.flatMap(sentences);
  for (const each of all) {
    each.addEventListener("mouseenter", () => light(each, true));
    each.addEventListener("focusin", () => light(each, true));
    each.addEventListener("click", (event) => { if (!event.target.closest("a")) light(each, true); });
  }
  // in step with the scroll: the sentence nearest a third of the way down the screen
  const seen = new Set();
  const steps = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) if (isIntersecting) seen.add(target); else seen.delete(target);
    const line = innerHeight / 3;
    const near = [...seen].sort((one, other) => Math.abs(one.getBoundingClientRect().top - line) - Math.abs(other.getBoundingClientRect().top - line))[0];
    if (near && scrollY > 80) light(near, true);
  }, { rootMargin: "-20% 0px -45% 0px" });
  for (const each of all) steps.observe(each);
};

// the server writes moments in UTC; here they are the reader's own
const ownTime = (each) => {
  const at = new Date(each.dateTime);
  if (!each.dateTime.includes("T") || Number.isNaN(at.getTime())) return;
  each.title = each.textContent;
  each.textContent = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" }).format(at);
};

const enhance = (root) => {
  for (const each of $$("time[datetime]", root)) if (!each.title) ownTime(each);
  for (const field of $$("[data-complete]", root)) new Completion(field);
  for (const form of $$("[data-ask]", root)) onAsk(form);
  for (const mark of $$("a.cite", root)) onCite(mark);
  for (const box of $$("[data-history]", root)) onHistory(box);
  for (const figure of $$("[data-graph]", root)) { figure.hidden = false; graphs.observe(figure); const list = figure.parentElement.querySelector(".drawn-too"); if (list) { list.open = false; list.classList.remove("drawn-too"); } }
  for (const button of $$("[data-print]", root)) { button.hidden = false; button.addEventListener("click", () => print()); }
  for (const article of $$(".answer", root)) onAnswer(article);
  for (const dialog of $$("dialog.paper", root)) onDialog(dialog);
  for (const button of $$("[data-opens]", root)) { button.hidden = false; button.addEventListener("click", () => document.getElementById(button.dataset.opens).showModal()); }
  if (!navigator.clipboard) return;
  for (const button of $$("[data-copy-text]", root)) { button.hidden = false; button.addEventListener("click", () => copied(button, answerText())); }
  for (const button of $$("[data-copy-list]", root)) { button.hidden = false; button.addEventListener("click", () => copied(button, [...document.getElementById(button.dataset.copyList).children].map((each) => each.innerText.trim()).join("\n\n"))); }
  for (const button of $$("[data-copy-post]", root)) { button.hidden = false; button.addEventListener("click", async () => copied(button, await (await fetch(button.dataset.copyPost, { method: "POST", headers: { "Content-Type": button.dataset.type }, body: button.dataset.body })).text())); }
};
enhance(document);
// the palette is fetched when it is first called
const palette = document.getElementById("palette");
const callPalette = (event) => { event.preventDefault(); load(palette.dataset.script).then(() => window.shiyiPalette(), () => { location.href = "/concept-search"; }); };
addEventListener("keydown", (event) => { if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey) callPalette(event); });
for (const each of $$("[data-palette]")) each.addEventListener("click", callPalette);
// the other language: the same question, its profile and what came before, in the body again
for (const link of $$("[data-language]")) link.addEventListener("click", (event) => {
  const form = document.querySelector("form#again") || document.querySelector(".matrix") && document.getElementById("cabinet");
  if (!form || form.id === "again" && addressOf(new URLSearchParams(new FormData(form))) !== "/ask") return;
  event.preventDefault();
  form.action = `${form.getAttribute("action")}?lang=${link.lang.slice(0, 2)}`;
  form.submit();
});
addEventListener("beforeprint", () => { 
  if (document.querySelector("dialog[open]")) return;
  for (const each of $$(".answer details:not(.menu), .behind details, .theme details")) each.open = true;
  for (const figure of $$("[data-graph]:not([data-drawn])")) if (window.shiyiDraw && figure.offsetWidth) window.shiyiDraw(figure);
});
