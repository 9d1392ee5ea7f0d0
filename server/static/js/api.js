// Sends what is typed on the page of the API to this server, and shows the reply.
"use strict";

const LONGEST = 20000; // characters shown of a reply
for (const box of document.querySelectorAll(".operation")) {
  const form = box.querySelector("form");
  const reply = box.querySelector(".reply");
  const { method, path } = box.dataset;
  form.querySelector("button").hidden = !(method === "GET" || form.elements["(body)"]);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    let address = path;
    for (const [name, value] of new FormData(form)) {
      if (name === "(body)" || !value.trim()) continue;
      if (address.includes(`{${name}}`)) address = address.replace(`{${name}}`, encodeURIComponent(value)); else query.append(name, value);
    }
    const body = form.elements["(body)"]?.value;
    const init = body ? { method, body, headers: { "Content-Type": "application/json" } } : { method };
    const token = document.getElementById("token").value.trim();
    if (token) init.headers = { ...init.headers, Authorization: `Bearer ${token}` };
    reply.hidden = false;
    try {
      const got = await fetch(query.size ? `${address}?${query}` : address, init);
      let text = await got.text();
      try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON */ }
      const kind = got.headers.get("Content-Type") || "", rest = text.length > LONGEST ? "\n…" : "";
      reply.textContent = `${got.status} ${kind}\n\n${text.slice(0, LONGEST)}${rest}`;
    } catch (fault) { reply.textContent = String(fault); }
  });
}
if (location.hash) { const chosen = document.getElementById(location.hash.slice(1)); if (chosen?.matches("details")) chosen.open = true; }
