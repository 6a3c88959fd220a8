// Wires the page: state of the server -> Speak -> progress -> answer or words of trouble.

import { expectedSeconds, learn } from "./estimate.js";
import { chosenManner, showModes } from "./manner.js";
import { announce, clearMessage, inWords, showMessage, showPanel, updateMessage } from "./messages.js";
import { pausePlayer, showAnswer } from "./player.js";
import { startProgress } from "./progress.js";
import { watchReadiness } from "./readiness.js";
import { NetworkError, ServerError, speak, voices } from "./server.js";
import { countDown, maySpeak, setBusy, setState } from "./speak_button.js";
import { maxTextChars, t } from "./strings.js";
import { focusText, lengthOf, textNow, watchText } from "./text_box.js";
import { nameAutomaticVoice, showVoices, voiceName } from "./voice_menu.js";

const form = document.getElementById("speech-form");
const speed = document.getElementById("speed");
const cancel = document.getElementById("cancel");
const NOT_READY_CODES = ["not_ready", "engine_failed", "shutting_down"];
const WHY = {
  loading: "state.loading.why",
  failed: "state.failed.why",
  degraded: "state.degraded.why",
  unreachable: "state.unreachable.why",
};

let running = null;
let hasAnswer = false;

// --- State of the server

const watch = watchReadiness(({ kind, reason }) => {
  const state = document.getElementById("state");
  const why = document.getElementById("state-why");
  state.dataset.state = kind;
  document.getElementById("state-text").textContent = t(`state.${kind}`);
  const words = WHY[kind];
  why.textContent = words ? t(words, { reason }) : "";
  why.hidden = !words;
  why.classList.toggle("bad", kind !== "loading");
  setState(kind);
  if (kind === "ready") loadVoices();
});

async function loadVoices() {
  try {
    const found = await voices();
    showVoices(found.voices);
    showModes(found.modes, found.voices.length);
    nameAutomaticVoice(textNow());
  } catch (error) {
    if (error instanceof ServerError && error.retryAfterSeconds) {
      setTimeout(loadVoices, error.retryAfterSeconds * 1000); // speaking works without the menu
    } else if (error instanceof NetworkError || error instanceof ServerError) {
      watch.restart();
    } else {
      throw error;
    }
  }
}

// --- Speaking

async function speakNow() {
  const text = textNow();
  if (!maySpeak()) return;
  clearMessage();
  if (!text.trim()) return refuse(t("error.empty"));
  if (lengthOf(text) > maxTextChars) return refuse(t("error.text_too_long", { limit: maxTextChars }));

  const manner = chosenManner();
  if (manner.refusal) return refuse(manner.refusal, manner.control);

  const choice = new FormData(form);
  const request = { text, language: "auto", speed: Number(speed.value), format: choice.get("format"), ...manner };

  running = new AbortController();
  setBusy(true);
  pausePlayer();
  showPanel("progress");
  announce(t("progress.spoken"));
  cancel.scrollIntoView({ block: "nearest" });
  const stopProgress = startProgress(expectedSeconds(text, request.speed));
  try {
    finish(await speak(request, running.signal), request);
  } catch (error) {
    fail(error);
  } finally {
    stopProgress();
    running = null;
    setBusy(false);
  }
}

function finish(answer, request) {
  learn(request.text, request.speed, answer);
  hasAnswer = true;
  leaveProgress("player", "play");
  showAnswer(answer, request.format, () =>
    showMessage(t("answer.unplayable", { format: request.format.toUpperCase() })),
  );
  announce(t("answer.done", { length: answer.audioSeconds.toFixed(1), voice: voiceName(answer.speaker) }));
}

function fail(error) {
  leaveProgress(hasAnswer ? "player" : "empty", "speak");
  if (error.name === "AbortError") {
    announce(t("progress.cancelled"));
    return;
  }
  if (!(error instanceof ServerError || error instanceof NetworkError)) throw error;
  const isOurFault = error.status >= 500 && !error.retryAfterSeconds;
  showMessage(inWords(error), isOurFault ? error.requestId : "");
  if (error instanceof NetworkError || NOT_READY_CODES.includes(error.code)) {
    watch.restart();
  } else if (error.code === "unknown_voice") {
    loadVoices();
  } else if (error.retryAfterSeconds) {
    countDown(error.retryAfterSeconds, (left) => {
      if (left > 0) {
        updateMessage(inWords(error, left));
      } else {
        clearMessage();
        announce(t("speak.again"));
      }
    });
  }
}

/** Change the panel; whoever stood on Cancel is put on the control that follows it. */
function leaveProgress(panel, nextId) {
  const stoodOnCancel = document.activeElement === cancel;
  showPanel(panel);
  if (stoodOnCancel) document.getElementById(nextId).focus();
}

function refuse(words, control = null) {
  showMessage(words);
  if (control) control.focus();
  else focusText();
}

// --- Wiring

form.noValidate = true; // our own words instead of the browser's bubble
form.addEventListener("submit", (event) => {
  event.preventDefault();
  speakNow();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    speakNow();
  } else if (event.key === "Escape" && running) {
    running.abort();
  }
});
cancel.addEventListener("click", () => running?.abort());

const showSpeed = () => {
  const words = t("speed.value", { speed: Number(speed.value).toFixed(2) });
  document.getElementById("speed-value").textContent = words;
  speed.setAttribute("aria-valuetext", words);
};
speed.addEventListener("input", showSpeed);
showSpeed();

watchText(nameAutomaticVoice);
const onMac = /Mac|iPhone|iPad/.test(navigator.platform);
document.getElementById("speak-shortcut").textContent = t(onMac ? "speak.shortcut.mac" : "speak.shortcut");
