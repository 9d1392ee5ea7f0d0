// The list of things as chips, stored in this browser alone; without scripts it is a text box.
"use strict";

const CABINET = "shiyi:cabinet";
const stored = () => { try { return JSON.parse(localStorage.getItem(CABINET)) || []; } catch { return []; } };
const store = (list) => { try { if (list.length) localStorage.setItem(CABINET, JSON.stringify(list)); else localStorage.removeItem(CABINET); } catch { /* not stored, still checked */ } };

for (const form of document.querySelectorAll("[data-cabinet]")) {
  const box = form.querySelector("#things");
  const lines = () => box.value.split(/[\n,，、;；]/).map((each) => each.trim()).filter(Boolean);
  let list = lines();
  if (!list.length) list = stored();
  const chips = document.createElement("ul");
  chips.className = "things";
  const row = document.createElement("div");
  row.className = "ask-row";
  const field = document.createElement("input");
  field.id = "thing";
  field.maxLength = 100;
  field.autocomplete = "off";
  field.dataset.complete = "whole";
  field.setAttribute("aria-describedby", "things-help");
  row.append(field);
  const message = document.createElement("p");
  message.className = "quiet small";
  message.setAttribute("role", "status");
  const show = () => {
    box.value = list.join("\n");
    store(list);
    chips.replaceChildren(...list.map((name) => {
      const item = document.createElement("li");
      item.className = "chip";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "×";
      button.setAttribute("aria-label", `${form.dataset.remove} ${name}`);
      button.addEventListener("click", () => { list = list.filter((each) => each !== name); show(); field.focus(); });
      item.append(name, button);
      return item;
    }));
  };
  const add = () => {
    const names = field.value.split(/[\n,，、;；]/).map((each) => each.trim()).filter(Boolean);
    const every = [...new Set([...list, ...names])];
    message.textContent = every.length > form.dataset.most ? form.dataset.full : "";
    list = every.slice(0, form.dataset.most);
    field.value = "";
    show();
  };
  box.hidden = true;
  box.required = false;
  form.querySelector("label[for=things]").htmlFor = "thing";
  box.after(chips, row, message);
  show();
  new Completion(field); // eslint-disable-line no-undef
  field.addEventListener("taken", add);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.defaultPrevented || event.isComposing) return;
    if (!field.value.trim()) return;
    event.preventDefault();
    add();
  });
  form.addEventListener("submit", () => { if (field.value.trim()) add(); });
  const clear = form.querySelector("[data-cabinet-clear]");
  clear.hidden = false;
  clear.addEventListener("click", () => { list = []; show(); });
}
addEventListener("beforeprint", () => { for (const each of document.querySelectorAll(".pair, .pair-none")) each.open = true; });
