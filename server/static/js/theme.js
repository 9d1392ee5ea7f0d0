// Before the first paint: the reader's own choice of light or dark.
"use strict";
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch { /* storage may be refused; the system's choice then stands */ }
})();
