// The frame of every page: its keyboard shortcuts and the dialog that lists them.

import {onKeys} from "./keys.js";
import "./live.js";

const help = document.getElementById("keys");
const search = document.getElementById("search");

onKeys({"?": () => help.showModal()});
if (search) onKeys({"/": () => search.focus()});
for (const link of document.querySelectorAll("a[data-keys]")) {
  onKeys({[link.dataset.keys]: () => link.click()});
}
document.getElementById("keys-close").addEventListener("click", () => help.close());
// The first field with a message is where the person goes on.
document.querySelector("main [aria-invalid=true]")?.focus();
