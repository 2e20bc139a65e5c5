// Numbers, times and labels as people read them. One place, so that a rate looks alike everywhere.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const ONE = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const TWO = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const NONE = "–";

export function count(n) {
  return n === null || n === undefined ? NONE : WHOLE.format(n);
}

/** A share as a number of per cent: one digit, two below 1 %. */
function points(share) {
  const n = share * 100;
  if (n <= 0) return "0";
  if (n >= 99.95) return n >= 99.995 ? "100" : "99.9";
  return (n < 0.995 ? TWO : ONE).format(n);
}

export function percent(share) {
  return share === null || share === undefined ? NONE : `${points(share)} %`;
}

export function whole(share) {
  return share === null || share === undefined ? NONE : `${WHOLE.format(share * 100)} %`;
}

/** How sure something is, rounded down: nothing looks certain that is not. */
export function sureness(share) {
  return whole(Math.floor(share * 100 + 1e-9) / 100);
}

export function range(low, high) {
  if (low === null || low === undefined || high === null) return "";
  return `${points(low)} – ${points(high)} %`;
}

export function decimal(n) {
  return n === null || n === undefined ? NONE : TWO.format(n);
}

export function signed(n) {
  return `${n < 0 ? "−" : "+"}${TWO.format(Math.abs(n))}`;
}

export function rate(perSecond) {
  return perSecond > 0 && perSecond < 10 ? ONE.format(perSecond) : WHOLE.format(perSecond);
}

export function money(amount, currency) {
  if (/^[A-Za-z]{3}$/.test(currency)) {
    const digits = amount < 1000 ? 2 : 0;
    const style = { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits };
    return new Intl.NumberFormat("en", style).format(amount);
  }
  return `${currency} ${TWO.format(amount)}`.trim();
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export function clock(ms) {
  return SECONDS.format(ms);
}

/** A time in seconds since 1970: the hour if it was today, else the day too. */
export function when(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const date = new Date(seconds * 1000);
  const today = date.toDateString() === new Date().toDateString();
  return today ? CLOCK.format(date) : `${DAY.format(date)} ${CLOCK.format(date)}`;
}

export function timeOf(seconds, spread) {
  return spread > 86400 ? when(seconds) : spread < 600 ? clock(seconds * 1000) : CLOCK.format(seconds * 1000);
}

/** A label: text, a number, true or false. */
export function label(value) {
  return value === null || value === undefined ? NONE : String(value);
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}
