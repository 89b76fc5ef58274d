"use strict";
// Sorting, searching and choosing the two configurations. The page is whole without it. Texts are only ever set as text.
(() => {
  const find = (query, within = document) => within.querySelector(query);
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const make = (name, text, style) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (style) element.className = style;
    return element;
  };

  // --- sorting ---------------------------------------------------------------------------------------------------------

  // A question of the list is a tbody of its own; in other tables a unit is a row.
  const units = (table) => (table.tBodies.length > 1 ? [...table.tBodies] : [...(table.tBodies[0]?.rows ?? [])]);
  const cellOf = (unit, column) => (unit.rows ? unit.rows[0] : unit).cells[column];
  const numberOf = (cell) => (cell.dataset.order === undefined ? null : Number(cell.dataset.order));

  const compare = (column, sign) => (one, other) => {
    const [a, b] = [cellOf(one, column), cellOf(other, column)];
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== null && y !== null) return sign * (x - y);
    if (x !== null || y !== null) return x !== null ? -1 : 1; // what has no number comes last
    const [s, t] = [a.textContent.trim(), b.textContent.trim()];
    if (!s || !t) return (s ? 0 : 1) - (t ? 0 : 1);
    return sign * s.localeCompare(t, "en", { numeric: true });
  };

  const sort = (table, head) => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    const sorted = units(table).sort(compare(head.cellIndex, direction === "ascending" ? 1 : -1));
    const parent = sorted[0]?.parentNode;
    parent?.append(...sorted);
  };

  for (const table of all("table.sortable")) {
    if (units(table).length < 2) continue;
    for (const head of table.tHead.rows[0].cells) {
      const button = make("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  // --- the list of questions ---------------------------------------------------------------------------------------------

  const table = find("#list");
  const data = JSON.parse(find("#data").textContent);
  const entries = [...table.tBodies].map((body, number) => ({
    body,
    scores: data.questions[number][0],
    blocks: data.questions[number][1],
    details: find("details", body),
    drawn: data.pair.join(),
  }));
  for (const entry of entries) {
    const top = [...entry.body.rows[0].cells].map((cell) => cell.textContent).join(" ");
    const asked = find("summary", entry.body) ?? entry.body.rows[1];
    entry.text = `${top} ${asked.textContent}`.toLowerCase();
    if (!entry.details) continue;
    entry.written = all(".side", entry.details);
    entry.details.addEventListener("toggle", () => draw(entry));
  }
  const two = data.pair.length > 1;
  let pair = [...data.pair];

  const shown = (score) => (typeof score === "number" ? score.toFixed(3) : score === null ? "–" : score);
  const signed = (value) => {
    const text = (value < 0 ? "-" : "+") + Math.abs(value).toFixed(3);
    return /^[+-]0\.000$/.test(text) ? "0.000" : text;
  };
  const order = (cell, value) => {
    if (typeof value === "number") cell.dataset.order = value;
    else delete cell.dataset.order;
  };

  const difference = (entry) => {
    const [a, b] = pair.map((at) => entry.scores[at]);
    return two && typeof a === "number" && typeof b === "number" ? b - a : null;
  };

  const score = (entry) => {
    const cells = all(".score", entry.body.rows[0]);
    pair.forEach((at, side) => {
      cells[side].textContent = shown(entry.scores[at]);
      order(cells[side], entry.scores[at]);
    });
    const cell = find(".difference", entry.body);
    if (!cell) return;
    const value = difference(entry);
    cell.textContent = value === null ? "" : signed(value);
    cell.classList.toggle("up", value > 1e-9);
    cell.classList.toggle("down", value < -1e-9);
    order(cell, value);
  };

  const bdi = (name, text) => {
    const element = make(name);
    element.append(make("bdi", text));
    return element;
  };

  // As the template writes a table inside a question.
  const ranking = ([head, rows]) => {
    const columns = data.heads[head];
    const shown = columns.filter(([title]) => title !== "text");
    const numeric = shown.flatMap(([, is], at) => (is ? [`n${at + 1}`] : []));
    const element = make("table", undefined, ["small", ...numeric].join(" "));
    element.append(make("caption", "Ranking; “gold” says which of them a rank satisfies"));
    const line = element.createTHead().insertRow();
    for (const [title] of shown) {
      const cell = make("th", title);
      cell.scope = "col";
      line.append(cell);
    }
    const body = element.createTBody();
    for (const row of rows) {
      const at = body.insertRow();
      shown.forEach(([title], column) => {
        const cell = at.insertCell();
        if (row[column] >= 0) cell.append(data.texts[row[column]]);
        const text = row[row.length - 1];
        if (title === "source" && shown.length < columns.length && text >= 0) cell.append(make("bdi", data.texts[text]));
      });
    }
    return element;
  };

  const side = (entry, at) => {
    const written = data.pair.indexOf(at);
    if (written >= 0) return entry.written[written].cloneNode(true);
    const element = make("div", undefined, "side");
    element.append(bdi("h3", data.names[at]));
    for (const block of entry.blocks[at]) {
      element.append(typeof block === "number" ? bdi("p", data.texts[block]) : ranking(block));
    }
    return element;
  };

  const mark = (within) => {
    for (const row of all(".side tbody tr", within)) {
      row.classList.toggle("hit", [...row.cells].some((cell) => cell.textContent.startsWith("satisfies ")));
    }
  };

  // The rankings of a closed question are drawn when it opens.
  const draw = (entry) => {
    if (!entry.details?.open) return;
    if (entry.drawn !== pair.join()) {
      find(".sides", entry.details).replaceChildren(...pair.map((at) => side(entry, at)));
      entry.drawn = pair.join();
    }
    mark(entry.details);
  };

  const kept = {
    all: () => true,
    differ: (entry) => Math.abs(difference(entry) ?? 0) > 1e-9,
    better: (entry) => (difference(entry) ?? 0) > 1e-9,
    worse: (entry) => (difference(entry) ?? 0) < -1e-9,
    low: (entry) => pair.every((at) => typeof entry.scores[at] === "number" && entry.scores[at] < 1 - 1e-9),
    failed: (entry) => pair.some((at) => typeof entry.scores[at] === "string"),
  };

  const whole = find("#count").textContent.replace(/\.$/, ""); // "3,000 questions", as the template writes it

  const narrow = () => {
    const words = find("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const keep = kept[find("#filter").value];
    let count = 0;
    for (const entry of entries) {
      const visible = keep(entry) && words.every((word) => entry.text.includes(word));
      entry.body.hidden = !visible;
      count += visible ? 1 : 0;
    }
    find("#count").textContent =
      count === entries.length ? `${whole}.` : `${count.toLocaleString("en")} of ${whole}.`;
  };

  const choose = () => {
    pair = ["#first", "#second"].map((name) => Number(find(name).value));
    all("thead .which", table).forEach((head, number) => head.replaceChildren(make("bdi", data.names[pair[number]])));
    for (const head of table.tHead.rows[0].cells) {
      if (head.classList.contains("number")) head.removeAttribute("aria-sort");
    }
    for (const entry of entries) {
      score(entry);
      draw(entry);
    }
    narrow();
  };

  entries.forEach(score);
  find("#search").addEventListener("input", narrow);
  find("#filter").addEventListener("change", narrow);
  if (two) for (const name of ["#first", "#second"]) find(name).addEventListener("change", choose);
  find(".controls").hidden = false;

  // --- the rest of the page ------------------------------------------------------------------------------------------------

  const reach = () => {
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    const folded = target?.closest("details");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", reach);
  reach();

  const folded = all("details.folded, details.glossary");
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = folded.filter((part) => !part.open);
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
  });
})();
