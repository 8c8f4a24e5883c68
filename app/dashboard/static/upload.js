// Files dropped on the page: recordings are uploaded by signed links, two at a time, other files are
// sent to a dry run. A refused file says why, stops no other, and is remembered until the tab closes.

import {watch} from "./live.js";
import {refresh} from "./refresh.js";

const AT_ONCE = 2;
const LARGEST_FORM = 1_000_000;
// Of all names in a request: a form has at most half a megabyte.
const MOST_LETTERS = 75_000;
const REFUSED = "cqe-refused";
const form = document.getElementById("add");
const input = document.getElementById("file");
const list = document.getElementById("files");
const section = document.getElementById("dropped");
const rowTemplate = document.getElementById("file-row");
const recordingTypes = JSON.parse(form.dataset.recordingTypes);
const importSuffixes = form.dataset.importSuffixes.split(" ");
const waiting = [];
const earlier = [];
let running = 0;
let refreshing = 0;

const suffixOf = file => file.name.toLowerCase().match(/\.[a-z0-9]+$/)?.[0] || "";
const typeOf = file => recordingTypes[suffixOf(file)];

function sizeText(bytes) {
  const [unit, divisor] = bytes < 1e6 ? ["kB", 1e3] : ["MB", 1e6];
  return `${(bytes / divisor).toFixed(1)} ${unit}`;
}

function addRow(name, size, kind) {
  const row = rowTemplate.content.firstElementChild.cloneNode(true);
  row.querySelector("[data-name]").textContent = name;
  row.querySelector("[data-size]").textContent = sizeText(size);
  row.querySelector("[data-kind]").textContent = kind;
  row.querySelector("progress").setAttribute("aria-label", `Progress of ${name}`);
  list.append(row);
  section.hidden = false;
  return row;
}

function say(row, text) {
  row.querySelector("[data-live-text]").textContent = text;
}

function showLink(row, url, text) {
  const link = row.querySelector("[data-link]");
  link.href = url;
  link.textContent = text;
  link.hidden = false;
}

// Many files that end together are one refresh.
function refreshSoon() {
  refreshing ||= setTimeout(() => {
    refreshing = 0;
    refresh();
  }, 1000);
}

function remembered() {
  return JSON.parse(sessionStorage.getItem(REFUSED) || "[]");
}

function showRefusal(row, reason) {
  row.dataset.refused = "yes";
  row.querySelector("progress").hidden = true;
  say(row, `Refused: ${reason}`);
}

function refuse(row, file, reason) {
  showRefusal(row, reason);
  const refused = [...remembered(), {name: file.name, size: file.size, reason}];
  sessionStorage.setItem(REFUSED, JSON.stringify(refused.slice(-20)));
}

async function send(url, fields) {
  const answer = await fetch(url, {
    method: "POST",
    body: fields,
    headers: {Accept: "application/json", "X-CQE-Token": form.elements.form_token.value},
  });
  if (answer.ok) return answer;
  const {error} = await answer.json().catch(() => ({error: null}));
  throw new Error(error?.details?.[0]?.message || error?.message || `The service answered ${answer.status}.`);
}

function put(url, file, type, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", url);
    request.setRequestHeader("Content-Type", type);
    request.upload.addEventListener("progress", event => onProgress(event.loaded / event.total));
    request.addEventListener("load", () => {
      if (request.status < 300) resolve();
      else reject(new Error(`The upload was answered with ${request.status}.`));
    });
    request.addEventListener("error", () => reject(new Error("The connection was lost: drop the file again.")));
    request.send(file);
  });
}

// Sends files one after the other: a recording, both sides of a call, or a file of conversations.
async function upload(row, name, files, url) {
  const fields = new FormData(form);
  fields.delete("file");
  fields.set("fileName", name);
  for (const file of files) {
    fields.append("contentType", typeOf(file) || "");
    fields.append("sizeBytes", file.size);
  }
  const reserved = await (await send(url, fields)).json();
  const bar = row.querySelector("progress");
  for (const [index, file] of files.entries()) {
    const type = reserved.contentType || typeOf(file);
    const show = share => { bar.value = 100 * (index + share) / files.length; };
    await put(reserved.uploadUrls[index], file, type, show);
  }
  bar.value = 0;
  say(row, "Uploaded");
  row.dataset.live = reserved.id;
  refreshSoon();
  return reserved;
}

// The number of channels, from the header of a WAV file; 0 where it is not known.
async function channelsOf(file) {
  const header = new DataView(await file.slice(0, 4096).arrayBuffer());
  const mark = at => at + 4 <= header.byteLength ? header.getUint32(at) : 0;
  if (mark(0) !== 0x52494646 || mark(8) !== 0x57415645) return 0;
  for (let at = 12; at + 12 <= header.byteLength; at += 8 + header.getUint32(at + 4, true)) {
    if (mark(at) === 0x666d7420) return header.getUint16(at + 10, true);
  }
  return 0;
}

async function addRecording(row, name, files) {
  const isHalf = files.length === 1 && await channelsOf(files[0]) === 1;
  row.querySelector("[data-one-channel]").hidden = !isHalf;
  await upload(row, name, files, form.dataset.recordings);
  watch();
}

