// What went wrong, in words, and the panels of the answer.

import { NetworkError } from "./server.js";
import { hasString, maxTextChars, maxUploadBytes, t } from "./strings.js";

const answer = document.getElementById("answer");
const box = document.getElementById("message");
const text = document.getElementById("message-text");
const reference = document.getElementById("message-reference");
const announcement = document.getElementById("announcement");

/** Show one panel of the answer: "empty", "progress" or "player". */
export function showPanel(name) {
  answer.dataset.panel = name;
  for (const panel of answer.querySelectorAll("[data-panel-name]")) panel.hidden = panel.dataset.panelName !== name;
}

/** Say something to screen readers only. */
export function announce(words) {
  announcement.textContent = words;
}

/** Show words of trouble; `requestId` helps the operator find it in the log. */
export function showMessage(words, requestId = "") {
  text.textContent = words;
  reference.textContent = requestId ? t("error.reference", { id: requestId }) : "";
  reference.hidden = !requestId;
  box.setAttribute("aria-live", "assertive");
  box.hidden = false;
}

/** Change the words of the message that is shown, as in a countdown; screen readers are not told again. */
export function updateMessage(words) {
  box.setAttribute("aria-live", "off");
  text.textContent = words;
}

/** Take the words away. */
export function clearMessage() {
  box.hidden = true;
  text.textContent = "";
}

/** An error in the reader's words; `seconds` is what is left to wait. */
export function inWords(error, seconds = error.retryAfterSeconds) {
  if (error instanceof NetworkError) return t("error.network");
  const key = `error.${error.code}`;
  const known = hasString(key) ? key : "error.unknown";
  const megabytes = Math.floor(maxUploadBytes / 1e6);
  return t(known, { message: error.message, limit: maxTextChars, megabytes, seconds: seconds ?? 1 });
}
