// The list of what waits. Only what is on the screen is in the document.

import { html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { Bulk } from "./bulk.js";
import { resized, scrolled, shifted } from "./guard.js";
import { arrange, clearSettled, inbox, lookUp, open, promptOf, settledCount, showFresh, subscribe } from "./inbox.js";
import { Prompt } from "./prompt.js";
import { query, setQuery } from "./route.js";
import { place, visible } from "./shown.js";

// useInbox renders again after each change of the inbox. An effect after the paint would miss
// a snapshot that comes before it.
export function useInbox() {
  const [, tick] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => subscribe(tick), []);
}

const guess = { approval: 190, question: 260 };
const gap = 12;
const onLoad = 100; // ms until the prompts of a page that was just opened may be pressed: nobody aimed at another before

function Windowed({ list, openedHandle, filters, opening }) {
  const heights = useRef(new Map());
  const before = useRef({ filters, tops: new Map() });
  const box = useRef();
  const [, measure] = useReducer(n => n + 1, 0);
  const wait = useRef();
  wait.current = opening ? onLoad : undefined;
  const heightOf = one => heights.current.get(one.handle) ?? guess[one.kind];
  // note takes the height of an item; it returns true for another one than before.
  const note = item => {
    const height = item.offsetHeight, handle = item.dataset.handle, one = inbox.prompts.get(handle);
    if (!height) return false;
    if (one && !one.resolution && !one.sending) one.held = height;
    const was = heights.current.get(handle);
    if (was === height) return false;
    heights.current.set(handle, height);
    if (was !== undefined) resized(handle, wait.current);
    return true;
  };
  const observer = useMemo(() => new ResizeObserver(entries => { if (entries.map(entry => note(entry.target)).includes(true)) measure(); }), []);
  useEffect(() => {
    let asked = false;
    const look = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; measure(); });
    };
    const scroll = () => { scrolled(); look(); };
    // Another width is another layout, which the person chose.
    const resize = () => { for (const one of inbox.prompts.values()) one.held = 0; look(); };
    addEventListener("scroll", scroll, { passive: true });
    addEventListener("resize", resize);
    return () => { removeEventListener("scroll", scroll); removeEventListener("resize", resize); observer.disconnect(); };
  }, []);
  const tops = [];
  let height = 0;
  for (const one of list) { tops.push(height); height += heightOf(one) + gap; }

  useLayoutEffect(() => {
    const items = [...box.current.children];
    const differs = items.map(note).includes(true);
    for (const item of items) observer.observe(item);
    // What is in view stays where it is, whatever becomes of what is above it.
    const offset = box.current.offsetTop, last = before.current, now = new Map();
    list.forEach((one, i) => now.set(one.handle, offset + tops[i]));
    const kept = last.filters === filters && list.find((one, i) => last.tops.has(one.handle) && last.tops.get(one.handle) + heightOf(one) > scrollY && !(one.resolution && list[i + 1]));
    const slip = kept && last.tops.get(kept.handle) < scrollY + innerHeight ? now.get(kept.handle) - last.tops.get(kept.handle) : 0;
    const from = scrollY;
    if (slip && from > 0) scrollBy({ top: slip, behavior: "instant" });
    const moved = scrollY - from;
    for (const one of list) {
      const was = last.tops.get(one.handle), is = now.get(one.handle);
      if (was === undefined) shifted(one.handle, wait.current);
      else if (was + moved !== is && is < scrollY + innerHeight && is + heightOf(one) > scrollY) shifted(one.handle, wait.current);
    }
    before.current = { filters, tops: now };
    if (differs) measure();
  });
  // A link to one prompt opens the page at it.
  useEffect(() => {
    if (!openedHandle) return;
    place.wanted = openedHandle;
    measure();
    setTimeout(() => {
      const item = document.getElementById("prompt-" + openedHandle);
      if (item && (item.getBoundingClientRect().top < 0 || item.getBoundingClientRect().bottom > innerHeight)) item.scrollIntoView({ block: "start", behavior: "instant" });
      item?.focus({ preventScroll: true });
    });
  }, [openedHandle]);

  const from = scrollY - (box.current?.offsetTop ?? 0) - 600, to = from + innerHeight + 1200;
  const focused = document.activeElement?.closest?.("[data-handle]")?.dataset.handle;
  const total = list.filter(one => !one.resolution).length;
  let position = 0;
  return html`<ul class="list" aria-label="Waiting for you" tabindex="-1" ref=${box} style=${{ height: height + "px" }}>${list.map((one, i) => {
    if (!one.resolution) position++;
    const seen = tops[i] + heightOf(one) > from && tops[i] < to;
    if (!seen && one.handle !== focused && one.handle !== place.wanted) return null;
    return html`<${Prompt} key=${one.handle} one=${one} top=${tops[i]} position=${Math.max(position, 1)} total=${total} opened=${one.handle === openedHandle} />`;
  })}</ul>`;
}

