// The frame of every page: its keyboard shortcuts and the dialog that lists them.

import {onKeys} from "./keys.js";
import "./live.js";

const AGAIN_AFTER_MS = 5000;
const sentAt = new WeakMap();
const help = document.getElementById("keys");
const find = document.getElementById("find");

onKeys({"?": () => help.showModal()});
if (find) onKeys({"/": () => find.focus()});
for (const link of document.querySelectorAll("a[data-keys]")) {
  onKeys({[link.dataset.keys]: () => link.click()});
}
document.getElementById("keys-close").addEventListener("click", () => help.close());
// A second press while the answer is on its way would do everything twice.
addEventListener("submit", event => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (event.timeStamp - sentAt.get(form) < AGAIN_AFTER_MS) event.preventDefault();
  else sentAt.set(form, event.timeStamp);
});
// The first field with a message is where the person goes on.
document.querySelector("main [aria-invalid=true]")?.focus();
