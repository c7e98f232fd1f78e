"use strict";
// The table of all points: filters, small multiples of what is left, and each run when it is opened.
(() => {
  const { unpack, show, save } = window.sojourn;
  const { choices, charts } = JSON.parse(document.getElementById("choices").textContent);
  const form = document.getElementById("filters");
  const table = document.getElementById("chosen");
  const step = 50; // rows that are shown at once
  const columns = [
    ["load", share], ["offered", count], ["achieved", count], ["p50", time], ["p99", time], ["repeat", String],
  ];
  const runs = new Map(); // combination → promise of its runs
  let points, order = [], shown = step, sorted = null, falling = true;

  function three(value) {
    const size = Math.abs(value);
    if (size >= 99.95 || (size < 10 && Number.isInteger(value))) return value.toFixed(0);
    return value.toFixed(size >= 9.995 ? 1 : 2);
  }
  function time(ns) {
    if (ns === null) return "–";
    if (ns === "inf") return "never";
    const [scale, unit] = ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    return `${three(ns / scale)} ${unit}`;
  }
  function count(number) {
    const [scale, unit] = number < 1e3 ? [1, ""] : number < 1e6 ? [1e3, "k"] : [1e6, "M"];
    return `${three(number / scale)}${unit}`;
  }
  function share(part) { return part === null ? "–" : `${+(100 * part).toPrecision(6)} %`; }

  const level = (choice, at) => choice.levels[points.chosen[choice.key][at]] ?? "–";

  // What is not ticked is left out; a factor leaves alone the points of services that do not feel it.
  function choose() {
    const left = [];
    for (const field of form.querySelectorAll("fieldset")) {
      const boxes = [...field.querySelectorAll("input")];
      if (boxes.every((box) => box.checked)) continue;
      const kept = new Set(boxes.filter((box) => box.checked).map((box) => Number(box.value)));
      left.push([points.chosen[field.dataset.choice], kept]);
    }
    order = points.key.map((_, at) => at)
      .filter((at) => left.every(([places, kept]) => places[at] < 0 || kept.has(places[at])));
    shown = step;
    document.getElementById("left").textContent =
      `${order.length.toLocaleString("en")} of ${points.key.length.toLocaleString("en")} points`;
    sort();
    rows();
    return picture();
  }

  const rank = (value) => (value === "inf" ? Infinity : value === null ? -Infinity : value);

  function sort() {
    if (sorted === null) return;
    const sign = falling ? -1 : 1;
    const value = points[sorted] ? (at) => rank(points[sorted][at]) : (at) => points.chosen[sorted][at];
    order.sort((a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) || a - b);
  }

  function cell(row, text, tag = "td") {
    const made = document.createElement(tag);
    made.textContent = text;
    row.append(made);
    return made;
  }

  function head() {
    const row = table.tHead.rows[0];
    for (const [key, name] of [...choices.map((c) => [c.key, c.name]), ...columns.map(([key]) => [key, key])]) {
      const place = cell(row, "", "th");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => {
        falling = sorted === key ? !falling : true;
        sorted = key;
        for (const other of row.cells) other.removeAttribute("aria-sort");
        place.setAttribute("aria-sort", falling ? "descending" : "ascending");
        sort();
        rows();
      });
      place.append(button);
    }
  }

  function rows() {
    const body = document.createElement("tbody");
    for (const at of order.slice(0, shown)) {
      const row = body.insertRow();
      row.tabIndex = 0;
      row.dataset.point = at;
      for (const choice of choices) cell(row, level(choice, at)).className = `words ${choice.key === "verdict" ? level(choice, at) : ""}`;
      for (const [key, text] of columns) cell(row, text(points[key][at]));
    }
    table.tBodies[0].replaceWith(body);
    const rest = order.length - shown;
    const more = document.getElementById("more");
    more.hidden = rest <= 0;
    more.textContent = `Show ${Math.min(step, rest)} more of ${rest.toLocaleString("en")}`;
  }

  // Median and range of p99, by panel, colour and load; so a picture of all points stays small. Runs that
  // are not valid count only where there is no other, and are marked as such.
  function summary() {
    const by = (name) => choices.find(({ key }) => key === form.elements[name].value);
    const panel = by("panels"), colour = by("colours");
    const groups = new Map();
    for (const at of order) {
      const ns = points.p99[at], load = points.load[at];
      if (ns === null || load === null) continue;
      const place = [level(panel, at), level(colour, at), load];
      const name = place.join("\n");
      if (!groups.has(name)) groups.set(name, { place, sure: [], rest: [] });
      groups.get(name)[points.believed[at] ? "sure" : "rest"].push(rank(ns));
    }
    const top = charts.explored.usermeta.top_ns; // where what never came is drawn
    const told = (ns) => time(ns === Infinity ? "inf" : ns);
    return [...groups.values()].map(({ place: [inPanel, inColour, fraction], sure, rest }) => {
      const doubted = !sure.length, times = doubted ? rest : sure;
      times.sort((a, b) => a - b);
      const middle = (times[(times.length - 1) >> 1] + times[times.length >> 1]) / 2;
      const [least, greatest] = [times[0], times.at(-1)];
      const [y, low, high] = [middle, least, greatest].map((ns) => Math.min(ns, top));
      return {
        panel: `${panel.name}: ${inPanel}`, colour: `${colour.name}: ${inColour}`, fraction, y, low, high, load: share(fraction),
        median: told(middle), least: told(least), greatest: told(greatest), points: times.length, endless: greatest === Infinity,
        doubted, known: doubted ? "not valid" : "number",
      };
    }).sort((a, b) => a.fraction - b.fraction);
  }

  function picture() {
    const spec = structuredClone(charts.explored);
    spec.datasets.rows = summary();
    const panels = new Set(spec.datasets.rows.map((row) => row.panel)).size;
    return show(document.getElementById("explored"), { spec, panel: 260, panels });
  }

  async function look(row) {
    if (row.nextElementSibling?.className === "looked") return void row.nextElementSibling.remove();
    const at = Number(row.dataset.point), home = points.home[at];
    const place = document.createElement("tr");
    place.className = "looked";
    const inside = cell(place, "");
    inside.colSpan = row.cells.length;
    row.after(place);
    const facts = document.createElement("dl");
    const say = (name, text) => { cell(facts, name, "dt"); cell(facts, text, "dd"); };
    say("point", points.key[at]);
    const reason = points.reasons[points.reason[at]];
    if (reason) say("reasons", reason);
    inside.append(facts);
    if (home < 0) return;
    if (!runs.has(home)) runs.set(home, unpack(`pack-runs-${home}`));
    const run = (await runs.get(home))[points.key[at]];
    for (const [name, text] of Object.entries(run.said)) say(name, text);
    const spec = structuredClone(charts["one-run"]);
    const known = points.believed[at] ? "number" : "not valid";
    spec.datasets.rows = run.at.map((second, n) => ({ second, y: run.p99[n], shown: time(run.p99[n]), known }))
      .filter(({ y }) => y !== null && y !== "inf");
    const box = document.createElement("div");
    box.className = "chart";
    inside.append(box);
    await show(box, { spec, panel: 0, panels: 1 });
  }

  function csv() {
    const lines = order.map((at) => [
      points.key[at], ...choices.map((c) => level(c, at)), ...columns.map(([key]) => points[key][at] ?? ""),
    ]);
    const names = ["point", ...choices.map(({ name }) => name), ...columns.map(([key]) => key)];
    // A spreadsheet runs a text that begins so, also in quotation marks; a number is none.
    const isChange = (text) => /^[+-]\d[\d.,]* ?[%a-zµ]{0,4}$/.test(text) || !isNaN(Number(text));
    const inert = (text) => (/^[=+\-@\t\r＝＋－＠]/.test(text) && !isChange(text) ? `'${text}` : text);
    const quoted = (text) => `"${inert(String(text)).replaceAll('"', '""')}"`;
    save("points-chosen.csv", "text/csv", [names, ...lines].map((line) => line.map(quoted).join(",")).join("\n") + "\n");
  }

  async function begin() {
    points = await unpack("pack-points");
    form.hidden = false;
    document.getElementById("csv").hidden = false;
    head();
    form.addEventListener("change", choose);
    form.addEventListener("reset", () => setTimeout(choose));
    document.getElementById("more").addEventListener("click", () => { shown += step; rows(); });
    document.getElementById("csv").addEventListener("click", csv);
    table.addEventListener("click", ({ target }) => {
      const row = target.closest("tr[data-point]");
      if (row) look(row);
    });
    table.addEventListener("keydown", ({ key, target }) => {
      if (key === "Enter" && target.dataset?.point) look(target);
    });
    await choose();
    document.documentElement.dataset.explored = "ready";
  }

  const watch = new IntersectionObserver((seen) => {
    if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
    watch.disconnect();
    begin();
  }, { rootMargin: "300px" });
  watch.observe(document.getElementById("explored"));
})();
