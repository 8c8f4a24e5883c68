// One evaluation: criteria light their quotes, quotes play, turns are lit with the sound.

import {onKeys} from "./keys.js";
import {isTyped} from "./live.js";
import {player} from "./player.js";
import {openAround} from "./review.js";

const all = selector => [...document.querySelectorAll(selector)];
const criteria = all("[data-criterion]");
const turns = all(".turn");
const back = document.querySelector("[data-back]");
const parts = document.querySelector(".parts");
let chosen = null, lit = -1;

const reveal = (element, container) => element?.scrollIntoView({block: "nearest", container});

// A narrow screen shows either the scorecard or the words.
function showPart(name) {
  if (parts?.checkVisibility()) document.getElementById(`show-${name}`).checked = true;
}

function revealTurn(id) {
  if (!id) return;
  showPart("words");
  reveal(document.getElementById(id));
}

const lineOf = criterion => criterion.firstElementChild;
const windowOf = ({dataset: {from, to}}) => from ? [+from, +to] : null;
const windowsOf = criterion => [...criterion.querySelectorAll(".quote")].map(windowOf).filter(Boolean);

function choose(criterion) {
  if (chosen) lineOf(chosen).ariaCurrent = null;
  chosen?.classList.remove("chosen");
  chosen = criterion;
  chosen.classList.add("chosen");
  lineOf(chosen).ariaCurrent = "true";
  showPart("scorecard");
  openAround(chosen);
  for (const mark of all("mark[data-criteria]")) {
    mark.classList.toggle("lit", mark.dataset.criteria.split(" ").includes(criterion.dataset.criterion));
  }
  player?.mark(windowsOf(criterion));
  back.textContent = `Back to ${criterion.querySelector("h4").textContent}`;
  back.hidden = false;
  reveal(lineOf(criterion));
  reveal(document.querySelector("mark.lit"));
}

function step(by) {
  const next = criteria[chosen ? criteria.indexOf(chosen) + by : 0];
  if (!next) return;
  choose(next);
  lineOf(next).focus();
}

function playQuotes() {
  const windows = chosen ? windowsOf(chosen) : [];
  if (player && windows.length) player.playAll(windows);
  else reveal(document.querySelector("mark.lit"));
}

function show(time, playing) {
  const at = turns.findLastIndex(turn => turn.dataset.start <= time);
  if (at === lit) return;
  turns[lit]?.removeAttribute("aria-current");
  turns[at]?.setAttribute("aria-current", "true");
  lit = at;
  // A reader who has moved to the scorecard stays there.
  if (playing) reveal(turns[at], "nearest");
}

function toTurn(by) {
  const start = turns[Math.max(0, lit + by)]?.dataset.start;
  if (!start) return;
  player?.seek(start);
  show(+start, true);
}

for (const criterion of criteria) {
  const line = lineOf(criterion);
  line.addEventListener("click", event => {
    if (criterion === chosen) return;
    event.preventDefault();
    choose(criterion);
  });
  line.addEventListener("keydown", event => {
    if (event.key !== "Enter" || criterion !== chosen || !windowsOf(chosen).length) return;
    event.preventDefault();
    playQuotes();
  });
}
addEventListener("click", event => {
  const button = event.target.closest("[data-turn], [data-seek]");
  if (!button) return;
  const criterion = button.closest("[data-criterion]");
  if (criterion) choose(criterion);
  const range = windowOf(button);
  if (range) player?.playAll([range]);
  else if (button.dataset.seek) player?.playFrom(+button.dataset.seek);
  revealTurn(button.dataset.turn);
});
back?.addEventListener("click", () => {
  choose(chosen);
  lineOf(chosen).focus();
});
document.getElementById("find-words")?.addEventListener("focus", () => import("./find.js"), {once: true});

function follow() {
  const target = document.getElementById(location.hash.slice(1));
  if (criteria.includes(target)) choose(target);
  else if (turns.includes(target)) revealTurn(target.id);
}

follow();
addEventListener("hashchange", follow);
player?.onTime(show);
player?.faint(criteria.flatMap(windowsOf), all(".moment").map(windowOf));

// No link or key loses a half-written review.
addEventListener("beforeunload", event => { if (isTyped) event.preventDefault(); });

onKeys({
  ArrowUp: () => step(-1),
  ArrowDown: () => step(1),
  Enter: playQuotes,
  "[": () => toTurn(-1),
  "]": () => toTurn(1),
});
