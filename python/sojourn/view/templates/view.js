"use strict";
// Search as it is typed, keys, the live page, notes. Without it lists, filters and links still work.
(() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const filter = find("#filter"), rows = find("#rows"), compare = find("#compare");
  const MOST = 8;

  // The list ------------------------------------------------------------------------------------
  let asked = 0;
  async function search({ isAgain = false } = {}) {
    const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
    if (isAgain) for (const [name, value] of new URLSearchParams(location.search)) if (name === "page") query.set(name, value);
    const number = ++asked;
    const answer = await fetch(`/rows?${query}`);
    if (!answer.ok || number !== asked) return; // a later search is under way
    const ticked = new Set(all(":checked", rows).map((box) => box.value));
    const focused = document.activeElement?.closest("li")?.querySelector("input")?.value;
    rows.innerHTML = await answer.text(); // made and escaped by this server
    for (const box of all("input", rows)) box.checked = ticked.has(box.value);
    const again = all("li", rows).find((li) => find("input", li).value === focused);
    if (again) find("a", again).focus();
    if (!isAgain) history.replaceState(null, "", query.size ? `/?${query}` : "/");
    counted();
    wait();
  }
  function wait() {
    if (find("[data-pending]", rows)) setTimeout(() => search({ isAgain: true }), 1000);
  }
  function counted() {
    const count = all(":checked", rows).length;
    find("#ticked").textContent = count ? `${count} of at most ${MOST} records ticked` : `up to ${MOST} ticked records on one scale`;
    for (const box of all("input", rows)) box.disabled = count >= MOST && !box.checked;
  }
  function move(step) {
    const items = all(".records li .name a");
    const at = items.indexOf(document.activeElement?.closest("li")?.querySelector(".name a"));
    items[Math.max(0, Math.min(items.length - 1, at + step))]?.focus();
  }
  if (filter) {
    let timer;
    filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(search, 120);
    });
    filter.addEventListener("submit", (event) => {
      event.preventDefault();
      search();
    });
    rows.addEventListener("change", counted);
    document.addEventListener("keydown", (event) => {
      const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && isTyping) return event.target.blur();
      if (isTyping) return;
      if (event.key === "/") find("#q").focus();
      else if (event.key === "j" || event.key === "ArrowDown") move(1);
      else if (event.key === "k" || event.key === "ArrowUp") move(-1);
      else if (event.key === "x") find("input", document.activeElement.closest("li"))?.click();
      else if (event.key === "c" && all(":checked", rows).length) compare.requestSubmit();
      else return;
      event.preventDefault();
    });
    counted();
    wait();
  }

  // A record ------------------------------------------------------------------------------------
  const live = find("#live");
  if (live) {
    const source = new EventSource(live.dataset.events);
    source.addEventListener("view", (event) => {
      live.innerHTML = JSON.parse(event.data); // made and escaped by this server
      live.dataset.views = Number(live.dataset.views ?? 0) + 1;
    });
    source.addEventListener("end", () => {
      source.close();
      live.dataset.ended = "yes";
    });
    addEventListener("pagehide", () => source.close());
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
        body: JSON.stringify({ text: find("#note-text").value }),
      });
      const table = await answer.json();
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
