// The Speak button says why it waits. It stays focusable: only its clicks are not followed.

import { t } from "./strings.js";

const button = document.getElementById("speak");
const words = document.getElementById("speak-text");

let kind = "checking";
let busy = false;
let waitSeconds = 0;
let timer = null;

function show() {
  button.setAttribute("aria-disabled", String(!maySpeak()));
  button.classList.toggle("busy", busy);
  if (waitSeconds > 0) words.textContent = t("speak.wait", { seconds: waitSeconds });
  else if (busy) words.textContent = t("speak.busy");
  else words.textContent = t(kind === "ready" ? "speak.action" : `state.${kind}`);
}

/** Whether a press would be followed. */
export function maySpeak() {
  return kind === "ready" && !busy && waitSeconds === 0;
}

/** What the server can do now: "ready", or why it cannot speak. */
export function setState(now) {
  kind = now;
  show();
}

/** A synthesis runs, or ended. */
export function setBusy(now) {
  busy = now;
  show();
}

/** Count `seconds` down, calling `onSecond(left)` each second, then let the button speak again. */
export function countDown(seconds, onSecond) {
  clearInterval(timer);
  const endMs = performance.now() + seconds * 1000;
  const tick = () => {
    waitSeconds = Math.max(0, Math.ceil((endMs - performance.now()) / 1000));
    if (waitSeconds === 0) clearInterval(timer);
    show();
    onSecond(waitSeconds);
  };
  timer = setInterval(tick, 250);
  tick();
}
