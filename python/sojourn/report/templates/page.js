"use strict";
// Draws the figures from the specifications in this file; the tables stand without it.
(() => {
  const figures = {};
  let isReady; // settled once the library and the figures are unpacked
  const views = new Map();
  const shown = new Map(); // of boxes whose figure is made here
  const narrow = 560; // px of a chart below which legends take two columns

  // Small multiples cannot follow their container by themselves: count the panels that fit.
  function fitted(figure, width) {
    const spec = structuredClone(figure.spec);
    delete spec.title; // the page has it as a heading
    spec.config.background = "transparent";
    const isOverview = spec.params?.some(({ name }) => name === "hot"); // its names are long
    spec.config.legend.columns = width < narrow ? (isOverview ? 1 : 2) : 4;
    spec.config.axis.titleLimit = width - 20;
    if (figure.panel) {
      const axis = 75, gap = 20;
      const fit = Math.floor((width - axis + gap) / (figure.panel + gap));
      const columns = Math.max(1, Math.min(fit, figure.panels));
      spec.columns = columns;
      if (spec.concat) // each panel has an axis of its own
        for (const one of spec.concat) one.width = Math.floor(width / columns - axis - gap);
      else spec.spec.width = Math.floor((width - axis - gap * (columns - 1)) / columns);
    }
    return spec;
  }

  async function draw(box) {
    try {
      await isReady;
    } catch (error) {
      return fail(box, error);
    }
    const figure = shown.get(box) ?? figures[box.dataset.figure];
    if (!figure) return; // not unpacked yet
    const width = box.clientWidth;
    try {
      const result = await vegaEmbed(box, fitted(figure, width), {
        renderer: "svg",
        actions: false,
        ast: true, // interpreted: this page's policy forbids code made of text
        tooltip: { disableDefaultStyle: true },
      });
      views.get(box)?.result.finalize();
      views.set(box, { result, width });
      link(result.view);
    } catch (error) {
      fail(box, error);
    }
  }

  function fail(box, error) {
    box.className = "failed";
    box.textContent = `This figure could not be drawn: ${error.message}. Its numbers are below.`;
  }

  // The library is packed as the figures are; the page's policy knows it by its hash.
  async function load() {
    const script = document.createElement("script");
    script.textContent = await unpack("library");
    document.head.append(script);
    Object.assign(figures, whole(await unpack("figures")));
  }

  async function drawAll() {
    // What is folded away has no width yet; it is drawn when it is opened.
    for (const box of document.querySelectorAll(".chart")) if (box.clientWidth) await draw(box);
    document.documentElement.dataset.drawn = "all";
  }

  // Figures, and parts of a long page until somebody looks, are text: gzip in base64.
  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // The rows of figures lie column by column; `lacks` says which rows have no such value.
  function whole(found) {
    for (const { spec } of Object.values(found))
      for (const [name, { columns, count, lacks }] of Object.entries(spec.datasets)) {
        const rows = Array.from({ length: count }, () => ({}));
        for (const [key, values] of Object.entries(columns)) {
          const lacking = new Set(lacks[key]);
          values.forEach((value, at) => { if (!lacking.has(at)) rows[at][key] = value; });
        }
        spec.datasets[name] = rows;
      }
    return found;
  }

  async function fill(part) {
    const id = part.dataset.pack;
    delete part.dataset.pack;
    try {
      const found = await unpack(id);
      Object.assign(figures, whole(found.figures));
      part.insertAdjacentHTML("beforeend", found.html);
      wire(part);
      part.dataset.filled = "";
    } catch (error) {
      part.append(`This part could not be unpacked: ${error.message}. Its numbers lie in figures/ beside this page.`);
    }
  }

  // A link into what is folded opens it.
  function onHash() {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = at; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  }

  async function show(box, figure) {
    shown.set(box, figure);
    await draw(box);
  }

  async function onOpen({ target }) {
    if (!target.open) return;
    if (target.dataset.pack) await fill(target);
    for (const box of target.querySelectorAll(".chart"))
      if (box.clientWidth && views.get(box)?.width !== box.clientWidth) await draw(box);
  }

  // A service under the pointer is emphasised everywhere: its tile, its curve, its row of a load.
  function emphasise(service, load) {
    for (const tile of document.querySelectorAll(".tile"))
      tile.classList.toggle("hot", tile.dataset.service === service);
    for (const row of document.querySelectorAll("tr[data-load]"))
      row.classList.toggle("hot", row.dataset.service === service && row.dataset.load === load);
    for (const { result } of views.values())
      if (result.spec.params?.some(({ name }) => name === "hot"))
        result.view.signal("hot", service ?? "").runAsync();
  }

  function link(view) {
    view.addEventListener("pointerover", (_, item) => {
      const { service, fraction } = item?.datum ?? {};
      if (service) emphasise(service, String(fraction));
    });
    view.addEventListener("pointerout", () => emphasise());
  }

  let waiting = 0;
  function redraw() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      for (const [box, { width }] of views)
        if (box.clientWidth && box.clientWidth !== width) await draw(box);
    }, 150);
  }

  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Colours are variables of this page; a saved picture needs them written in.
  function withColours(svg) {
    const style = getComputedStyle(document.documentElement);
    return svg.replace(/var\((--[a-z0-9-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }

  async function onSave(button) {
    const name = button.dataset.of;
    if (button.dataset.save === "csv") {
      if (figures[name].csv === null) return void open(`figures/${name}.csv`); // too long for this file
      return save(`${name}.csv`, "text/csv", figures[name].csv);
    }
    const box = document.querySelector(`[data-figure="${name}"]`);
    const svg = withColours(await views.get(box).result.view.toSVG());
    if (button.dataset.save === "svg") return save(`${name}.svg`, "image/svg+xml", svg);
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${name}.png`, "image/png", blob));
  }

  async function onCopy(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source); // a page from disk may not reach the clipboard
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function setUpTheme() {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = isDark() ? "Light colours" : "Dark colours";
    };
    try {
      const kept = localStorage.getItem("sojourn-theme");
      if (kept) document.documentElement.dataset.theme = kept;
    } catch { /* storage may be closed to a page from disk */ }
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("sojourn-theme", document.documentElement.dataset.theme); } catch { /* as above */ }
      label();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
    label();
    button.hidden = false;
  }

  document.addEventListener("click", ({ target }) => {
    if (target.dataset?.save) onSave(target);
    if (target.dataset?.copy) onCopy(target);
  });
  function wire(root) {
    for (const box of root.querySelectorAll(".save, [data-copy]")) box.hidden = false;
    for (const place of root.querySelectorAll(".tile, tr[data-load]")) {
      place.addEventListener("pointerenter", () => emphasise(place.dataset.service, place.dataset.load));
      place.addEventListener("pointerleave", () => emphasise());
    }
  }
  wire(document);
  addEventListener("hashchange", onHash);
  document.addEventListener("toggle", onOpen, true);
  addEventListener("resize", redraw);
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll("#setup details")) box.open = true;
  });
  setUpTheme();
  isReady = load();
  isReady.catch(() => {}); // each figure says it
  onHash();
  drawAll();
  window.sojourn = { unpack, show, save };
})();
