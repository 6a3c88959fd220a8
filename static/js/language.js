// A guess at the main language of what is being typed, only to name the voice that will be taken.
// The server decides, with more care; its answer says which voice it took.

const SCRIPTS = [
  // size: units of speech that a match counts for; weight: English names in a Chinese sentence leave it Chinese
  { language: "ja", pattern: /[\u3041-\u3096\u30a1-\u30fa\u30fc]/g, size: 1, weight: 1 },
  { language: "ko", pattern: /[\uac00-\ud7a3]/g, size: 1, weight: 1 },
  { language: "zh", pattern: /\p{Script=Han}/gu, size: 1, weight: 1 },
  { language: "en", pattern: /\p{Script=Latin}/gu, size: 0.4, weight: 0.4 },
];

/** "zh", "en", "ja", "ko", or "" when nothing says: the language of most sentences, by their length. */
export function mainLanguage(text) {
  const shares = new Map();
  for (const sentence of text.split(/[。！？!?\n]|\.\s/)) {
    const counts = new Map(SCRIPTS.map(({ language, pattern }) => [language, (sentence.match(pattern) ?? []).length]));
    if (counts.get("ja") > 0) {
      counts.set("ja", counts.get("ja") + counts.get("zh")); // kanji beside kana are Japanese
      counts.set("zh", 0);
    }
    const sizes = SCRIPTS.map(({ language, size }) => counts.get(language) * size);
    const weights = new Map(SCRIPTS.map(({ language, weight }, index) => [language, sizes[index] * weight]));
    const language = largest(weights);
    const size = sizes.reduce((sum, each) => sum + each, 0);
    shares.set(language, (shares.get(language) ?? 0) + size);
  }
  return largest(shares);
}

function largest(numbers) {
  let best = "";
  for (const [name, number] of numbers) {
    if (number > (numbers.get(best) ?? 0)) best = name;
  }
  return best;
}
