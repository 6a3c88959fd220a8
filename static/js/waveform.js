// Draws the loudness of a recording as bars; the played part has its own colour.

const SVG = document.getElementById("waveform");
const rest = document.getElementById("waveform-rest");
const done = document.getElementById("waveform-done");
const played = document.getElementById("waveform-played");
const BAR_PITCH_PX = 5;
const BAR_WIDTH_PX = 3;
const DECODE_RATE_HZ = 8_000; // loudness needs no more, and a long recording stays small

let samples = new Float32Array(0);
let share = 0;
let generation = 0;

/** Show `blob`; flat bars where this browser cannot decode it. */
export async function showWaveform(blob) {
  const thisGeneration = ++generation;
  samples = new Float32Array(0);
  draw();
  let found;
  try {
    const decoder = new OfflineAudioContext(1, 1, DECODE_RATE_HZ);
    found = (await decoder.decodeAudioData(await blob.arrayBuffer())).getChannelData(0);
  } catch {
    return;
  }
  if (thisGeneration !== generation) return;
  samples = found;
  draw();
}

/** Colour the first `part` (0 to 1) as played. */
export function showPlayed(part) {
  share = part;
  played.setAttribute("width", String(SVG.clientWidth * share));
}

function draw() {
  const width = SVG.clientWidth;
  const height = SVG.clientHeight;
  const count = Math.max(1, Math.floor(width / BAR_PITCH_PX));
  const levels = Array.from({ length: count }, (_, bar) => level(bar, count));
  const loudest = Math.max(...levels, 1e-6);
  let path = "";
  levels.forEach((value, bar) => {
    const tall = Math.max(BAR_WIDTH_PX, (value / loudest) * (height - 2));
    const radius = BAR_WIDTH_PX / 2;
    const straight = tall - BAR_WIDTH_PX;
    const x = bar * BAR_PITCH_PX + 1;
    const y = (height - tall) / 2 + radius;
    path += `M${x} ${y}a${radius} ${radius} 0 0 1 ${BAR_WIDTH_PX} 0v${straight}a${radius} ${radius} 0 0 1 ${-BAR_WIDTH_PX} 0z`;
  });
  rest.setAttribute("d", path);
  done.setAttribute("d", path);
  showPlayed(share);
}

/** Root mean square of one bar's samples, compressed so that quiet parts show. */
function level(bar, count) {
  const from = Math.floor((bar * samples.length) / count);
  const to = Math.floor(((bar + 1) * samples.length) / count);
  if (to <= from) return 0;
  let sum = 0;
  for (let index = from; index < to; index += 1) sum += samples[index] * samples[index];
  return (sum / (to - from)) ** 0.35;
}

new ResizeObserver(draw).observe(SVG);
