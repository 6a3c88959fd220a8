// How it is to be spoken: a voice of the menu with or without a style, or the voice of a recording.

import { maxUploadBytes, t } from "./strings.js";

const menu = document.getElementById("speaker");
const styleField = document.getElementById("style-field");
const style = document.getElementById("style");
const section = document.getElementById("recording");
const file = document.getElementById("recording-file");
const remove = document.getElementById("recording-remove");
const textField = document.getElementById("recording-text-field");
const text = document.getElementById("recording-text");
const consent = document.getElementById("recording-consent");
const FORM_BYTES = 16_384; // what else is in the body, with room to spare

let isRecordingNeeded = false;

/** Show what the loaded model can do: `modes` as the server names them. */
export function showModes(modes, voiceCount) {
  styleField.hidden = !modes.includes("instruct");
  textField.hidden = !modes.includes("zero_shot");
  section.hidden = !modes.includes("zero_shot") && !modes.includes("cross_lingual");
  isRecordingNeeded = voiceCount === 0 && !section.hidden;
  if (isRecordingNeeded) section.open = true;
}

/** The fields of a request that say how, or `{refusal, control}`: words, and where to mend it. */
export function chosenManner() {
  const recording = section.hidden ? undefined : file.files[0];
  if (recording) {
    if (recording.size > maxUploadBytes - FORM_BYTES) {
      return { refusal: t("error.body_too_large", { megabytes: Math.floor(maxUploadBytes / 1e6) }), control: file };
    }
    if (!consent.checked) return { refusal: t("recording.consent.missing"), control: consent };
    const words = textField.hidden ? "" : text.value.trim();
    return { prompt_audio: recording, ...(words && { prompt_text: words }) };
  }
  if (isRecordingNeeded) return { refusal: t("recording.needed"), control: file };
  const words = styleField.hidden ? "" : style.value.trim();
  return { ...(menu.value && { speaker: menu.value }), ...(words && { instruct_text: words }) };
}

/** A recording brings its own voice, and no style can be asked of it. */
function follow() {
  const isChosen = file.files.length > 0;
  menu.disabled = isChosen;
  style.disabled = isChosen;
  remove.hidden = !isChosen;
}

file.addEventListener("change", follow);
remove.addEventListener("click", () => {
  file.value = "";
  follow();
  file.focus();
});
follow(); // browsers keep a chosen file over a reload
