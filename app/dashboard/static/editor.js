// The editor of a scorecard: saves and checks the draft a moment after typing, and shows each finding
// at the field that its path names.

const PAUSE_MS = 400;
const RETRY_MS = 5000;
const MOST_NAMED = 6;
const form = document.getElementById("draft");
const general = form.querySelector("[data-general]");
const savedText = form.querySelector("[data-saved]");
let timer = 0;
// The criterion that was typed into last.
let typedIn = null;
let isSaving = false;
let hasConflict = "paused" in form.dataset;
let isDirty = hasConflict;
// A button that was pressed while a save was under way: the form has the version before it until then.
let pressed = null;

// The field of a path, or of the nearest path around it.
function fieldOf(path) {
  for (let name = path; name; name = name.replace(/(\.\w+|\[\d+\]|^\w+)$/, "")) {
    const field = form.elements[name];
    if (field?.type && field.type !== "hidden") return field;
  }
  return null;
}

function partOf(path) {
  const found = /^criteria\[\d+\]/.exec(path);
  return found && form.querySelector(`[data-path="${CSS.escape(found[0])}"]`);
}

function clearFindings() {
  for (const message of form.querySelectorAll("p.problem, p.hint")) message.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
  general.replaceChildren();
}

function addFinding({field: path, message}, number, isError) {
  const field = fieldOf(path);
  const part = partOf(path);
  const text = document.createElement(field || part ? "p" : "li");
  text.className = (isError ? "problem" : "hint") + " small";
  text.id = `finding-${number}`;
  text.textContent = field || part || !path.includes("[") ? message : `${path}: ${message}`;
  if (field) {
    field.closest(".field").append(text);
    const others = field.getAttribute("aria-describedby");
    field.setAttribute("aria-describedby", others ? `${others} ${text.id}` : text.id);
    if (isError) field.setAttribute("aria-invalid", "true");
  } else if (part) {
    part.querySelector("summary").after(text);
  } else {
    general.append(text);
  }
  for (let around = isError && text.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
}

// The places that keep the draft from being tried or published, beside the buttons; each leads to its part.
function nameBlockers(errors) {
  const blockers = form.querySelector("[data-blockers]");
  blockers.hidden = errors.length === 0;
  const list = blockers.querySelector("span");
  list.replaceChildren();
  errors.slice(0, MOST_NAMED).forEach(({place, part}, number) => {
    const link = document.createElement("a");
    link.href = `#${part}`;
    link.textContent = place;
    list.append(number ? ", " : "", link);
  });
  if (errors.length > MOST_NAMED) list.append(` and ${errors.length - MOST_NAMED} more`);
}

function show(answer) {
  form.elements.version.value = answer.version;
  form.querySelector("[data-weights]").textContent = answer.weights;
  for (const button of form.querySelectorAll("[data-valid]")) button.disabled = answer.errors.length > 0;
  savedText.textContent = answer.saved;
  nameBlockers(answer.errors);
  clearFindings();
  answer.errors.forEach((finding, number) => addFinding(finding, `e${number}`, true));
  answer.warnings.forEach((finding, number) => addFinding(finding, `w${number}`, false));
}

async function save() {
  if (isSaving || hasConflict) return;
  isSaving = true;
  isDirty = false;
  let isSaved = false;
  try {
    const reply = await fetch(form.dataset.lint, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: {Accept: "application/json"},
    });
    const body = await reply.json();
    const isGone = reply.status === 404;
    hasConflict = isGone || reply.status === 412;
    isSaved = reply.ok;
    if (isSaved) show(body);
    else savedText.textContent = body.error.message + (isGone ? " Press Save to keep what you typed in a new draft." : hasConflict ? " Press Save to compare." : "");
  } catch {
    savedText.textContent = "Not saved: the service could not be reached. What you typed stays here.";
  }
  isSaving = false;
  if (pressed && !pressed.disabled) return form.requestSubmit(pressed);
  pressed = null;
  const part = typedIn;
  typedIn = null;
  if (isSaved && part) showHits(part).catch(() => {});
  if (isDirty || !isSaved) later(isSaved ? PAUSE_MS : RETRY_MS);
  isDirty ||= !isSaved;
}

// What the criterion that is typed finds in ten past conversations.
async function showHits(part) {
  const shown = part.querySelector("[data-hits-shown]");
  const fields = new FormData(form);
  fields.set("path", part.dataset.path);
  const reply = await fetch(form.dataset.hits, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: {Accept: "application/json"},
  });
  const hits = reply.ok ? await reply.json() : [];
  shown.replaceChildren();
  if (hits.length === 0) return;
  const list = document.createElement("ul");
  for (const hit of hits) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `/evaluations/${hit.evaluationId}`;
    link.target = "_blank";
    link.textContent = hit.answer;
    item.append(link, hit.quote ? `: ${hit.quote}` : "");
    list.append(item);
  }
  const title = document.createElement("p");
  title.className = "muted small";
  title.textContent = `In the last ${hits.length} conversations:`;
  shown.append(title, list);
}

function later(pauseMs) {
  clearTimeout(timer);
  timer = setTimeout(save, pauseMs);
}

form.addEventListener("input", event => {
  isDirty = true;
  typedIn = event.target.closest("[data-path]");
  later(PAUSE_MS);
});
form.querySelector("[data-blockers]").addEventListener("click", event => {
  const part = event.target.hash && document.getElementById(event.target.hash.slice(1));
  for (let around = part; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
});
form.addEventListener("change", event => {
  if (!("rebuilds" in event.target.dataset)) return;
  form.requestSubmit(event.target.closest("[data-path]").querySelector("[data-applies] button"));
});
form.addEventListener("submit", event => {
  clearTimeout(timer);
  isDirty = false;
  if (!isSaving) return;
  event.preventDefault();
  pressed = event.submitter;
});
addEventListener("beforeunload", event => {
  if (isDirty) event.preventDefault();
});
for (const part of form.querySelectorAll("[data-applies]")) part.hidden = true;
save();
