// What a value is, as docs/numbers.md of shallowrules defines it. Whole numbers are compared as such, others as doubles.

const MISSING = Symbol("missing");
const WHOLE = /^[+-]?\d+$/, DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/;
const INFINITE = /^([+-]?)inf(inity)?$/i, NAN = /^[+-]?nan$/i, CODE = /^-?(0|[1-9]\d*)(\.0*)?$/, LONGEST = 300;
const TRUE_TEXTS = ["true", "t", "1", "1.0"], FALSE_TEXTS = ["false", "f", "0", "0.0"];
const number = (written) => (WHOLE.test(written) ? BigInt(written.replace("+", "")) : Number(written));

// A text without the spaces around it; only U+0020 is a space.
function stripped(text) {
  let start = 0, end = text.length;
  while (start < end && text[start] === " ") start++;
  while (end > start && text[end - 1] === " ") end--;
  return text.slice(start, end);
}

// The number in a text, null if there is none: whole numbers of 64 bits stay exact in a column of integers.
function parse(written, column) {
  if (written.length > LONGEST) return null;
  const plain = column.written ? unwritten(written, column) : unpointed(written, column.decimal);
  if (INFINITE.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  if (!DECIMAL.test(plain)) return null;
  if (column.type !== "integer") return Number(plain);
  const value = number(plain);
  return typeof value === "bigint" && BigInt.asIntN(64, value) !== value ? Number(plain) : value;
}

const unpointed = (written, decimal) => (decimal !== "." && written.includes(".") ? "" : written.replace(decimal, "."));

// A number in the format of its column, as digits with a point; any other text is not a number.
function unwritten(written, column) {
  const [number, removed] = column.written;
  if (!new RegExp(`^(${number})$`).test(written)) return "";
  const digits = written.replace(new RegExp(removed, "g"), "").replace(column.decimal, ".");
  return (/[(\u2212-]/.test(written) ? "-" : "") + digits;
}

// eslint-disable-next-line eqeqeq -- a BigInt equals a double of the same value
const isNull = (value, column) => column.nullNumbers.some((written) => number(written) == value);

// The value in a text: null if it is neither a value nor missing.
function readText(given, column) {
  const written = stripped(given);
  if (column.type === "text") return column.nulls.includes(written) ? MISSING : given;
  if (column.type === "boolean") {
    const truth = written.toLowerCase();
    return TRUE_TEXTS.includes(truth) ? true : FALSE_TEXTS.includes(truth) ? false : null;
  }
  if (written === "" || column.nulls.includes(written)) return MISSING;
  if (isTime(column)) return parseTime(written, column);
  if (NAN.test(written)) return MISSING;
  let value;
  if (column.type === "code") value = written.length <= LONGEST && CODE.test(written) ? Number(written) : null;
  else value = parse(written, column);
  return value !== null && isNull(value, column) ? MISSING : value;
}

// The value of any kind that a row has for a column: as `readText` gives it.
function readValue(given, column) {
  if (given === null || given === undefined || Number.isNaN(given)) return MISSING;
  if (typeof given === "string") {
    const isPlain = column.type === "float" || column.type === "integer";
    const isRead = column.decimal !== "." || column.written || column.nulls.length || column.nullNumbers.length;
    return isPlain && !isRead ? null : readText(given, column);
  }
  if (typeof given === "boolean") return column.type === "boolean" ? given : null;
  if (given instanceof Date && column.type === "timestamptz") {
    return Number.isNaN(given.getTime()) ? MISSING : BigInt(given.getTime()) * 1000n;
  }
  if (typeof given !== "number" && typeof given !== "bigint") return null;
  if (column.type === "boolean") return given == 1 ? true : given == 0 ? false : null; // eslint-disable-line eqeqeq
  if (column.type === "text") return column.holdsNumbers && Number.isSafeInteger(Number(given)) ? String(BigInt(given)) : null;
  if (isTime(column)) return null;
  const value = column.type === "integer" ? given : Number(given);
  return isNull(value, column) ? MISSING : value;
}

// Dates as days since 1970-01-01, points in time and durations as microseconds.

const TIMES = ["date", "timestamp", "timestamptz", "duration"];
const isTime = (column) => TIMES.includes(column.type);
const isWhole = (column) => column.type === "integer" || isTime(column);
const DAY = 86400000000n;
const MOMENT = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;
const SPAN = /^(-?)(?:(\d{1,7}) days?(?: (?=\d)|$))?(?:(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?)?$/;
const clock = (hours, minutes, seconds, fraction) =>
  ((BigInt(hours || 0) * 60n + BigInt(minutes || 0)) * 60n + BigInt(seconds || 0)) * 1000000n + BigInt((fraction || "").padEnd(6, "0"));

// What is written in the format of the file, as ISO 8601; anything else as it is.
const MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec";
function fromWritten(written, column) {
  const match = new RegExp(`^(?:${column.dates})$`).exec(written);
  if (match === null) return written;
  const { year, month, name, day, hour, minute, second, half } = match.groups;
  const two = (part) => String(part).padStart(2, "0");
  const whole = year.length === 2 ? Number(year) + (Number(year) >= 69 ? 1900 : 2000) : year;
  const moon = name ? MONTHS.indexOf(name.slice(0, 3).toLowerCase()) / 3 + 1 : month;
  const said = `${whole}-${two(moon)}-${two(day)}`;
  if (hour === undefined) return said;
  const full = half ? Number(hour) % 12 + (/p/i.test(half) ? 12 : 0) : hour;
  return `${said} ${two(full)}:${minute}:${second || "00"}`;
}

function parseTime(written, column) {
  if (column.type === "duration") {
    const match = SPAN.exec(written);
    if (match === null || (match[2] === undefined && match[3] === undefined)) return null;
    const size = BigInt(match[2] || 0) * DAY + clock(...match.slice(3));
    return match[1] ? -size : size;
  }
  const match = MOMENT.exec(column.dates ? fromWritten(written, column) : written);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day) || year === "0000") return null;
  const days = BigInt(date.getTime() / 86400000);
  const isDate = column.type === "date";
  if (hour === undefined) return isDate ? days : days * DAY;
  if ((zone !== undefined) !== (column.type === "timestamptz")) return null;
  if (hour > 23 || minute > 59 || (second || 0) > 59) return null;
  if (isDate) return days; // of a point in time
  let moment = days * DAY + clock(hour, minute, second, fraction);
  if (zone !== undefined && zone !== "Z") {
    const hours = zone.slice(1, 3), minutes = zone.slice(3).replace(":", "") || "0";
    if (hours > 23 || minutes > 59) return null;
    const ahead = clock(hours, minutes);
    moment += zone[0] === "-" ? ahead : -ahead;
  }
  return moment;
}
