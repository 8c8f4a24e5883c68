// Keys of the list: j and k move, x marks, Enter opens (the row's link has the focus).
const rows = [...document.querySelectorAll("[data-row]")];
const status = document.querySelector("#marked");

function count() {
  if (status) status.textContent = `${document.querySelectorAll("[data-row] :checked").length} ${status.dataset.text}`;
}

function move(step) {
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, here + step))];
  next?.querySelector("a").focus();
}

document.addEventListener("change", count);
document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "x") {
    const box = document.activeElement.closest("[data-row]")?.querySelector("input");
    if (!box) return;
    box.checked = !box.checked;
    count();
  } else return;
  event.preventDefault();
});
count();