async function checkImport(row, file) {
  if (file.size > LARGEST_FORM) {
    const {url} = await upload(row, file.name, [file], form.dataset.imports);
    showLink(row, url, `Check of ${file.name}`);
    watch();
    return;
  }
  const fields = new FormData(form);
  fields.delete("calls");
  fields.set("file", file);
  const answer = await send(form.action, fields);
  row.querySelector("progress").hidden = true;
  row.dataset.live = new URL(answer.url).pathname.split("/").pop();
  showLink(row, answer.url, `Check of ${file.name}`);
  watch();
}

function next() {
  while (running < AT_ONCE && waiting.length) {
    const {row, file, work} = waiting.shift();
    running += 1;
    say(row, "Being sent");
    work().catch(error => refuse(row, file, error.message)).finally(() => {
      running -= 1;
      next();
    });
  }
}

function queue(row, file, work) {
  say(row, "Waiting");
  waiting.push({row, file, work});
}

function take(file) {
  const type = typeOf(file);
  const isImport = importSuffixes.includes(suffixOf(file));
  const row = addRow(file.name, file.size, type || (isImport ? "Conversations" : "Unknown type"));
  if (!type && !isImport) return refuse(row, file, "this is neither a recording nor a file of conversations.");
  if (!file.size) return refuse(row, file, "the file is empty.");
  queue(row, file, () => type ? addRecording(row, file.name, [file]) : checkImport(row, file));
}

function takePair({name, reason}, files) {
  const whole = {name, size: files[0].size + files[1].size};
  const row = addRow(name, whole.size, "Two sides of one call");
  const [agent, customer] = files.map(file => file.name);
  const sides = row.querySelector("[data-sides]");
  sides.hidden = false;
  sides.textContent = reason ? `${agent} and ${customer}` : `The agent is heard in ${agent}, the customer in ${customer}.`;
  if (reason) return refuse(row, whole, reason);
  if (!files.every(file => file.size)) return refuse(row, whole, "a file is empty.");
  queue(row, whole, () => addRecording(row, name, files));
}

function showCallsLeft({names, more}) {
  const calls = document.getElementById("calls-left");
  calls.hidden = !names.length;
  calls.querySelector("summary span").textContent = `Calls of the log without a recording here: ${names.length + more}`;
  const lines = more ? [...names, `and ${more} more`] : names;
  calls.querySelector("ul").replaceChildren(...lines.map(line => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
}

const lettersOf = names => names.reduce((sum, name) => sum + name.length, 0);
const callOf = file => file.name.replace(/[-_.][^-_.]*\.[^.]*$/, "");

// Parts of many recordings that one request can name; the sides of a call are in one part.
function partsOf(recordings) {
  const parts = [];
  let letters = MOST_LETTERS;
  for (const file of recordings.sort((a, b) => callOf(a).localeCompare(callOf(b)))) {
    const last = parts.at(-1)?.at(-1);
    const most = last && callOf(last) === callOf(file) ? 2 * MOST_LETTERS : MOST_LETTERS;
    if (letters + file.name.length > most) {
      parts.push([]);
      letters = 0;
    }
    parts.at(-1).push(file);
    letters += file.name.length;
  }
  return parts;
}

// Takes two files whose names say that they are the sides of one call as one recording, and says which
// recordings are not in the log, and which calls of the log have none.
async function takePairs(recordings) {
  const fields = new FormData(form);
  fields.delete("file");
  const names = recordings.map(file => file.name);
  fields.set("fileNames", JSON.stringify(names));
  const isWhole = lettersOf([...names, ...earlier]) <= MOST_LETTERS;
  if (isWhole) fields.set("earlier", JSON.stringify(earlier));
  const {pairs, notInLog, callsLeft} = await (await send(form.dataset.pairs, fields)).json();
  showCallsLeft(isWhole ? callsLeft : {names: [], more: 0});
  const taken = pairs.flatMap(pair => pair.files);
  const single = recordings.filter((_, index) => !taken.includes(index));
  earlier.push(...pairs.map(pair => pair.name), ...single.map(file => file.name));
  for (const pair of pairs) takePair(pair, pair.files.map(index => recordings[index]));
  for (const file of single) take(file);
  for (const row of list.children) {
    if (notInLog.includes(row.querySelector("[data-name]").textContent)) row.querySelector("[data-unlogged]").hidden = false;
  }
}

async function takeAll(files) {
  for (const recordings of partsOf(files.filter(typeOf))) {
    try {
      await takePairs(recordings);
    } catch (error) {
      for (const file of recordings) refuse(addRow(file.name, file.size, typeOf(file)), file, error.message);
    }
  }
  for (const file of files.filter(file => !typeOf(file))) take(file);
  next();
}

document.getElementById("without-script").hidden = true;
for (const {name, size, reason} of remembered()) showRefusal(addRow(name, size, "Refused"), reason);
document.getElementById("forget").addEventListener("click", () => {
  sessionStorage.removeItem(REFUSED);
  for (const row of list.querySelectorAll("[data-refused]")) row.remove();
  section.hidden = !list.children.length;
});
input.addEventListener("change", () => {
  takeAll([...input.files]);
  input.value = "";
});
form.addEventListener("dragover", event => event.preventDefault());
form.addEventListener("drop", event => {
  event.preventDefault();
  takeAll([...event.dataTransfer.files]);
});
document.addEventListener("ended", ({target, detail}) => {
  target.querySelector("progress").hidden = true;
  if (detail.url) showLink(target, detail.url, "Open the evaluation");
  refreshSoon();
});
addEventListener("beforeunload", event => {
  if (running) event.preventDefault();
});
