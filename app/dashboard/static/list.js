// Keys of lists: j and k move, x marks, Enter opens (the row's link has the focus).
import { onKeys } from "./keys.js";

const rows = [...document.querySelectorAll("[data-row]")];
const status = document.querySelector("#marked");

function count() {
  if (status) status.textContent = `${document.querySelectorAll("[data-row] :checked").length} ${status.dataset.text}`;
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

document.addEventListener("change", count);
onKeys({ j: () => move(1), k: () => move(-1), x: mark });
count();
