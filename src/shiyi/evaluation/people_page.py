"""One self-contained page on which a person rates answers; nothing leaves it but a CSV file."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

_PAGE: Final = """<!doctype html>
<html lang="zh"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>评分 / Rating</title>
<style>
body{font:16px/1.6 sans-serif;max-width:52rem;margin:1rem auto;padding:0 1rem;color:#222;background:#fff}
article{border:1px solid #bbb;border-radius:6px;padding:1rem;margin:1rem 0}
pre{white-space:pre-wrap;font:inherit;background:#f6f6f2;padding:.8rem;border-radius:4px}
fieldset{border:0;margin:.3rem 0;padding:0}legend{float:left;width:20rem;padding:0}
label{margin-right:.8rem}small{color:#555;display:block;clear:both}
button,input{font:inherit;padding:.3rem .6rem}#bar{position:sticky;top:0;background:#fff;padding:.5rem 0}
</style></head><body>
<h1>评分 / Rating</h1>
<p>每条回答逐项打分：1（最低）至5（最高）；一致性为是（5）或否（0）。可留空，可中途保存。完成后下载 CSV 交回。<br>
Rate each answer: 1 (lowest) to 5; consistency is yes (5) or no (0). Items may stay empty.
Ratings stay in this browser until you download the CSV file and hand it in.</p>
<div id="bar"><label>姓名或代号 / name or code <input id="rater" maxlength="60"></label>
<button id="save">下载 / Download CSV</button> <span id="done" role="status"></span></div>
<main id="items"></main>
<script>
const DATA = /*data*/;
const store = "shiyi-rating-" + DATA.key;
let given = {};
try { given = JSON.parse(localStorage.getItem(store)) || {}; } catch (fault) { given = {}; }
const rater = document.getElementById("rater");
rater.value = given.rater || DATA.rater;
function keep() {
  given.rater = rater.value;
  try { localStorage.setItem(store, JSON.stringify(given)); } catch (fault) { /* private window */ }
  const all = DATA.items.length * DATA.dimensions.length;
  const n = DATA.items.reduce((s, i) => s + DATA.dimensions.filter(d => (given[i.item] || {})[d.id]).length, 0);
  document.getElementById("done").textContent = n + " / " + all;
}
function add(parent, tag, text) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}
DATA.items.forEach((each, place) => {
  const box = add(document.getElementById("items"), "article");
  add(box, "h2", (place + 1) + ". " + each.question);
  add(box, "pre", each.answer);
  DATA.dimensions.forEach(d => {
    const set = add(box, "fieldset");
    add(set, "legend", d.zh + " / " + d.en);
    d.scale.forEach(value => {
      const label = add(set, "label"), radio = add(label, "input");
      radio.type = "radio"; radio.name = each.item + " " + d.id; radio.value = value;
      radio.checked = (given[each.item] || {})[d.id] === String(value);
      radio.addEventListener("change", () => {
        (given[each.item] = given[each.item] || {})[d.id] = radio.value; keep();
      });
      label.append(" " + value);
    });
    add(set, "small", d.about);
  });
  const label = add(box, "label", "备注 / remark "), note = add(label, "input");
  note.maxLength = 500; note.value = (given[each.item] || {}).remark || "";
  note.addEventListener("input", () => {
    (given[each.item] = given[each.item] || {}).remark = note.value; keep();
  });
});
rater.addEventListener("input", keep);
keep();
function cell(text) {
  let said = String(text === undefined ? "" : text).replace(/[\\r\\n]+/g, " ");
  if (/^[=+\\-@\\t]/.test(said)) said = "'" + said;
  return '"' + said.replaceAll('"', '""') + '"';
}
document.getElementById("save").addEventListener("click", () => {
  const names = DATA.dimensions.map(d => d.id);
  const rows = [["item", ...names, "remark", "rater"]];
  DATA.items.forEach(i => {
    const own = given[i.item] || {};
    rows.push([i.item, ...names.map(n => own[n]), own.remark, rater.value]);
  });
  const text = "\\ufeff" + rows.map(row => row.map(cell).join(",")).join("\\r\\n") + "\\r\\n";
  const link = document.createElement("a");
  link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(text);
  link.download = "rated-" + (rater.value || DATA.rater).replace(/[^\\w\\u4e00-\\u9fff-]/g, "_") + ".csv";
  link.click();
});
</script></body></html>
"""


def page(items: Sequence[Mapping[str, str]], dimensions: Sequence[Any], rater: int) -> str:
    """Give the page of one rater; texts are data there and never markup."""
    data = {
        "key": f"{rater}-{items[0]['item'] if items else ''}", "rater": f"rater-{rater}",
        "items": list(items),
        "dimensions": [
            {"id": d.id, "zh": d.zh, "en": d.en, "about": d.about, "scale": list(d.scale)}
            for d in dimensions
        ],
    }  # fmt: skip
    said = json.dumps(data, ensure_ascii=False)
    for sign, written in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        said = said.replace(sign, written)
    return _PAGE.replace("/*data*/", said.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
