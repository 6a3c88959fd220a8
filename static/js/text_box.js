// The text box, its counter and the example texts. What the user wrote is never cut and never lost.

import { maxTextChars, t } from "./strings.js";

const box = document.getElementById("text");
const count = document.getElementById("text-count");
const examples = document.getElementById("examples");
const DRAFT = "cosyvoice-web.draft"; // this tab only, so that a reload or a change of language keeps the text

/** The text as it stands. */
export function textNow() {
  return box.value;
}

/** Characters as the server counts them. */
export function lengthOf(text) {
  return [...text].length;
}

/** Put the cursor into the box. */
export function focusText() {
  box.focus();
}

/** Call `onText(text)` now and at each change. */
export function watchText(onText) {
  const show = () => {
    const length = lengthOf(box.value);
    const over = length - maxTextChars;
    count.classList.toggle("over", over > 0);
    box.setAttribute("aria-invalid", String(over > 0));
    count.textContent =
      over > 0 ? t("text.over", { over, limit: maxTextChars }) : t("text.count", { count: length, limit: maxTextChars });
    onText(box.value);
  };
  box.addEventListener("input", show);
  restoreDraft();
  show();
}

function restoreDraft() {
  try {
    box.value ||= sessionStorage.getItem(DRAFT) ?? "";
  } catch {
    return; // storage is off
  }
  window.addEventListener("pagehide", () => sessionStorage.setItem(DRAFT, box.value));
}

/** Replace the text so that the browser's undo brings the old one back. */
function replaceText(text) {
  box.focus();
  box.select();
  if (document.execCommand("insertText", false, text)) return;
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

examples.hidden = false;
examples.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-example]");
  if (chip) replaceText(chip.dataset.example);
});
