// Numbers as people write them, in the words of the server's own tables.

const groups = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// whole writes 64,000.
export const whole = (n) => groups.format(n);

// short writes 1.2 M: three digits and a power of ten.
export function short(n) {
  for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(n) >= size) return `${trim(n / size)} ${unit}`;
  }
  return trim(n);
}

// spelled writes 550 billion: three digits and a word.
export function spelled(n) {
  for (const [size, word] of [[1e18, "quintillion"], [1e15, "quadrillion"], [1e12, "trillion"], [1e9, "billion"], [1e6, "million"]]) {
    if (n >= size && n < 1e21) return `${trim(n / size)} ${word}`;
  }
  return n < 1e6 ? whole(n) : trim(n);
}

// percent writes a rate: 0.98%, and what is very small as 1 in 550 billion.
export function percent(p) {
  if (p > 0 && p < 1e-5) return `1 in ${spelled(1 / p)}`;
  return `${trim(100 * p)}%`;
}

// brief is percent for the axes of charts: 1 in 550 G.
export const brief = (p) => (p > 0 && p < 1e-5 ? `1 in ${short(1 / p)}` : percent(p));

// bytes writes 1.2 MiB.
export function bytes(n) {
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (n >= size) return `${trim(n / size)} ${unit}`;
  }
  return `${trim(n)} B`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

// time writes the time of day of a Unix time in seconds.
export const time = (s) => clock.format(new Date(1000 * s));
export const timeSeconds = (s) => clockSeconds.format(new Date(1000 * s));
export const date = (s) => day.format(new Date(1000 * s));

// timeStep returns a round number of seconds for ticks, not less than raw.
export const timeStep = (raw) => steps.find((s) => s >= raw) ?? 86400 * Math.ceil(raw / 86400);
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function trim(v) {
  return String(Number(v.toPrecision(3)));
}
