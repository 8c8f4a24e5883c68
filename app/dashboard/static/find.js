// Find in the words: lights every match, and Enter goes to the next one. Loaded when its field is used.

const field = document.getElementById("find-words");
const count = document.getElementById("found-count");
let matches = [], at = 0;

// A turn is cut into runs by its quotes, and a match may reach over several of them.
function matchesIn(said, pattern) {
  const walker = document.createTreeWalker(said, NodeFilter.SHOW_TEXT);
  const runs = [];
  let text = "";
  while (walker.nextNode()) {
    runs.push([walker.currentNode, text.length]);
    text += walker.currentNode.data;
  }
  const place = offset => {
    const [node, start] = runs.findLast(run => run[1] <= offset);
    return [node, offset - start];
  };
  return [...text.matchAll(pattern)].map(match => {
    const range = new Range();
    range.setStart(...place(match.index));
    range.setEnd(...place(match.index + match[0].length));
    return range;
  });
}

function show() {
  CSS.highlights.set("found", new Highlight(...matches));
  CSS.highlights.set("found-here", new Highlight(...matches.slice(at, at + 1)));
  count.textContent = field.value.trim() && `${matches.length && at + 1} of ${matches.length}`;
  matches[at]?.startContainer.parentElement.scrollIntoView({block: "nearest"});
}

function search() {
  const text = field.value.trim().replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const turns = text ? [...document.querySelectorAll(".said")] : [];
  matches = turns.flatMap(said => matchesIn(said, new RegExp(text, "giu")));
  at = 0;
  show();
}

field.addEventListener("input", search);
field.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !matches.length) return;
  at = (at + (event.shiftKey ? -1 : 1) + matches.length) % matches.length;
  show();
});
// What was typed before this script was here.
search();
