// The frame of every page: its keyboard shortcuts and the dialog that lists them.

import {onKeys} from "./keys.js";
import "./live.js";

const help = document.getElementById("keys");
const find = document.getElementById("find");

onKeys({"?": () => help.showModal()});
if (find) onKeys({"/": () => find.focus()});
for (const link of document.querySelectorAll("a[data-keys]")) {
  onKeys({[link.dataset.keys]: () => link.click()});
}
document.getElementById("keys-close").addEventListener("click", () => help.close());
// The first field with a message is where the person goes on.
document.querySelector("main [aria-invalid=true]")?.focus();
