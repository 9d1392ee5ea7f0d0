// Live checking of a form made from the shapes; without this, the button does the same.
"use strict";

for (const form of document.querySelectorAll("[data-editor]")) {
  const live = form.querySelector("[data-live]");
  let waiting, request;
  const show = (faults) => {
    for (const place of form.querySelectorAll("[data-fault-of]")) {
      const mine = faults.filter((each) => each.field === place.dataset.faultOf);
      place.hidden = !mine.length;
      place.textContent = mine.map((each) => each.message + (each.shape ? ` (${each.shape})` : "")).join(" ");
      place.closest(".field")?.classList.toggle("bad", Boolean(mine.length));
      document.getElementById(place.dataset.faultOf)?.setAttribute("aria-invalid", String(Boolean(mine.length)));
    }
    for (const old of form.querySelectorAll("p.fault[id]")) old.hidden = true; // faults of the page as it was sent
    live.textContent = faults.length ? faults.map((each) => each.message).join(" ") : form.dataset.conforms;
    live.classList.toggle("fault", Boolean(faults.length));
  };
  const check = async () => {
    request?.abort();
    request = new AbortController();
    try {
      const reply = await fetch("/curate/edit/check", { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "application/json" }, signal: request.signal });
      if (reply.ok) show((await reply.json()).faults);
    } catch (fault) { if (fault.name !== "AbortError") live.textContent = ""; }
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(check, 400); };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
}
document.getElementById("faults")?.focus();
