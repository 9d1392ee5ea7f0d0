// Before the first paint: the reader's own choice of light or dark; and a watch over an answer on its way.
"use strict";
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch { /* storage may be refused; the system's choice then stands */ }
})();
(() => {
  // where the connection breaks off after the head of a page, browsers tell nobody
  const watch = setInterval(() => {
    const waiting = document.querySelector(".on-its-way");
    const there = document.querySelector(".answer-layout, .fault");
    if (there || (!waiting && document.readyState !== "loading")) { clearInterval(watch); return; }
    if (!waiting || performance.now() < Number(waiting.dataset.timeout)) return;
    clearInterval(watch);
    const again = document.createElement("a");
    again.href = location.href;
    again.textContent = waiting.dataset.again;
    waiting.className = "fault-note on-its-way";
    waiting.replaceChildren(`${waiting.dataset.late} `, again);
  }, 250);
})();
