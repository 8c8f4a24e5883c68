// Player of a recording, null on a page without sound.

import {onKeys} from "./keys.js";

const SPEEDS = [0.75, 1, 1.25, 1.5, 2];
const MOST_ZOOM = 16;
const HEADER_BYTES = 6;
const PEAKS_PER_MS = 0.02;
const root = document.getElementById("player");

// As the service writes times: 0:37 or 1:02:03.
function clock(milliseconds) {
  const time = new Date(milliseconds).toISOString().slice(11, 19);
  return time.replace(/^(00:)?0?/, "");
}

function lanesOf(buffer, roles) {
  const channels = new Uint8Array(buffer)[4];
  const length = (buffer.byteLength - HEADER_BYTES) / channels;
  const lanes = Array.from({length: channels}, (_, channel) => {
    const peaks = new Uint8Array(buffer, HEADER_BYTES + channel * length, length);
    const loudest = peaks.reduce((most, peak) => Math.max(most, peak), 1);
    return {role: roles[channel], peaks, loudest};
  });
  // The agent is above, whichever channel that is.
  return lanes.sort((first, second) => (second.role === "agent") - (first.role === "agent"));
}

const part = name => root.querySelector(`[data-${name}]`);

function createPlayer() {
  const audio = root.querySelector("audio");
  const canvas = root.querySelector("canvas");
  const slider = part("position");
  const state = part("wave-state");
  const duration = +root.dataset.duration;
  let listener = () => {};
  let lanes = [], marked = [], quoted = [], moments = [], queue = [];
  let zoom = 1, speed = 1, playingFor = 0;

  const now = () => (audio?.currentTime ?? 0) * 1000;

  function span() {
    const width = duration / zoom;
    const start = Math.min(Math.max(0, now() - width / 2), duration - width);
    return [start, width];
  }

  function draw() {
    const style = getComputedStyle(root);
    const color = name => style.getPropertyValue(name);
    const ratio = devicePixelRatio || 1;
    const {clientWidth: width, clientHeight: height} = canvas;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const [start, length] = span();
    const x = milliseconds => ((milliseconds - start) / length) * width;
    const fill = (name, from, to, top, size) => {
      context.fillStyle = color(name);
      context.fillRect(x(from), top, Math.max(2, x(to) - x(from)), size);
    };
    for (const [from, to] of marked) fill("--mark", from, to, 0, height);
    lanes.forEach((lane, index) => {
      const size = height / lanes.length;
      const middle = size * (index + 0.5);
      context.fillStyle = color(lane.role === "agent" ? "--accent" : "--text");
      const peakAt = column => Math.floor((start + (column / width) * length) * PEAKS_PER_MS);
      for (let column = 0; column < width; column += 2) {
        const from = peakAt(column);
        const peak = Math.max(0, ...lane.peaks.subarray(from, Math.max(from + 1, peakAt(column + 2))));
        const half = Math.max(0.5, (peak / lane.loudest) * size * 0.46);
        context.fillRect(column, middle - half, 1.5, half * 2);
      }
    });
    for (const [from, to] of quoted) fill("--line-strong", from, to, height - 3, 3);
    for (const [from] of moments) fill("--poor", from, from, 0, 8);
    fill("--poor", now(), now(), 0, height);
  }

  function show() {
    part("clock").textContent = `${clock(now())} / ${clock(duration)}`;
    if (document.activeElement !== slider) slider.value = now();
    slider.setAttribute("aria-valuetext", `${clock(now())} of ${clock(duration)}`);
    part("play").textContent = audio.paused ? "Play" : "Pause";
    listener(now(), !audio.paused);
    draw();
  }

  // A start that a pause cuts off is no failure; of others the element tells.
  const start = () => audio.play().catch(show);

  function seek(milliseconds) {
    queue = [];
    audio.currentTime = milliseconds / 1000;
    show();
  }

  function next() {
    const range = queue[0];
    if (!range) return audio.pause();
    audio.currentTime = range[0] / 1000;
    start();
  }

  function tick(run) {
    if (run !== playingFor || audio.paused) return;
    if (queue.length && now() >= queue[0][1]) {
      queue.shift();
      next();
    }
    show();
    requestAnimationFrame(() => tick(run));
  }

  function toggle() {
    queue = [];
    if (audio.paused) start();
    else audio.pause();
  }

  function changeSpeed(by, wrap = false) {
    speed = wrap ? (speed + by) % SPEEDS.length : Math.min(Math.max(0, speed + by), SPEEDS.length - 1);
    audio.playbackRate = SPEEDS[speed];
    part("speed").textContent = `${SPEEDS[speed]}×`;
  }

  async function loadWave() {
    const answer = await fetch(root.dataset.wave, {headers: {Accept: "application/json"}});
    if (answer.status === 202) {
      state.textContent = "The waveform is being drawn.";
      return setTimeout(loadWave, 2000);
    }
    const drawn = state.textContent !== "";
    state.textContent = answer.ok ? "" : "This recording has no waveform.";
    if (!answer.ok) return;
    lanes = lanesOf(await answer.arrayBuffer(), root.dataset.roles.split(" "));
    // Drawing may have made a play copy, whose times are right.
    if (drawn && audio?.paused) audio.load();
    draw();
  }

  loadWave();
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  if (!audio) return null;

  audio.addEventListener("play", () => tick(++playingFor));
  for (const event of ["pause", "seeked", "loadedmetadata"]) audio.addEventListener(event, show);
  audio.addEventListener("error", () => {
    state.textContent = "The sound cannot be played here.";
  });
  canvas.addEventListener("click", event => {
    const [start, length] = span();
    seek(start + (event.offsetX / canvas.clientWidth) * length);
  });
  slider.addEventListener("input", () => seek(+slider.value));
  part("play").addEventListener("click", toggle);
  part("speed").addEventListener("click", () => changeSpeed(1, true));
  part("zoom").addEventListener("click", event => {
    zoom = zoom < MOST_ZOOM ? zoom * 2 : 1;
    event.target.textContent = `Zoom ${zoom}×`;
    draw();
  });
  show();
  const move = by => seek(Math.min(Math.max(0, now() + by), duration));
  onKeys({
    " ": toggle,
    k: toggle,
    j: () => move(-5000),
    l: () => move(5000),
    ",": () => changeSpeed(-1),
    ".": () => changeSpeed(1),
  });

  return {
    seek,
    onTime: listen => { listener = listen; },
    playFrom(milliseconds) {
      seek(milliseconds);
      start();
    },
    // Plays parts of the sound in turn, then stops.
    playAll(windows) {
      queue = [...windows];
      next();
    },
    mark(windows) {
      marked = windows;
      draw();
    },
    faint(windows, times) {
      quoted = windows;
      moments = times.filter(Boolean);
      draw();
    },
  };
}

export const player = root ? createPlayer() : null;
