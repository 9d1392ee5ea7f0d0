/* The queue beside the claim, review by keys, and other small aids; every desk works without them. */
"use strict";
(() => {
  const typing = (at) => at.closest("input:not([type=checkbox]), textarea, select") !== null;
  const pane = document.querySelector("[data-pane]");
  const wide = matchMedia("(min-width: 64rem)");
  const isSplit = () => Boolean(pane) && wide.matches;
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const current = () => document.querySelector("[data-row].here");

  // the claim of a row is loaded beside the queue
  const open = async (row, focus) => {
    for (const each of rows()) each.classList.toggle("here", each === row);
    for (const link of document.querySelectorAll("[data-row] .say")) link.removeAttribute("aria-current");
    const link = row.querySelector(".say");
    link.setAttribute("aria-current", "true");
    if (focus) link.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    if (!isSplit()) return;
    const reply = await fetch(`${link.href}&pane=1`);
    if (!reply.ok || current() !== row) { if (!reply.ok) location.href = link.href; return; }
    pane.innerHTML = await reply.text(); // nosemgrep: html-from-a-text - our own page, made from the same template
    pane.scrollTop = 0;
    enhance(pane); // eslint-disable-line no-undef
  };
  const go = (step) => {
    const all = rows(), at = all.indexOf(current());
    if (all.length) open(all[Math.max(0, Math.min(all.length - 1, at + step))], true);
  };
  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row || !event.target.closest(".say") || !isSplit() || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open(row, true);
  });

  // a decision beside the queue is written without leaving it; the next claim follows
  const notice = document.createElement("p");
  notice.className = "done";
  notice.setAttribute("role", "status");
  const send = (address, fields) => fetch(address, { method: "POST", body: fields, headers: { Accept: "application/json" } });
  const tell = (text, undo) => {
    if (!notice.isConnected) document.getElementById("main").prepend(notice);
    notice.replaceChildren(text, " ", ...(undo ? [undo] : []));
  };
  const undoing = (form, change) => {
    const button = document.createElement("button");
    button.className = "link";
    button.dataset.key = "z";
    button.textContent = form.dataset.undo;
    button.addEventListener("click", async () => {
      const fields = new URLSearchParams({ csrf: form.elements.csrf.value, change });
      const reply = await send("/curate/undo", fields);
      if (reply.ok) location.reload();
    });
    return button;
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("[data-decide]") || !isSplit()) return;
    event.preventDefault();
    const row = current();
    const reply = await send(form.action, new URLSearchParams(new FormData(form, event.submitter)));
    const answer = await reply.json();
    if (!reply.ok) {
      const wrong = form.querySelector(".wrong") || form.insertBefore(document.createElement("p"), form.firstChild);
      wrong.className = "wrong";
      wrong.setAttribute("role", "alert");
      wrong.textContent = (answer.faults || []).map((each) => each.message).join(" ") || answer.detail;
      return;
    }
    tell(`${event.submitter.textContent.trim().slice(0, -1).trim()}: ${row?.querySelector(".say")?.textContent.replace(/\s+/g, " ").trim().slice(0, 80) || ""}`, undoing(form, answer.change));
    const all = rows(), next = all[all.indexOf(row) + 1];
    row?.remove();
    if (next) open(next, false); else pane.replaceChildren();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
    if (typing(event.target)) return;
    const key = event.key.toLowerCase();
    const control = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (key === "n" && isSplit()) { event.preventDefault(); go(1); return; }
    if (control) { event.preventDefault(); control.click(); return; }
    if (key === "j" || key === "k") { event.preventDefault(); go(key === "j" ? 1 : -1); }
    else if (key === "x") { event.preventDefault(); current()?.querySelector("[name=claims]")?.click(); }
    else if (key === "c") { const box = document.querySelector("[data-comment]"); if (box) { event.preventDefault(); box.focus(); } }
    else if (key === "/") { const box = document.querySelector("[data-decide] [data-reason]"); if (box) { event.preventDefault(); box.focus(); } }
  });

  document.querySelector("[data-all]")?.addEventListener("change", (event) => {
    for (const box of document.querySelectorAll("[data-queue] [name=claims]")) box.checked = event.target.checked;
  });
  (document.getElementById("foreseen") || document.getElementById("faults"))?.focus();
})();

// a table's columns are chosen by clicking: the first click is the subject, then the object, then the words
for (const form of document.querySelectorAll("[data-columns]")) {
  const fields = ["subject", "object", "quote"].map((name) => form.elements[name]);
  const mark = () => { for (const button of form.querySelectorAll("[data-column]")) button.dataset.as = fields.find((field) => field.value === button.dataset.column)?.labels[0].textContent || ""; };
  for (const button of form.querySelectorAll("[data-column]")) button.addEventListener("click", () => {
    const taken = fields.find((field) => field.value === button.dataset.column);
    if (taken) taken.value = ""; else (fields.find((field) => !field.value) || fields[2]).value = button.dataset.column;
    mark();
  });
  for (const field of fields) field.addEventListener("change", mark);
  mark();
}
for (const form of document.querySelectorAll("[data-drop]")) {
  const field = form.querySelector('[type="file"]');
  const judge = () => field.setCustomValidity(field.files[0]?.size > form.dataset.most ? form.dataset.large : "");
  field.addEventListener("change", judge);
  form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => { event.preventDefault(); form.classList.remove("over"); field.files = event.dataTransfer.files; judge(); });
}
