// Elapsed and expected time while a synthesis runs.

import { t } from "./strings.js";

const bar = document.getElementById("progress-bar");
const time = document.getElementById("progress-time");
const TICK_MS = 200;
const SHARE_AT_EXPECTED = 0.9;

/** Start counting; `expected` in seconds or null. Returns the function that stops it. */
export function startProgress(expected) {
  const startedMs = performance.now();
  if (expected === null) bar.removeAttribute("value"); // moves without a claim

  function show() {
    const elapsed = (performance.now() - startedMs) / 1000;
    const seconds = { elapsed: elapsed.toFixed(1), expected: Math.max(1, Math.round(expected ?? 0)) };
    if (expected === null) {
      time.textContent = t("progress.elapsed", seconds);
      return;
    }
    bar.value = Math.round(share(elapsed, expected) * bar.max);
    const late = elapsed > Math.max(1, expected) * 1.5 + 1;
    time.textContent = t(late ? "progress.late" : "progress.expected", seconds);
  }

  show();
  const timer = setInterval(show, TICK_MS);
  return () => clearInterval(timer);
}

/** Straight to 0.9 at the expected time, then ever slower: it never claims to be done. */
function share(elapsed, expected) {
  if (elapsed < expected) return (elapsed / expected) * SHARE_AT_EXPECTED;
  return 1 - (1 - SHARE_AT_EXPECTED) * Math.exp(-(elapsed - expected) / Math.max(expected, 1));
}
