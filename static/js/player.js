// Plays the finished answer from a Blob, which every browser can seek in, and offers it as a file.

import { t } from "./strings.js";
import { voiceName } from "./voice_menu.js";
import { showPlayed, showWaveform } from "./waveform.js";

const audio = document.getElementById("audio");
const play = document.getElementById("play");
const position = document.getElementById("position");
const download = document.getElementById("download");
const clockAt = document.getElementById("clock-at");
const clockLength = document.getElementById("clock-length");

let address = null;
let lengthSeconds = 0;
let onUnplayable = () => {};

/** Show `answer` and start to play it; `unplayable` is called when this browser cannot. */
export function showAnswer(answer, format, unplayable) {
  onUnplayable = unplayable;
  if (address) URL.revokeObjectURL(address);
  address = URL.createObjectURL(answer.blob);
  setLength(answer.audioSeconds);
  audio.src = address;
  download.href = address;
  download.download = answer.filename;
  document.getElementById("download-text").textContent = t("answer.download", { format: format.toUpperCase() });
  fact("voice", voiceName(answer.speaker));
  fact("length", seconds(answer.audioSeconds));
  fact("made", seconds(answer.synthesisSeconds));
  fact("factor", Number.isFinite(answer.realTimeFactor) ? answer.realTimeFactor.toFixed(2) : "–");
  fact("seed", answer.seed || "–");
  showAt(0);
  showWaveform(answer.blob);
  audio.play().catch(() => {}); // a browser may want a click first: the button is there
}

/** Stop playing, as a new answer is being made. */
export function pausePlayer() {
  audio.pause();
}

function fact(name, text) {
  document.getElementById(`fact-${name}`).textContent = text;
}

function seconds(value) {
  return Number.isFinite(value) ? t("facts.seconds", { seconds: value.toFixed(1) }) : "–";
}

function clock(value) {
  const whole = Math.max(0, Math.round(value));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function setLength(value) {
  if (!Number.isFinite(value) || value <= 0) return;
  lengthSeconds = value;
  position.max = String(value);
  clockLength.textContent = clock(value);
}

function showAt(at) {
  position.value = String(at);
  position.setAttribute(
    "aria-valuetext",
    t("answer.position.value", { at: at.toFixed(0), length: lengthSeconds.toFixed(0) }),
  );
  clockAt.textContent = clock(at);
  showPlayed(lengthSeconds > 0 ? Math.min(1, at / lengthSeconds) : 0);
}

function follow() {
  showAt(audio.currentTime);
  if (!audio.paused) requestAnimationFrame(follow);
}

function showPlaying() {
  const playing = !audio.paused && !audio.ended;
  play.classList.toggle("playing", playing);
  play.setAttribute("aria-label", t(playing ? "answer.pause" : "answer.play"));
  follow();
}

play.addEventListener("click", () => {
  if (audio.paused) audio.play().catch(() => {});
  else audio.pause();
});
position.addEventListener("input", () => {
  audio.currentTime = Number(position.value);
  showAt(audio.currentTime);
});
audio.addEventListener("loadedmetadata", () => setLength(audio.duration));
audio.addEventListener("seeked", () => showAt(audio.currentTime));
for (const event of ["play", "pause", "ended"]) audio.addEventListener(event, showPlaying);
audio.addEventListener("error", () => onUnplayable());
