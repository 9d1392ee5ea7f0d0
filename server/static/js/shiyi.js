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
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* not kept, still shown */ }
  });
}

// a citation mark opens its claim
const openTarget = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const details = target.querySelector("details") || target.closest("details");
  if (details) details.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();

// completion: a listbox under the field, by arrow keys, mouse or touch
const lastWord = (text) => text.split(/[\s,，、;；。？?！!]+/).pop();

class Completion {
  constructor(field) {
    this.field = field;
    this.opens = field.dataset.complete === "open";
    this.list = document.createElement("ul");
    this.list.className = "suggestions";
    this.list.id = `suggest-${field.name}`;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", field.labels?.[0]?.textContent.trim() || field.name);
    this.list.hidden = true;
    field.after(this.list);
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id }))
      field.setAttribute(name, value);
    field.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.ask(), 150); });
    field.addEventListener("keydown", (event) => this.key(event));
    field.addEventListener("blur", () => setTimeout(() => this.close(), 150));
  }
  async ask() {
    const words = lastWord(this.field.value).slice(-40);
    if (words.length < (/[^\x00-\x7f]/.test(words) ? 1 : 3)) return this.close();
    this.request?.abort();
    this.request = new AbortController();
    try {
      const reply = await fetch(`/api/complete?limit=8&q=${encodeURIComponent(words)}`, { signal: this.request.signal });
      if (reply.ok) this.show((await reply.json()).completions);
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
      item.append(each.label, more);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); this.take(index); });
      return item;
    }));
    this.list.hidden = !found.length;
    this.field.setAttribute("aria-expanded", String(!this.list.hidden));
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
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }
}
for (const field of $$("[data-complete]")) new Completion(field);

// asking: Enter sends, Shift+Enter makes a line, empty fields stay out of the address
for (const form of $$("[data-ask]")) {
  const question = form.querySelector("textarea");
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !event.defaultPrevented) { event.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("submit", () => {
    const emptied = [...form.elements].filter((each) => each.name && !each.value);
    for (const each of emptied) each.disabled = true;
    const note = document.createElement("p");
    note.className = "thinking";
    note.setAttribute("role", "status");
    note.textContent = form.dataset.thinking;
    form.append(note);
    // a page kept by the browser comes back as it was
    addEventListener("pagehide", () => { note.remove(); for (const each of emptied) each.disabled = false; }, { once: true });
  });
}

// copy and print
for (const button of $$("[data-copy-link]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => { await navigator.clipboard.writeText(location.href); button.textContent = button.dataset.done; });
}
for (const button of $$("[data-print]")) { button.hidden = false; button.addEventListener("click", () => print()); }

// a follow-up asks the reader: their answer is added to the question before it is sent again
for (const button of $$("[data-follow]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    const field = document.getElementById("q");
    field.value = `${field.value.trim()}\n${button.dataset.follow} `;
    field.form.querySelector(".profile").open = true;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    field.scrollIntoView({ block: "center" });
  });
}
