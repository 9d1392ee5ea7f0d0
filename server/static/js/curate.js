/* Keyboard review and other small aids; every desk works without it. */
"use strict";
(() => {
  const typing = (at) => at.closest("input:not([type=checkbox]), textarea, select") !== null;
  const rows = [...document.querySelectorAll("[data-row]")];
  let here = -1;

  const go = (to) => {
    if (!rows.length) return;
    rows[here]?.classList.remove("here");
    here = Math.max(0, Math.min(rows.length - 1, to));
    rows[here].classList.add("here");
    rows[here].querySelector("a").focus({ preventScroll: true });
    rows[here].scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
    if (typing(event.target)) return;
    const key = event.key.toLowerCase();
    const control = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (control) { event.preventDefault(); control.click(); return; }
    if (key === "j" || key === "k") { event.preventDefault(); go(here + (key === "j" ? 1 : -1)); }
    else if (key === "x" && here >= 0) { event.preventDefault(); rows[here].querySelector("[name=claims]")?.click(); }
    else if (key === "c") { const box = document.querySelector("[data-comment]"); if (box) { event.preventDefault(); box.focus(); } }
    else if (key === "/") { const box = document.querySelector("[data-reason]"); if (box) { event.preventDefault(); box.focus(); } }
  });

  document.querySelector("[data-all]")?.addEventListener("change", (event) => {
    for (const box of document.querySelectorAll("[data-queue] [name=claims]")) box.checked = event.target.checked;
  });
})();
