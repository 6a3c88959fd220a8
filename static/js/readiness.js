// Watches whether the server can speak, by itself, until it can.

import { NetworkError, readiness } from "./server.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const GROWTH = 1.5;

const KINDS = {
  new: "loading",
  loading: "loading",
  not_ready: "loading",
  warming: "warming",
  failed: "failed",
  engine_failed: "failed",
  draining: "closing",
  degraded: "degraded",
  closed: "closing",
  shutting_down: "closing",
};

/**
 * Calls `onState({kind, reason})` at each change: "loading", "warming", "failed", "degraded", "closing", "unreachable" or "ready".
 * Asks at growing intervals, at once when the connection or the tab comes back; rests when ready until `restart()`.
 */
export function watchReadiness(onState) {
  let timer = null;
  let round = 0;
  let waitMs = FIRST_WAIT_MS;
  let last = "";
  let resting = false;

  async function look() {
    clearTimeout(timer);
    const thisRound = ++round;
    const state = await current();
    if (thisRound !== round) return; // a later look is under way
    const seen = JSON.stringify(state);
    if (seen !== last) onState(state);
    last = seen;
    resting = state.kind === "ready";
    if (resting) return;
    timer = setTimeout(look, waitMs);
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * GROWTH);
  }

  function restart() {
    waitMs = FIRST_WAIT_MS;
    last = "";
    look();
  }

  const wake = () => {
    if (!resting && document.visibilityState === "visible") look();
  };
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", wake);
  look();
  return { restart };
}

async function current() {
  try {
    const { ready, state, reason } = await readiness();
    return ready ? { kind: "ready", reason: "" } : { kind: KINDS[state] ?? "loading", reason };
  } catch (reason) {
    if (reason instanceof NetworkError) return { kind: "unreachable", reason: "" };
    throw reason;
  }
}
