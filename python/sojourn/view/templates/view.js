"use strict";
// Search as it is typed, keys, the live page, notes. Without it lists, filters and links still work.
(() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const filter = find("#filter"), rows = find("#rows"), compare = find("#compare");
  const MOST = 8, AGAIN_MS = 5000;

  // A new text of a part of the page ------------------------------------------------------------
  const keyOf = (node) => node.dataset?.key || node.id;
  const isAlike = (one, other) => one?.nodeName === other.nodeName && keyOf(one) === keyOf(other);
  function say(node, text) {
    if (node.textContent !== text) node.textContent = text; // a reader hears it once
  }
  // Only what differs is touched: focus, scrolling and what a person opened stay.
  function fill(old, made) {
    const rest = [...old.childNodes];
    for (const child of [...made.childNodes]) {
      const at = keyOf(child) ? rest.findIndex((one) => isAlike(one, child)) : isAlike(rest[0], child) ? 0 : -1;
      if (at < 0) old.insertBefore(child, rest[0] ?? null);
      else {
        for (const gone of rest.splice(0, at)) gone.remove();
        change(rest.shift(), child);
      }
    }
    for (const gone of rest) gone.remove();
  }
  function change(old, made) {
    if (old.nodeType !== Node.ELEMENT_NODE) return say(old, made.textContent);
    const own = new Set(["open"]); // a person's
    for (const { name } of [...old.attributes]) if (!own.has(name) && !made.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of made.attributes) if (!own.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    fill(old, made);
  }
  function fillWith(old, html) {
    const made = document.createElement("template");
    made.innerHTML = html; // made and escaped by this server
    fill(old, made.content);
  }

  // What this tab or this browser remembers; nothing where it may not ---------------------------
  function remembered(store, name) {
    try {
      return window[store].getItem(name);
    } catch {
      return null;
    }
  }
  function remember(store, name, value) {
    try {
      window[store].setItem(name, value);
    } catch {}
  }

  // The list ------------------------------------------------------------------------------------
  const TICKED = `ticked ${filter?.action}`; // its address has the key: another view has others
  const ticked = new Set(JSON.parse(remembered("sessionStorage", TICKED) ?? "[]"));
  let asked = 0;
  async function search({ isAgain = false } = {}) {
    const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
    if (isAgain) for (const [name, value] of new URLSearchParams(location.search)) if (name === "page") query.set(name, value);
    const number = ++asked;
    const answer = await fetch(new URL(`rows?${query}`, filter.action));
    if (!answer.ok || number !== asked) return; // a later search is under way
    fillWith(rows, await answer.text());
    if (!isAgain) history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
    counted();
    wait();
  }
  function wait() {
    if (find("[data-pending]", rows)) setTimeout(() => search({ isAgain: true }), 1000);
  }
  function counted() {
    const boxes = all("input", rows);
    for (const box of boxes) {
      box.checked = ticked.has(box.value);
      box.disabled = ticked.size >= MOST && !box.checked;
    }
    const shown = new Set(boxes.map((box) => box.value));
    const others = [...ticked].filter((name) => !shown.has(name)); // of another page or search
    const inputs = others.map((value) => Object.assign(document.createElement("input"), { type: "hidden", name: "r", value }));
    find("#others").replaceChildren(...inputs);
    const where = others.length ? `, ${others.length} of them not in this list` : "";
    say(find("#ticked"), ticked.size ? `${ticked.size} of at most ${MOST} records ticked${where}` : `up to ${MOST} ticked records on one scale`);
    find("#untick").hidden = !ticked.size;
    remember("sessionStorage", TICKED, JSON.stringify([...ticked]));
  }
  function move(step) {
    const items = all(".records li .name a");
    const at = items.indexOf(document.activeElement?.closest("li")?.querySelector(".name a"));
    items[Math.max(0, Math.min(items.length - 1, at + step))]?.focus();
  }
  if (filter) {
    const keys = find("#keys");
    let timer;
    filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(search, 120);
    });
    filter.addEventListener("submit", (event) => {
      event.preventDefault();
      search();
    });
    rows.addEventListener("change", ({ target }) => {
      if (target.checked) ticked.add(target.value);
      else ticked.delete(target.value);
      counted();
    });
    find("#untick").addEventListener("click", () => {
      ticked.clear();
      counted();
      find("button", compare).focus(); // this one is hidden now
    });
    keys.checked = remembered("localStorage", "keys") !== "off";
    keys.addEventListener("change", () => remember("localStorage", "keys", keys.checked ? "on" : "off"));
    document.addEventListener("keydown", (event) => {
      const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && isTyping) return event.target.blur();
      if (isTyping || !keys.checked) return;
      if (event.key === "/") find("#q").focus();
      else if (event.key === "j") move(1);
      else if (event.key === "k") move(-1);
      else if (event.key === "x") document.activeElement?.closest(".records li")?.querySelector("input").click();
      else if (event.key === "c" && ticked.size) compare.requestSubmit();
      else return;
      event.preventDefault();
    });
    counted();
    wait();
  }

  // A record ------------------------------------------------------------------------------------
  const live = find("#live");
  if (live) {
    const state = find("#live-state");
    let source, timer, lines;
    const stop = () => {
      source?.close();
      clearTimeout(timer);
    };
    const lost = (text) => {
      stop();
      say(state, text);
      live.dataset.lost = "yes";
      timer = setTimeout(follow, AGAIN_MS);
    };
    // A hidden page gives its connection to others: a browser opens six of one server.
    function follow() {
      stop();
      if (document.hidden || live.dataset.ended) return;
      source = new EventSource(live.dataset.events);
      lines = [];
      source.addEventListener("view", (event) => {
        for (const [at, count, made] of JSON.parse(event.data)) lines.splice(at, count, ...made);
        fillWith(live, lines.join("\n"));
        say(state, "");
        delete live.dataset.lost;
        live.dataset.views = Number(live.dataset.views ?? 0) + 1;
      });
      source.addEventListener("end", () => {
        live.dataset.ended = "yes";
        stop();
      });
      source.addEventListener("full", (event) => lost(JSON.parse(event.data)));
      source.addEventListener("error", () => lost("This page is not up to date: `sojourn view` does not answer, or was ended."));
    }
    document.addEventListener("visibilitychange", follow);
    addEventListener("pagehide", stop);
    addEventListener("pageshow", (event) => event.persisted && follow());
    follow();
  }
  const note = find("#note");
  note?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const state = find("#note-state");
    state.textContent = "saving …";
    try {
      const answer = await fetch(note.dataset.to, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ text: find("#note-text").value, version: note.dataset.version }),
      });
      const table = await answer.json();
      if (answer.ok) note.dataset.version = table.version;
      state.textContent = answer.ok ? "saved" : `not saved: ${table.what}. To fix it: ${table.fix}`;
    } catch {
      state.textContent = "not saved: `sojourn view` does not answer";
    }
  });
  for (const box of all("details.report"))
    box.addEventListener("toggle", () => {
      const frame = find("iframe", box);
      if (box.open && !frame.src) frame.src = frame.dataset.src;
    });
  for (const button of all("[data-copy]"))
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(find("code", button.parentElement).textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
})();
