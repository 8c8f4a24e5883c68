// The frame of every page: its keyboard shortcuts and the dialog that lists them.

import {onKeys} from "./keys.js";
import "./live.js";

const AGAIN_AFTER_MS = 5000;
const help = document.getElementById("keys");
const find = document.getElementById("find");

onKeys({"?": () => help.showModal(), "/": () => find.focus()});
for (const link of document.querySelectorAll("a[data-keys]")) {
  onKeys({[link.dataset.keys]: () => link.click()});
}
document.getElementById("keys-close").addEventListener("click", () => help.close());
// A second press before the answer would do everything twice.
addEventListener("submit", event => {
  const {method, dataset} = event.target;
  if (event.defaultPrevented || method !== "post") return;
  if (event.timeStamp - dataset.sentAt < AGAIN_AFTER_MS) event.preventDefault();
  else dataset.sentAt = event.timeStamp;
});
// A sign-in that a form needs first loses nothing.
addEventListener("input", () => import("./sent.js"), {once: true});
// The first field with a message is where the person goes on.
document.querySelector("main [aria-invalid=true]")?.focus();
