// Everything that the page shows about rules is already in it; this script walks typed rows, keeps names, and copies
// texts.
(async () => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };

  async function unpack(text) {
    const [length, letters] = text.trim().split(" ");
    const place = (i) => letters.charCodeAt(i) - (letters[i] > "<" ? 34 : 33);
    const bytes = new Uint8Array(Number(length));
    for (let i = 0, filled = 0, held = 0, bits = 0; filled < bytes.length;) {
      if (bits < 8) {
        held = (held << 13) | (93 * place(i) + place(i + 1));
        bits += 13;
        i += 2;
      }
      bits -= 8;
      bytes[filled++] = held >> bits;
      held &= (1 << bits) - 1;
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  }

  let data;
  try {
    data = await unpack(byId("data").textContent);
  } catch {
    return; // a browser without DecompressionStream shows the page as it is without JavaScript
  }
  let shown = data.shown, at = 0;
  // A piece is a list of lines, each given by its distance from the line before.
  data.pieces = data.pieces.map((steps) => steps.map((step) => data.lines[at += step]).join(""));
  const tree = () => data.trees[shown];
  const text = (numbers) => numbers.map((number) => data.pieces[number]).join("");

  // --- names and notes

  const key = "shallowrules:" + data.key;
  let notes = {};
  try {
    const kept = JSON.parse(localStorage.getItem(key) || "{}");
    if (kept && typeof kept === "object" && !Array.isArray(kept)) notes = kept;
  } catch { /* the browser keeps nothing for files: names last until the page is closed */ }
  // What was typed in takes precedence over the notes that the rules came with.
  const givenNotes = {};
  const noteOf = (cluster) => {
    const found = notes[cluster] || { note: givenNotes[cluster] };
    return { name: String(found.name || ""), note: String(found.note || "") };
  };
  const nameOf = (cluster) => {
    const given = data.clusters[shown][cluster];
    return noteOf(cluster).name || (given === cluster ? "" : given || "");
  };
  const numberOf = (cluster) => all(`#cluster-${CSS.escape(cluster)} .pill`)[0].textContent; // as people see it
  // The name of a leaf, in the lines that its place has, two or more; a longer one loses its middle, and keeps its end.
  function wrapped(name, room, most) {
    const lines = [""];
    for (const word of name.replace(/([<>]=?) (?=\S)/g, "$1\u00a0").split(/ +/)) {
      const last = lines[lines.length - 1];
      if (last && last.length + 1 + word.length > room) lines.push(word);
      else lines[lines.length - 1] = last ? `${last} ${word}` : word;
      while (lines[lines.length - 1].length > room) {
        const long = lines.pop();
        lines.push(long.slice(0, room), long.slice(room));
      }
    }
    if (lines.length <= most) return lines;
    const end = name.slice(-Math.floor(room / 2));
    return [...lines.slice(0, most - 1), lines[most - 1].slice(0, room - end.length - 1) + "…" + end];
  }

  function nameLeaf(place, name) {
    const { room, lines } = place.dataset, first = place.firstElementChild;
    const found = wrapped(name, Number(room), Math.max(2, Number(lines)));
    place.setAttribute("y", 4 - 7 * (found.length - 1));
    place.replaceChildren(...found.map((line, i) => {
      const part = first.cloneNode();
      part.textContent = line;
      if (i) part.setAttribute("dy", 14);
      return part;
    }));
    if (!found[found.length - 1].includes("…")) return;
    const title = document.createElementNS(place.namespaceURI, "title");
    title.textContent = name;
    place.append(title);
  }

  function showNames() {
    for (const place of all(".nm")) {
      const name = nameOf(place.dataset.k);
      if (place.dataset.room) nameLeaf(place, name);
      else place.textContent = name;
    }
    for (const place of all("p.note")) {
      place.textContent = noteOf(place.dataset.k).note;
      place.hidden = !place.textContent;
    }
  }

  function offerNames() {
    for (const card of all(".card")) {
      const cluster = card.dataset.k;
      const place = make("div", undefined, "naming");
      const shownNote = card.querySelector("p.note") || make("p", undefined, "note");
      givenNotes[cluster] = shownNote.textContent;
      const name = make("input"), note = make("textarea");
      for (const [words, field, most] of [["Name", name, 200], ["Note", note, 4000]]) {
        const label = make("label", words + " ");
        field.maxLength = most;
        label.append(field);
        place.append(label);
      }
      name.autocomplete = "off";
      note.rows = 1;
      shownNote.dataset.k = cluster;
      card.append(place, shownNote);
      const given = data.clusters[shown][cluster];
      name.placeholder = given === cluster ? "" : given;
      name.value = noteOf(cluster).name;
      note.value = noteOf(cluster).note;
      const keep = () => {
        notes[cluster] = { name: name.value.trim(), note: note.value.trim() };
        try {
          localStorage.setItem(key, JSON.stringify(notes));
        } catch { /* see above */ }
        showNames();
      };
      name.addEventListener("input", keep);
      note.addEventListener("input", keep);
    }
    showNames();
  }

  function namesAsCsv() {
    const quote = (value) => (/[",\r\n]/.test(value) ? '"' + value.replaceAll('"', '""') + '"' : value);
    const clusters = Object.keys(data.clusters[shown]).sort((a, b) => Number(a) - Number(b));
    const rows = clusters.map((cluster) => [numberOf(cluster), nameOf(cluster), noteOf(cluster).note]);
    return [["number", "name", "note"], ...rows].map((row) => row.map(quote).join(",") + "\r\n").join("");
  }

  function download(name, content, type) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // --- copying

  const say = (words) => { byId("said").textContent = words; };
  async function copy(form) {
    const content = text(data.forms[form][shown]);
    say(""); // what is said again is announced again
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      const area = make("textarea", content);
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) return say("The browser did not allow copying.");
    }
    return say(`${form} copied: ${(content.split("\n").length - 1).toLocaleString("en")} lines.`);
  }

  // --- a row typed in

  const columns = new Map(data.columns.map((column) => [column.index, column]));

  function clockOf(rest) {
    const two = (size) => String(size).padStart(2, "0");
    const seconds = rest / 1000000n, fraction = rest % 1000000n;
    let shownClock = `${two(seconds / 3600n)}:${two(seconds / 60n % 60n)}`;
    if (seconds % 60n || fraction) shownClock += `:${two(seconds % 60n)}`;
    return fraction ? `${shownClock}.${String(fraction).padStart(6, "0")}`.replace(/0+$/, "") : shownClock;
  }

  function timeText(value, column) {
    if (column.type === "duration") {
      const size = value < 0n ? -value : value;
      const days = size / DAY, rest = size % DAY;
      const parts = days ? [`${days} day${days === 1n ? "" : "s"}`] : [];
      if (rest || !days) parts.push(clockOf(rest));
      return (value < 0n ? "-" : "") + parts.join(" ");
    }
    const size = column.type === "date" ? 1n : DAY;
    let days = value / size;
    if (value % size < 0n) days -= 1n;
    const rest = value - days * size;
    const day = new Date(Number(days) * 86400000).toISOString().slice(0, 10);
    if (column.type === "timestamptz") return `${day} ${clockOf(rest)}Z`;
    return rest ? `${day} ${clockOf(rest)}` : day;
  }

  function readField(column, field) {
    if (column.choices === null) return readText(field.value.trim(), column);
    if (field.value === "") return MISSING;
    return field.value === "other" ? { other: true } : column.values[Number(field.value)];
  }

  const imputed = (column, value) => {
    if (value !== MISSING || column.imputed === null) return value;
    if (column.choices !== null) return column.imputed;
    return isWhole(column) ? number(column.imputed) : Number(column.imputed);
  };

  function walk(row) {
    const steps = [];
    let place = 0;
    for (;;) {
      const node = tree().nodes[place];
      if (node.length === 1) return { cluster: node[0], steps, place };
      const [column, kind, asked, left, right, wordsLeft, wordsRight] = node;
      const value = row.get(column);
      if (value === MISSING) return { cluster: null, missing: column, steps, place };
      const goesLeft = kind === "cut" ? value <= number(asked) : asked.includes(value);
      steps.push({ place, column, words: goesLeft ? wordsLeft : wordsRight });
      place = goesLeft ? left : right;
    }
  }

  function meets(value, [, kind, first, second]) {
    if (value === MISSING) return false;
    if (kind === "one") return first.includes(value);
    if (kind === "none") return !first.includes(value);
    return (first === null || value > number(first)) && (second === null || value <= number(second));
  }

  const bits = new DataView(new ArrayBuffer(8));
  function above(value) { // the next double
    if (value === 0) return Number.MIN_VALUE;
    bits.setFloat64(0, value);
    bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n));
    return bits.getFloat64(0);
  }

  // A value next to the row's that meets a condition, and how far it is: in ranges of the column, a category one range.
  function moved(column, value, [, kind, first, second]) {
    if (kind !== "between") {
      const allowed = column.values.find((each) => (kind === "one" ? first.includes(each) : !first.includes(each)));
      if (allowed !== undefined) return { to: allowed, far: 1, words: `to ${quoted(allowed)}` };
      return kind === "one" || column.type === "boolean" ? null : { to: null, far: 1, words: "to another value" };
    }
    const integer = isWhole(column);
    const up = first !== null && !(value > number(first));
    let to = up ? number(first) : number(second);
    if (up) to = integer ? to + 1n : above(Number(to));
    else if (!integer) to = Number(to);
    if (!meets(to, [column, kind, first, second])) return null; // no number is between the bounds
    const range = Number(column.maximum) - Number(column.minimum);
    const words = up && !integer ? `to just above ${plain(first)}` : `to ${shownValue(to, column)}`;
    return { to, far: Math.abs(Number(to) - Number(value)) / (range > 0 ? range : 1), words };
  }

  function nearest(row, cluster) {
    let best = null;
    for (const [other, conditions] of tree().rules) {
      if (other === cluster) continue;
      const failing = conditions.filter((condition) => !meets(row.get(condition[0]), condition));
      if (failing.length !== 1) continue;
      const column = columns.get(failing[0][0]);
      const value = row.get(column.index);
      if (value === MISSING) continue;
      const move = moved(column, value, failing[0]);
      if (move && Number.isFinite(move.far) && (best === null || move.far < best.far)) {
        best = { ...move, column, value, cluster: other };
      }
    }
    return best;
  }

  const quoted = (value) => (value === true || value === false ? String(value) : `“${value}”`);
  const plain = (written) => {
    const [whole, rest] = String(written).split(/(?=[.e])/);
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return rest === undefined ? grouped : grouped + String(written).slice(whole.length).replace(/^\.0$/, "");
  };
  const shownValue = (value, column) =>
    value === MISSING ? "missing" : typeof value === "object" ? "another value"
      : isTime(column) ? timeText(value, column)
      : typeof value === "string" || typeof value === "boolean" ? quoted(value) : plain(String(value));

  function pill(cluster) {
    const from = all(`#cluster-${CSS.escape(cluster)}`)[0];
    const found = make("span", undefined, from ? from.className.replace("card", "") : "");
    found.append(make("span", numberOf(cluster), "pill"), " ", make("bdi", nameOf(cluster), "nm"));
    found.lastChild.dataset.k = cluster;
    return found;
  }

  function answer() {
    const place = byId("answer");
    place.replaceChildren();
    delete place.dataset.cluster;
    delete place.dataset.move;
    all(".way").forEach((part) => part.classList.remove("way"));
    const fields = all("#row [data-c]");
    if (fields.every((field) => field.value.trim() === "")) return;
    const row = new Map();
    for (const field of fields) {
      const column = columns.get(Number(field.dataset.c));
      const value = readField(column, field);
      field.setAttribute("aria-invalid", String(value === null));
      if (value === null) {
        const wanted = isTime(column) ? `written as ${column.hint.split(" to ")[0]}` : "a number, without blanks or thousands separators";
        place.append(make("p", `${column.name} must be ${wanted}.`));
        return;
      }
      row.set(column.index, imputed(column, value));
    }
    const found = walk(row);
    const label = make("p", undefined, "label");
    place.dataset.cluster = found.cluster === null ? "" : found.cluster;
    if (found.cluster === null) {
      label.append(`In no cluster: ${columns.get(found.missing).name} is missing, and the tree tests it.`);
    } else {
      label.append("This row is in", pill(found.cluster));
    }
    place.append(label);
    const list = make("ol");
    for (const step of found.steps) {
      const item = make("li");
      item.append(make("bdi", columns.get(step.column).name), ` is ${shownValue(row.get(step.column), columns.get(step.column))}, which is `, make("em", step.words));
      list.append(item);
    }
    if (found.steps.length) place.append(list);
    for (const part of [...found.steps.map((step) => step.place), found.place]) {
      all(`.tree [data-n="${part}"], .tree [data-e="${part}"]`).forEach((each) => each.classList.add("way"));
    }
    if (found.cluster === null) return;
    const move = nearest(row, found.cluster);
    const words = make("p");
    if (move === null) {
      words.append("No change of one value alone would move it to another cluster.");
    } else {
      words.append("The smallest change of one value that would move it: ", make("b", move.column.name));
      words.append(` from ${shownValue(move.value, move.column)} ${move.words}, which makes it `, pill(move.cluster));
      words.append(".");
      place.dataset.move = JSON.stringify([move.column.index, typeof move.to === "boolean" ? move.to : String(move.to), move.cluster]);
    }
    place.append(words);
  }

  // --- the heat map: one cell at a time is reached by the tab key, and the arrow keys go on from it

  const rowsOf = (table) => [...table.tBodies[0].rows];
  function readyHeat() {
    for (const table of all(".heat")) {
      table.setAttribute("role", "grid");
      const first = rowsOf(table)[0];
      if (first) first.cells[2].tabIndex = 0;
    }
  }

  function tellCell(event) {
    const cell = event.target.closest(".heat td");
    if (!cell || cell.cellIndex < 2) return;
    const row = cell.parentElement, cluster = all(".card")[cell.cellIndex - 2].dataset.k; // both the largest first
    const name = nameOf(cluster);
    all(".cell").forEach((place) => {
      place.textContent = `${row.cells[0].textContent.trim()}: ${cell.textContent} in cluster ${numberOf(cluster)}${name ? ` (${name})` : ""}, ${row.cells[1].textContent} in the table`;
    });
  }

  function moveCell(event) {
    const cell = event.target.closest(".heat td");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e4], End: [0, 1e4] }[event.key];
    if (!cell || !step) return;
    event.preventDefault();
    const rows = rowsOf(cell.closest("table")), within = (at, low, high) => Math.min(Math.max(at, low), high);
    const row = rows[within(rows.indexOf(cell.parentElement) + step[0], 0, rows.length - 1)];
    const next = row.cells[within(cell.cellIndex + step[1], 2, row.cells.length - 1)];
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // --- another tree of the path

  function show(next) {
    shown = next;
    const parts = make("template");
    parts.innerHTML = text(data.forms.html[shown]);
    for (const part of all("[data-part]", parts.content)) {
      all(`[data-part="${part.dataset.part}"]`).forEach((place) => place.replaceChildren(...part.childNodes));
    }
    const points = all(".curve rect");
    const chosen = points[points.length - 1];
    for (const side of ["x", "y", "rx"]) chosen.setAttribute(side, points[shown].getAttribute(side));
    const slider = byId("slider");
    byId("point").textContent = data.points[shown];
    slider.setAttribute("aria-valuetext", data.points[shown]);
    offerNames();
    readyHeat();
    answer();
  }

  // --- start

  offerNames();
  readyHeat();
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, tellCell);
  document.addEventListener("keydown", moveCell);
  all(".js").forEach((part) => { part.hidden = false; });
  all("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button.dataset.copy)));
  byId("names").addEventListener("click", () => {
    download("names.csv", "\ufeff" + namesAsCsv(), "text/csv");
    say("names.csv downloaded.");
  });
  const form = byId("row");
  if (form) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", answer);
  }
  const slider = byId("slider");
  if (slider) slider.addEventListener("input", () => show(Number(slider.value)));
  document.documentElement.dataset.ready = "";
})();
