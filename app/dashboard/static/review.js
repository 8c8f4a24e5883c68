// The form of a review: shows the new score before it is saved, and takes selected words as a quote.

import {onKeys} from "./keys.js";

const PAUSE_MS = 300;
const form = document.getElementById("review");
const shown = form?.querySelector("[data-preview-text]");
const action = document.getElementById("action");
let timer = 0, asked = 0, chosen = action?.value;

function changed() {
  return [...form.elements].filter(field => field.name.startsWith("answer.") && field.value);
}

async function preview() {
  const run = ++asked;
  const {length} = changed();
  if (!length) {
    shown.textContent = "";
    return;
  }
  const reply = await fetch(form.dataset.preview, {
    method: "POST",
    body: new FormData(form),
    headers: {Accept: "application/json"},
  });
  const {error, passed, scoreBefore, score} = await reply.json();
  if (run !== asked) return;
  const verdict = passed === null ? "no verdict" : passed ? "passed" : "not passed";
  shown.textContent = reply.ok
    ? `Changed answers: ${length}. Score ${scoreBefore} → ${score}, ${verdict}`
    : error.details?.[0]?.message || error.message;
}

function takeQuote(button) {
  const field = button.closest(".field");
  const text = field.querySelector("[data-quote-text]");
  const selection = getSelection();
  const range = selection.rangeCount ? selection.getRangeAt(0) : null;
  const said = range?.startContainer.parentElement.closest(".said");
  const quote = selection.toString();
  if (!quote.trim() || !said?.contains(range.endContainer)) {
    text.textContent = "Select words of one turn in the transcript first.";
    return;
  }
  const before = new Range();
  before.setStart(said, 0);
  before.setEnd(range.startContainer, range.startOffset);
  // As the service counts: a pair of surrogates is one character.
  const place = [...before.toString()].length;
  field.querySelector("input").value = `${said.closest(".turn").id}:${place}:${quote}`;
  text.textContent = quote;
}

function openChange() {
  const select = document.querySelector(".chosen .change select");
  if (select) select.closest("details").open = true;
  return select;
}

// Chooses the answer of this number; the first option keeps it as it is.
function answer(number) {
  const select = openChange();
  if (!select || number >= select.options.length) return;
  select.selectedIndex = number;
  select.dispatchEvent(new Event("input", {bubbles: true}));
}

if (shown) {
  form.addEventListener("input", event => {
    if (!event.target.name.startsWith("answer.")) return;
    if (action.value !== "override") chosen = action.value;
    action.value = changed().length && ["request", "start", "confirm"].includes(chosen) ? "override" : chosen;
    clearTimeout(timer);
    timer = setTimeout(() => preview().catch(() => {
      shown.textContent = "The new score is not known: the service cannot be reached.";
    }), PAUSE_MS);
  });
  for (const button of form.querySelectorAll("[data-take-quote]")) {
    // The press would clear the selection.
    button.addEventListener("mousedown", event => event.preventDefault());
    button.addEventListener("click", () => takeQuote(button));
  }
  addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(form.querySelector("[name=andNext]"));
  });
  onKeys({e: openChange});
  for (let number = 1; number <= 9; number++) onKeys({[number]: () => answer(number)});
  // On the way back, the browser has put the answers back by now.
  addEventListener("pageshow", () => {
    for (const field of changed()) field.closest("details").open = true;
    preview();
  });
}
