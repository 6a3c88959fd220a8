// The voice menu: an automatic entry that names the voice it will take, then every voice below its language.

import { mainLanguage } from "./language.js";
import { hasString, languageName, t } from "./strings.js";

const menu = document.getElementById("speaker");
const automatic = menu.options[0];
const hint = document.getElementById("voice-hint");

let voices = [];

/** Show these voices; the chosen one stays chosen when it is still there. */
export function showVoices(found) {
  const chosen = menu.value;
  voices = found;
  for (const group of menu.querySelectorAll("optgroup")) group.remove();
  const languages = [...new Set(voices.map((voice) => voice.language))];
  for (const language of languages) {
    const group = document.createElement("optgroup");
    group.label = languageName(language);
    for (const voice of voices.filter((each) => each.language === language)) {
      group.append(new Option(optionText(voice), voice.id));
    }
    menu.append(group);
  }
  menu.value = voices.some((voice) => voice.id === chosen) ? chosen : "";
  const names = new Intl.ListFormat(document.documentElement.lang, { type: "conjunction" });
  hint.textContent = voices.length
    ? t("voice.count", { count: voices.length, languages: names.format(languages.map(languageName)) })
    : t("voice.none");
}

/** Name the voice that the automatic entry takes for `text`. */
export function nameAutomaticVoice(text) {
  const language = mainLanguage(text);
  const voice = voices.find((each) => each.default && each.language === language);
  automatic.textContent = voice ? t("voice.automatic.named", { voice: voice.name }) : t("voice.automatic");
}

/** The name of a voice, or its id where it is not in the menu; "" is the voice of a recording. */
export function voiceName(id) {
  if (id === "") return t("recording.voice");
  return voices.find((voice) => voice.id === id)?.name ?? id;
}

function optionText({ name, gender }) {
  const key = `gender.${gender}`;
  return hasString(key) ? t("voice.option", { name, gender: t(key) }) : name;
}
