// The palette: concepts, claims, pages and queries by keys alone.
"use strict";
(() => {
  const box = document.getElementById("palette");
  const field = box.querySelector("input");
  const list = box.querySelector("ul");
  let at = -1;
  let request;
  let timer;
  const options = () => [...list.querySelectorAll('[role="option"]')];
  const mark = (place) => {
    const all = options();
    at = all.length ? (place + all.length) % all.length : -1;
    all.forEach((each, i) => each.setAttribute("aria-selected", String(i === at)));
    if (at >= 0) { field.setAttribute("aria-activedescendant", all[at].id); all[at].scrollIntoView({ block: "nearest" }); } else field.removeAttribute("aria-activedescendant");
  };
  const option = ({ href, label, detail }, place) => {
    const item = document.createElement("li");
    const more = document.createElement("span");
    item.id = `palette-${place}`;
    item.dataset.href = href;
    item.setAttribute("role", "option");
    more.textContent = detail;
    item.append(label, more);
    item.addEventListener("click", () => { location.href = href; });
    return item;
  };
  const show = (words, groups) => {
    const made = [];
    let place = 0;
    const titled = (kind, hits) => {
      const title = document.createElement("li");
      title.className = "palette-title";
      title.setAttribute("role", "presentation");
      title.textContent = box.dataset[kind];
      made.push(title, ...hits.map((hit) => option(hit, place++)));
    };
    for (const [kind, hits] of Object.entries(groups)) titled(kind, hits);
    if (words) titled("ask", [{ href: `/ask?${new URLSearchParams({ q: words })}`, label: words, detail: "" }]);
    list.replaceChildren(...made);
    mark(0);
  };
  const search = async () => {
    const words = field.value.trim();
    request?.abort();
    if (!words) return show("", {});
    request = new AbortController();
    try {
      const reply = await fetch(`/api/search?q=${encodeURIComponent(words)}`, { signal: request.signal });
      if (reply.ok) show(words, (await reply.json()).groups);
    } catch (fault) { if (fault.name !== "AbortError") show(words, {}); }
  };
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); mark(at + 1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); mark(at - 1); }
    else if (event.key === "Enter" && at >= 0 && !event.isComposing) { event.preventDefault(); location.href = options()[at].dataset.href; }
  });
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  window.shiyiPalette = () => { if (!box.open) { box.showModal(); field.select(); } };
})();
