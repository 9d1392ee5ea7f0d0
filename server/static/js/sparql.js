// The query page: examples, Ctrl+Enter, Tab, sorting by column.
"use strict";
(() => {
  const form = document.querySelector("[data-sparql]");
  const query = form.querySelector("textarea");
  const picker = form.querySelector("[data-examples]");
  const stored = document.getElementById("example-queries");
  if (picker && stored) {
    const texts = JSON.parse(stored.textContent);
    picker.hidden = false;
    picker.addEventListener("change", () => { if (texts[picker.value]) query.value = texts[picker.value]; });
  }
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
  for (const table of document.querySelectorAll("[data-sortable]")) {
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
  }
})();
