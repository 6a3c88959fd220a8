// How long a synthesis will take, from what earlier answers on this browser took. No answer yet: no estimate.

const STORE = "cosyvoice-web.pace";
const NEWEST_WEIGHT = 0.4;
const IDEOGRAPH_SECONDS = 0.24;
const OTHER_CHARACTER_SECONDS = 0.065;

/** Length of `text` in seconds at an average reader's pace; the measured pace corrects it. */
function readingSeconds(text, speed) {
  const ideographs = (text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu) ?? []).length;
  return (ideographs * IDEOGRAPH_SECONDS + ([...text].length - ideographs) * OTHER_CHARACTER_SECONDS) / speed;
}

function measured() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? null;
  } catch {
    return null; // storage is off, or holds something else
  }
}

/** Expected seconds of work, or null before the first measurement. */
export function expectedSeconds(text, speed) {
  const pace = measured();
  return pace ? readingSeconds(text, speed) * pace.lengthRatio * pace.realTimeFactor : null;
}

/** Learn from a finished answer. */
export function learn(text, speed, { audioSeconds, realTimeFactor }) {
  const lengthRatio = audioSeconds / readingSeconds(text, speed);
  if (!(lengthRatio > 0) || !(realTimeFactor > 0)) return;
  const old = measured() ?? { lengthRatio, realTimeFactor };
  const blend = (before, now) => before + NEWEST_WEIGHT * (now - before);
  try {
    localStorage.setItem(
      STORE,
      JSON.stringify({
        lengthRatio: blend(old.lengthRatio, lengthRatio),
        realTimeFactor: blend(old.realTimeFactor, realTimeFactor),
      }),
    );
  } catch {
    // Storage is off: the next page starts without an estimate.
  }
}
