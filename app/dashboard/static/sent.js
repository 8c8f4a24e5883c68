// Keeps what a form sends, and fills it in again where the form has to be sent once more: the session
// had ended, or the password was asked for. Loaded once something is typed, or has to be filled in.

const KEPT = "sent";
const {person} = document.documentElement.dataset;

addEventListener("submit", event => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || form.querySelector("[type=password]")) return;
  const fields = [...form.elements].map(({name, value, checked}) => [name, value, !!checked]);
  sessionStorage.setItem(KEPT, JSON.stringify({person, action: form.getAttribute("action"), fields}));
});

function fill(field, [name, value, checked]) {
  if (!name || name !== field.name || name === "form_token" || field.type === "file") return;
  const isNew = field.value !== value || !!field.checked !== checked;
  field.value = value;
  field.checked = checked;
  const details = field.closest("details");
  if (details && isNew) details.open = true;
}

function fillAgain() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  sessionStorage.removeItem(KEPT);
  const form = document.querySelector(`form[method=post][action="${CSS.escape(kept.action)}"]`);
  if (!form || kept.person !== person) return;
  [...form.elements].forEach((field, index) => fill(field, kept.fields[index] ?? []));
  form.elements[0].dispatchEvent(new Event("input", {bubbles: true}));
}

if (new URLSearchParams(location.search).get("notice") === "not-sent") fillAgain();
