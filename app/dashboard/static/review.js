// Review of an evaluation: shows the new score before it is saved, and takes selected words as a quote.

import {onKeys} from "./keys.js";

const PAUSE_MS = 300;
const REASONLESS = ["request", "start", "confirm"];
const form = document.getElementById("review");
const panel = document.querySelector("details.review");
const shown = document.querySelector("[data-preview-text]");
const action = document.getElementById("action");
const reason = document.getElementById("reason");
let timer = 0, asked = 0, wanted = action?.value;

export function openAround(element) {
  for (let part = element.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
}

function changed() {
  return [...form.elements].filter(field => field.name.startsWith("answer.") && field.value);
}

function tell() {
  const {length} = changed();
  panel.querySelector("[data-changes]").textContent = `${length || "No"} change${length === 1 ? "" : "s"}`;
  panel.querySelector("[data-action-text]").textContent = action.selectedOptions[0].text;
  reason.required = !REASONLESS.includes(action.value);
}

function showPreview(text, isProblem = false) {
  shown.textContent = text;
  shown.classList.toggle("problem", isProblem);
}

async function preview() {
  if (!shown) return;
  const run = ++asked;
  if (!changed().length) return showPreview("");
  const reply = await fetch(form.dataset.preview, {
    method: "POST",
    body: new FormData(form),
    headers: {Accept: "application/json"},
  });
  const {error, passed, score} = await reply.json();
  if (run !== asked) return;
  const verdict = passed === null ? "no verdict" : passed ? "passed" : "not passed";
  showPreview(reply.ok ? `→ ${score} ${verdict}` : error.details?.[0]?.message || error.message, !reply.ok);
}

function takeQuote(button) {
  const field = button.parentElement;
  const text = field.querySelector("[data-quote-text]");
  const selection = getSelection();
  const range = selection.rangeCount ? selection.getRangeAt(0) : null;
  const said = range?.startContainer.parentElement.closest(".said");
  // The range has its words where a phone hides them.
  const quote = `${range ?? ""}`;
  if (!quote.trim() || !said?.contains(range.endContainer)) {
    text.textContent = "Select words of one turn in the transcript first.";
    return;
  }
  const before = new Range();
  before.setStart(said, 0);
  before.setEnd(range.startContainer, range.startOffset);
  // As the service counts: a pair of surrogates is one character.
  const place = [...before.toString()].length;
  field.querySelector("[type=hidden]").value = `${said.closest(".turn").id}:${place}:${quote}`;
  text.textContent = quote;
}

const choice = () => document.querySelector(".chosen select");

// Chooses the answer of this number; the first keeps it as it is.
function answer(number) {
  const select = choice();
  if (!select || number >= select.options.length) return;
  select.selectedIndex = number;
  select.dispatchEvent(new Event("input", {bubbles: true}));
}

function setAction(name) {
  if (!action.querySelector(`[value=${name}]`)) return;
  action.value = wanted = name;
  tell();
  panel.open = true;
  reason.focus();
}

if (action) {
  addEventListener("input", ({target}) => {
    if (target.form !== form) return;
    if (target === action) wanted = action.value;
    if (target.name.startsWith("answer.")) {
      action.value = changed().length && REASONLESS.includes(wanted) ? "override" : wanted;
      clearTimeout(timer);
      timer = setTimeout(() => preview().catch(() => {
        showPreview("The service cannot be reached: no new score.", true);
      }), PAUSE_MS);
    }
    tell();
  });
  for (const button of form.querySelectorAll("[data-take-quote]")) {
    // The press would clear the selection.
    button.addEventListener("mousedown", event => event.preventDefault());
    button.addEventListener("click", () => takeQuote(button));
  }
  // A field in a closed panel cannot say what it lacks.
  reason.addEventListener("invalid", () => { panel.open = true; });
  panel.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    panel.open = false;
    panel.firstElementChild.focus();
  });
  addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(form.elements.andNext);
  });
  onKeys({e: () => choice()?.focus(), c: () => setAction("confirm"), d: () => setAction("dispute")});
  for (let number = 1; number <= 9; number++) onKeys({[number]: () => answer(number)});
  // On the way back, the browser has put the answers back.
  addEventListener("pageshow", () => {
    changed().forEach(openAround);
    tell();
    preview();
  });
}
