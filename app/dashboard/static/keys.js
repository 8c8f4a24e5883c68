// Keyboard shortcuts: onKeys({"j": next, "g o": openOverview, "?": help}).
// None works in a field, and those of letters and signs only where the person's settings allow them.

const lettersAllowed = document.documentElement.dataset.letters !== "off";
const bound = new Map();
let prefix = "";

export function onKeys(bindings) {
  for (const [keys, action] of Object.entries(bindings)) {
    if (lettersAllowed || keys.length > 1 && !keys.includes(" ")) bound.set(keys, action);
  }
}

function isTaken(event) {
  const target = event.target;
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return true;
  if (target.closest("input, textarea, select, [contenteditable], dialog")) return true;
  return event.key === "Enter" && target.closest("a, button, summary");
}

addEventListener("keydown", event => {
  if (event.key === "Shift" || isTaken(event)) return;
  const keys = prefix + event.key;
  const action = bound.get(keys) || bound.get(event.key);
  const isPrefix = [...bound.keys()].some(known => known.startsWith(event.key + " "));
  prefix = !action && isPrefix ? event.key + " " : "";
  if (!action) return;
  event.preventDefault();
  action(event);
});
