// The words and numbers that the server put into the page.

const data = JSON.parse(document.getElementById("page-data").textContent);

export const pageLanguage = data.language;
export const maxTextChars = data.max_text_chars;
export const maxUploadBytes = data.max_upload_bytes;

/** The words of a key, with each `{name}` replaced by `values[name]`. */
export function t(key, values = {}) {
  const words = data.strings[key];
  if (words === undefined) throw new Error(`no string is called ${key}`);
  return words.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place));
}

/** Whether the table has this key. */
export function hasString(key) {
  return key in data.strings;
}

const languageNames = new Intl.DisplayNames([pageLanguage], { type: "language" });

/** "zh" -> "Chinese", in the words of the interface language. */
export function languageName(tag) {
  try {
    return languageNames.of(tag);
  } catch {
    return tag;
  }
}
