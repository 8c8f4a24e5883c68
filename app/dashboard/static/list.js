// Keys of lists: j and k move, x marks, Enter opens (the row's link has the focus).
import { onKeys } from "./keys.js";

const rows = [...document.querySelectorAll("[data-row]")];
const boxes = [...document.querySelectorAll("[data-row] [type=checkbox]")];
const all = document.querySelector("#mark-all");
const status = document.querySelector("#marked");
const needMark = [...document.querySelectorAll("[data-needs-mark]")];
const withoutMark = [...document.querySelectorAll("[data-without-mark]")];

function count() {
  if (!status) return;
  const marked = boxes.filter(box => box.checked).length;
  status.textContent = `${marked} ${status.dataset.text}`;
  for (const button of needMark) button.disabled = !marked;
  for (const text of withoutMark) text.hidden = marked > 0;
  all.checked = marked === boxes.length;
  all.indeterminate = marked > 0 && !all.checked;
}

function markAll() {
  for (const box of boxes) box.checked = all.checked;
}

function here() {
  return rows.findIndex(row => row.contains(document.activeElement));
}

function move(step) {
  rows[Math.min(rows.length - 1, Math.max(0, here() + step))]?.querySelector("a").focus();
}

function mark() {
  const box = rows[here()]?.querySelector("[type=checkbox]");
  if (!box) return;
  box.checked = !box.checked;
  count();
}

if (all) {
  all.hidden = false;
  all.addEventListener("change", markAll);
}
document.addEventListener("change", count);
onKeys({ j: () => move(1), k: () => move(-1), x: mark });
count();
// On the way back to the page, the browser has put the marks back by now.
addEventListener("pageshow", count);
