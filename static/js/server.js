// Everything the page asks the server. Addresses are relative to the page.

/** An answer that is not what was asked for; `code` is the server's stable name for it. */
export class ServerError extends Error {
  constructor(status, { code = "unknown", message = "", request_id: requestId = "" } = {}, retryAfter = null) {
    super(message || `HTTP ${status}`);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfter;
  }
}

/** No answer at all. */
export class NetworkError extends Error {}

async function ask(address, options = {}) {
  try {
    return await fetch(address, { cache: "no-store", ...options });
  } catch (reason) {
    if (reason.name === "AbortError") throw reason;
    throw new NetworkError(String(reason));
  }
}

async function errorOf(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // A proxy's own page, not our JSON: the status says enough.
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ServerError(response.status, body?.error, Number.isFinite(seconds) ? Math.max(1, seconds) : null);
}

/** Whether the server can speak: `{ready, state, reason}`. */
export async function readiness() {
  const response = await ask("readyz");
  let body = {};
  try {
    body = await response.json();
  } catch {
    if (!response.ok) throw new NetworkError(`readyz answered ${response.status} without JSON`);
  }
  return {
    ready: response.ok,
    state: body.state ?? body.error?.code ?? "loading",
    reason: body.reason ?? body.error?.message ?? "",
  };
}

/** Every voice and what may be asked for: `{voices: [{id, name, language, gender, default}], modes: ["sft", ...]}`. */
export async function voices() {
  const response = await ask("voices");
  if (!response.ok) throw await errorOf(response);
  const { voices, modes = [] } = await response.json();
  return { voices, modes };
}

/** Have `request` spoken, with a recording in `prompt_audio` where it has one: `{blob, filename, speaker, audioSeconds, synthesisSeconds, realTimeFactor, seed}`. */
export async function speak(request, signal) {
  const response = await ask("tts", {
    method: "POST",
    ...bodyOf(request),
    signal,
  });
  if (!response.ok) throw await errorOf(response);
  const number = (name) => Number.parseFloat(response.headers.get(name) ?? "NaN");
  let blob;
  try {
    blob = await response.blob();
  } catch (reason) {
    if (reason.name === "AbortError") throw reason;
    throw new NetworkError(String(reason));
  }
  return {
    blob,
    filename: filenameOf(response.headers.get("Content-Disposition") ?? "", `speech.${request.format}`),
    speaker: decoded(response.headers.get("X-Speaker") ?? ""),
    audioSeconds: number("X-Audio-Seconds"),
    synthesisSeconds: number("X-Synthesis-Seconds"),
    realTimeFactor: number("X-Real-Time-Factor"),
    seed: response.headers.get("X-Seed") ?? "",
  };
}

/** JSON, or a form where there is a file. */
function bodyOf(request) {
  if (!request.prompt_audio) {
    return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) };
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(request)) form.append(name, value);
  return { body: form };
}

/** The name in a Content-Disposition header; `filename*` (RFC 5987) wins over `filename`. */
function filenameOf(header, fallback) {
  const extended = /filename\*\s*=\s*UTF-8''([^;]+)/i.exec(header);
  if (extended) return decoded(extended[1].trim());
  const plain = /filename\s*=\s*(?:"([^"]+)"|([^;\s]+))/i.exec(header);
  return plain?.[1] ?? plain?.[2] ?? fallback;
}

/** Percent-decoded, or as it is where that fails: headers carry ASCII only. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
