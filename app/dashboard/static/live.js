// Progress of work in the elements with data-live, and the strips that tell what is wrong.

const OFTEN_FOR_MS = 30000;
const strip = name => document.getElementById(`${name}-strip`);
let busySince = performance.now();
let timer = 0;
// Whether a form has values that were not sent.
export let isTyped = !!document.querySelector("[data-typed]");

function awaited() {
  return [...document.querySelectorAll("[data-live]")].filter(element => !element.dataset.ended);
}

function show(element, work) {
  const text = element.querySelector("[data-live-text]");
  const bar = element.querySelector("progress");
  if (text && text.textContent !== work.text) text.textContent = work.text;
  if (bar && work.percent !== null) bar.value = work.percent;
  if (!work.ended) return;
  element.dataset.ended = "yes";
  element.dispatchEvent(new CustomEvent("ended", {bubbles: true, detail: work}));
  if ("liveReload" in element.dataset) location.reload();
}

// Loading the page again leads to the sign-in, but loses what was typed.
function endSession() {
  if (!isTyped) location.reload();
  strip("session").hidden = false;
}

// Ask at once and often, because new work has begun.
export function watch() {
  busySince = performance.now();
  ask();
}

async function ask() {
  clearTimeout(timer);
  if (document.hidden) return;
  const elements = awaited().slice(0, 50);
  try {
    const answer = await fetch("/live/progress?ids=" + elements.map(element => element.dataset.live), {
      headers: {Accept: "application/json"},
    });
    if (answer.status === 401) return endSession();
    if (!answer.ok) throw new Error(answer.statusText);
    const {worker, work} = await answer.json();
    strip("worker").hidden = worker;
    strip("connection").hidden = true;
    for (const element of elements) {
      const found = work[element.dataset.live];
      if (found) show(element, found);
    }
    document.dispatchEvent(new Event("progress"));
  } catch {
    strip("connection").hidden = false;
  }
  const isBusy = awaited().length && performance.now() - busySince < OFTEN_FOR_MS;
  timer = setTimeout(ask, isBusy ? 2000 : 4000);
}

addEventListener("input", event => { isTyped ||= event.target.form?.method === "post"; });
addEventListener("submit", () => { isTyped = false; });
document.addEventListener("visibilitychange", watch);
timer = setTimeout(ask, awaited().length ? 1000 : 4000);