// filter looks at another list: what was settled is not in it.
const filter = change => { clearSettled(query().get("prompt") ?? ""); setQuery(change, true); };

function Filters({ params, list }) {
  const agents = [...new Set(open().map(one => one.agent))].sort();
  const select = (label, name, options) => html`<label>${label}<select onChange=${e => filter({ [name]: e.target.value })}>
    ${options.map(([value, text]) => html`<option value=${value} selected=${(params.get(name) ?? "") === value}>${text}</option>`)}</select></label>`;
  const settled = settledCount();
  const fresh = inbox.fresh.length;
  // Its height is the same with and without buttons: they come and go while somebody aims at what is below.
  return html`<div class="filters"><label>Filter<input type="search" value=${params.get("q") ?? ""} onInput=${e => filter({ q: e.target.value })} /></label>
    ${select("Agent", "agent", [["", "All"], ...agents.map(agent => [agent, agent])])}
    ${select("Kind", "kind", [["", "All"], ["approval", "Approvals"], ["question", "Questions"]])}
    ${select("Sort", "sort", [["", "Most urgent"], ["oldest", "Oldest"], ["newest", "Newest"]])}</div>
    <div class="tidy"><span>${fresh > 0 && html`<button class="fresh" onClick=${showFresh}>${fresh} new</button>`}</span>
    <span>${settled > 0 && list.length > 0 && html`<button class="quiet" onClick=${() => clearSettled(params.get("prompt") ?? "")}>Clear ${settled}</button>`}</span></div>`;
}

function Linked({ handle }) {
  const [one, setOne] = useState(null);
  useEffect(() => {
    let late = false;
    setOne(null);
    void lookUp(handle).then(view => {
      if (late || view === undefined) return;
      if (view === null) { setOne("none"); return; }
      const found = promptOf(view, view.kind, view.resolution);
      found.detached = true;
      if (view.resolution) setOne(found);
    });
    return () => { late = true; };
  }, [handle]);
  if (one === "none") return html`<p class="empty" role="status">No such prompt, or it is not yours.</p>`;
  return one && html`<ul class="linked" aria-label="The prompt of this link"><${Prompt} one=${one} position=1 total=1 opened=${true} /></ul>`;
}

const tryIt = `holdpoint exec --server ${location.origin} --reason "to see it wait" -- echo it ran`;

function Empty() {
  return html`<div class="empty"><p>Nothing is waiting for you.</p>
    ${!inbox.everHad && html`<p class="quiet">Try it in a terminal:</p><pre tabindex="0"><code>${tryIt}</code></pre><button onClick=${() => navigator.clipboard?.writeText(tryIt)}>Copy</button>`}</div>`;
}

export function Inbox() {
  useInbox();
  const params = query();
  arrange(params.get("sort") ?? "");
  const openedHandle = params.get("prompt");
  if (inbox.fresh.includes(openedHandle)) showFresh();
  const list = visible(params);
  useEffect(() => () => clearSettled(), []);
  const opening = useRef(true);
  useEffect(() => { if (inbox.loaded) opening.current = false; });
  if (!inbox.loaded) return html`<p class="empty" aria-busy="true">Loading…</p>`;
  const filters = ["q", "agent", "kind", "sort"].map(name => params.get(name) ?? "").join("\n");
  return html`<h1 class="sr">Inbox</h1><${Filters} params=${params} list=${list} />
    ${openedHandle && !inbox.prompts.has(openedHandle) && html`<${Linked} handle=${openedHandle} />`}
    ${list.length === 0 ? (open().length ? html`<p class="empty">No matching requests.</p>` : html`<${Empty} />`) : html`<${Windowed} list=${list} openedHandle=${openedHandle} filters=${filters} opening=${opening.current} />`}
    <${Bulk} />`;
}
