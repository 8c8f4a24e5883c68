// One evaluation: criteria light their quotes, quotes play, turns are lit with the sound.

import {onKeys} from "./keys.js";
import {isTyped} from "./live.js";
import {player} from "./player.js";
import "./find.js";
import "./review.js";

const criteria = [...document.querySelectorAll("[data-criterion]")];
const turns = [...document.querySelectorAll(".turn")];
let chosen = null, lit = -1;

function reveal(element) {
  element?.scrollIntoView({block: "nearest"});
}

function windowOf({dataset: {from, to}}) {
  return from ? [+from, +to] : null;
}

function windowsOf(criterion) {
  return [...criterion.querySelectorAll(".quote")].map(windowOf).filter(Boolean);
}

function press(isChosen) {
  chosen?.classList.toggle("chosen", isChosen);
  chosen?.querySelector(".choose").setAttribute("aria-pressed", isChosen);
}

function choose(criterion) {
  press(false);
  chosen = criterion;
  press(true);
  const closed = chosen.closest("details:not([open], .change)");
  if (closed) closed.open = true;
  for (const mark of document.querySelectorAll("mark[data-criteria]")) {
    mark.classList.toggle("lit", mark.dataset.criteria.split(" ").includes(criterion.dataset.criterion));
  }
  player?.mark(windowsOf(criterion));
  reveal(criterion);
  reveal(document.querySelector("mark.lit"));
}

function step(by) {
  const next = criteria[chosen ? criteria.indexOf(chosen) + by : 0];
  if (!next) return;
  choose(next);
  next.querySelector(".choose").focus({preventScroll: true});
}

function playQuotes() {
  const windows = chosen ? windowsOf(chosen) : [];
  if (player && windows.length) player.playAll(windows);
  else reveal(document.querySelector("mark.lit"));
}

function show(milliseconds, playing) {
  const at = turns.findLastIndex(turn => turn.dataset.start <= milliseconds);
  if (at === lit) return;
  turns[lit]?.removeAttribute("aria-current");
  turns[at]?.setAttribute("aria-current", "true");
  lit = at;
  if (playing) reveal(turns[at]);
}

function toTurn(by) {
  const start = turns[Math.max(0, lit + by)]?.dataset.start;
  if (!start) return;
  player?.seek(start);
  show(+start, true);
}

for (const criterion of criteria) {
  criterion.querySelector(".choose").addEventListener("click", () => {
    if (criterion === chosen) playQuotes();
    else choose(criterion);
  });
}
addEventListener("click", event => {
  const button = event.target.closest("[data-turn], [data-seek], [data-from]");
  if (!button) return;
  const criterion = button.closest("[data-criterion]");
  if (criterion) choose(criterion);
  const range = windowOf(button);
  if (range) player?.playAll([range]);
  else if (button.dataset.seek) player?.playFrom(+button.dataset.seek);
  reveal(document.getElementById(button.dataset.turn));
});

const linked = criteria.find(criterion => "#" + criterion.id === location.hash);
if (linked) choose(linked);
player?.onTime(show);
player?.faint(criteria.flatMap(windowsOf), [...document.querySelectorAll(".moment")].map(windowOf));

function setAction(name) {
  const action = document.getElementById("action");
  if (!action?.querySelector(`[value=${name}]`)) return;
  action.value = name;
  document.getElementById("reason").focus();
}

// No link or key loses a half-written review.
addEventListener("beforeunload", event => { if (isTyped) event.preventDefault(); });

onKeys({
  ArrowUp: () => step(-1),
  ArrowDown: () => step(1),
  Enter: playQuotes,
  "[": () => toTurn(-1),
  "]": () => toTurn(1),
  c: () => setAction("confirm"),
  d: () => setAction("dispute"),
});
