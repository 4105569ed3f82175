// The list of what waits. Only what is on the screen is in the document.

import { html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { ApprovalActions, Asked, allow, canDecide, folded, form, readable } from "./approval.js";
import { changed, decide, dismiss, inbox, isMine, lookUp, nowMs, open, promptOf, settle, showFresh, subscribe } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { headingOf, QuestionForm } from "./question.js";
import { go, query, setQuery } from "./route.js";
import { deadlineWords, moment, settledWords, span } from "./words.js";

// useInbox renders again after each change of the inbox. An effect after the paint would miss
// a snapshot that comes before it.
export function useInbox() {
  const [, tick] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => subscribe(tick), []);
}

// useClock renders again about every second, by the service's clock.
function useClock() {
  const [now, set] = useState(nowMs());
  useEffect(() => {
    const timer = setInterval(() => set(nowMs()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function Waiting({ one }) {
  const now = useClock();
  return html`<span class="waiting">waits ${span(now - one.createdMs)}</span>
    ${one.dueMs > 0 && html` <span class=${"deadline" + (one.dueMs - now < 60000 ? " soon" : "")}>${deadlineWords(one.kind, one.dueMs, now)}${one.dueMs > now && `, in ${span(one.dueMs - now)}`}</span>`}`;
}

function Details({ one }) {
  const { request } = one;
  return html`<dl class="details">
    <dt>Run</dt><dd><a href=${"/runs/" + encodeURIComponent(one.run)}>${one.run}</a></dd>
    <dt>Request</dt><dd><code>${marked(request.id)}</code></dd>
    ${request.scope && html`<dt>Scope</dt><dd>${marked(request.scope)}</dd>`}
    ${request.pattern_keys?.length > 0 && html`<dt>Patterns</dt><dd>${request.pattern_keys.map(key => html`<code>${marked(key)}</code> `)}</dd>`}
    ${one.requester && html`<dt>Asked by</dt><dd>session <a href=${"/sessions/" + encodeURIComponent(one.requester)}>${one.requester}</a></dd>`}
    <dt>Since</dt><dd>${moment(one.createdMs, nowMs())}</dd>
    ${request.input_digest && html`<dt>Digest</dt><dd><code>${request.input_digest}</code></dd>`}</dl>`;
}

export function Prompt({ one, position, total, opened, top }) {
  const name = one.kind === "approval" ? one.request.tool_name : headingOf(one);
  one.opened = opened;
  const settledText = one.resolution && settledWords(one.kind, one.resolution, nowMs(), isMine(one.handle));
  const toggle = event => {
    if (event.key !== "Enter" || event.target !== event.currentTarget) return;
    event.preventDefault();
    setQuery({ prompt: opened ? "" : one.handle });
  };
  const select = event => {
    if (event.target.checked) inbox.selected.add(one.handle); else inbox.selected.delete(one.handle);
    changed();
  };
  return html`<li id=${"prompt-" + one.handle} class=${"prompt " + one.kind + (one.resolution ? " settled" : "") + (opened ? " opened" : "")} data-handle=${one.handle} tabindex="0"
      style=${top === undefined ? null : { transform: `translateY(${top}px)` }} aria-setsize=${total} aria-posinset=${position} onKeyDown=${toggle}>
    <div class="head">
      ${one.kind === "approval" && !one.resolution && html`<input type="checkbox" aria-label=${`Select ${plain(one.request.tool_name)} in ${one.session}`} checked=${inbox.selected.has(one.handle)} onChange=${select} />`}
      <h2>${marked(name)}</h2>
      <p class="where"><a href=${"/sessions/" + encodeURIComponent(one.session)}>${one.session}</a><span class="agent">${one.agent}</span>${!one.resolution && html`<${Waiting} one=${one} />`}</p>
    </div>
    ${one.kind === "approval" && html`<${Asked} one=${one} />`}
    ${opened && html`<${Details} one=${one} />`}
    ${one.error && html`<p class="error" role="alert">${marked(one.error)}</p>`}
    ${!one.resolution && !one.sending && (one.kind === "approval" ? html`<${ApprovalActions} one=${one} />` : html`<${QuestionForm} one=${one} />`)}
    <p class="outcome" role="status">${settledText ? marked(settledText) : one.sending || one.notice || ""}</p>
    ${one.resolution?.reason && html`<p class="reason">“${marked(one.resolution.reason)}”</p>`}
    ${one.resolution && !one.detached && html`<button class="quiet" onClick=${() => dismiss(one.handle)}>Dismiss</button>`}
  </li>`;
}

const guess = { approval: 190, question: 260 };

// visible returns the prompts that fit the filters, in the order of the list.
function visible(params) {
  const words = (params.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const agent = params.get("agent"), kind = params.get("kind"), sort = params.get("sort");
  const list = inbox.order.map(handle => inbox.prompts.get(handle)).filter(one => one && (!agent || one.agent === agent) && (!kind || one.kind === kind)
    && words.every(word => one.text.includes(word)));
  if (sort === "newest") list.sort((a, b) => b.createdMs - a.createdMs);
  if (sort === "oldest") list.sort((a, b) => a.createdMs - b.createdMs);
  return list;
}

function Windowed({ list, openedHandle }) {
  const heights = useRef(new Map());
  const box = useRef();
  const [, measure] = useReducer(n => n + 1, 0);
  const observer = useMemo(() => new ResizeObserver(entries => {
    let differs = false;
    for (const { target } of entries) {
      const height = target.offsetHeight, handle = target.dataset.handle;
      if (height && heights.current.get(handle) !== height) { heights.current.set(handle, height); differs = true; }
    }
    if (differs) measure();
  }), []);
  useEffect(() => {
    let asked = false;
    const look = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; measure(); });
    };
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => { removeEventListener("scroll", look); removeEventListener("resize", look); observer.disconnect(); };
  }, []);
  useLayoutEffect(() => { for (const item of box.current?.children ?? []) observer.observe(item); });
  const gap = 12;
  const tops = [];
  let height = 0;
  for (const one of list) { tops.push(height); height += (heights.current.get(one.handle) ?? guess[one.kind]) + gap; }
  const from = scrollY - (box.current?.offsetTop ?? 0) - 600, to = from + innerHeight + 1200;
  const focused = document.activeElement?.closest?.("[data-handle]")?.dataset.handle;
  const total = list.filter(one => !one.resolution).length;
  let position = 0;
  return html`<ul class="list" aria-label="Waiting for you" ref=${box} style=${{ height: height + "px" }}>${list.map((one, i) => {
    if (!one.resolution) position++;
    const seen = tops[i] + (heights.current.get(one.handle) ?? guess[one.kind]) > from && tops[i] < to;
    if (!seen && one.handle !== focused && one.handle !== moving.to) return null;
    return html`<${Prompt} key=${one.handle} one=${one} top=${tops[i]} position=${Math.max(position, 1)} total=${total} opened=${one.handle === openedHandle} />`;
  })}</ul>`;
}

const moving = { to: "" };

function Filters({ params }) {
  const agents = [...new Set(open().map(one => one.agent))].sort();
  const select = (label, name, options) => html`<label>${label}<select onChange=${e => setQuery({ [name]: e.target.value }, true)}>
    ${options.map(([value, text]) => html`<option value=${value} selected=${(params.get(name) ?? "") === value}>${text}</option>`)}</select></label>`;
  return html`<div class="filters"><label>Filter<input type="search" value=${params.get("q") ?? ""} onInput=${e => setQuery({ q: e.target.value }, true)} /></label>
    ${select("Agent", "agent", [["", "All"], ...agents.map(agent => [agent, agent])])}
    ${select("Kind", "kind", [["", "All"], ["approval", "Approvals"], ["question", "Questions"]])}
    ${select("Sort", "sort", [["", "Most urgent"], ["oldest", "Oldest"], ["newest", "Newest"]])}</div>`;
}

function Bulk() {
  const chosen = [...inbox.selected].map(handle => inbox.prompts.get(handle)).filter(one => one && !one.resolution);
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  if (chosen.length === 0) return null;
  const able = chosen.every(canDecide);
  const send = event => {
    event.preventDefault();
    void decide(chosen, { behavior: "deny", ...(reason.trim() && { reason: reason.trim() }) });
    setDenying(false);
    setReason("");
  };
  const allowAll = () => { if (chosen.filter(one => !readable(one)).length === 0) void decide(chosen, { behavior: "allow" }); };
  return html`<div class="bulk" role="group" aria-label="Selected">${denying
    ? html`<form onSubmit=${send}><label class="grow">Reason (optional)<input ref=${element => element?.focus()} value=${reason} onInput=${e => setReason(e.target.value)} /></label>
      <button class="deny">Deny selected (${chosen.length})</button><button type="button" class="quiet" onClick=${() => setDenying(false)}>Back</button></form>`
    : html`<button class="allow" disabled=${!able || chosen.some(one => one.barred !== "")} onClick=${allowAll}>Allow selected (${chosen.length})</button>
      <button class="deny" disabled=${!able} onClick=${() => setDenying(true)}>Deny selected (${chosen.length})</button>
      <button class="quiet" onClick=${() => { inbox.selected.clear(); changed(); }}>Select none</button>
      ${chosen.some(one => one.barred) && html`<span role="status">You cannot allow what you asked for: ${chosen.filter(one => one.barred).length} of them</span>`}
      ${chosen.some(folded) && html`<span role="status">Open the input first: ${chosen.filter(folded).length} of them are folded</span>`}`}</div>`;
}

function Linked({ handle }) {
  const [one, setOne] = useState(null);
  useEffect(() => {
    let late = false;
    setOne(null);
    void lookUp(handle).then(view => {
      if (late || !view) return;
      const found = promptOf(view, view.kind, view.resolution);
      found.detached = true;
      if (view.resolution) setOne(found);
    });
    return () => { late = true; };
  }, [handle]);
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
  const list = visible(params);
  const openedHandle = params.get("prompt");
  if (!inbox.loaded) return html`<p class="empty" aria-busy="true">Reading what waits…</p>`;
  return html`<h1 class="sr">Inbox</h1><${Filters} params=${params} />
    ${inbox.fresh.length > 0 && html`<button class="fresh" onClick=${showFresh}>${inbox.fresh.length} new</button>`}
    ${openedHandle && !inbox.prompts.has(openedHandle) && html`<${Linked} handle=${openedHandle} />`}
    ${list.length === 0 ? (open().length ? html`<p class="empty">Nothing fits the filter.</p>` : html`<${Empty} />`) : html`<${Windowed} list=${list} openedHandle=${openedHandle} />`}
    <${Bulk} />`;
}

const inField = element => element?.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select");

// keys acts on the focused prompt alone.
export function keys(event, help) {
  if (event.ctrlKey || event.metaKey || event.altKey || inField(event.target) || event.defaultPrevented) return;
  const list = visible(query());
  const item = document.activeElement?.closest?.("li[data-handle]");
  const one = inbox.prompts.get(item?.dataset.handle);
  const move = step => {
    const at = one ? list.indexOf(one) + step : 0;
    const target = list[Math.max(0, Math.min(list.length - 1, at))];
    if (!target) return;
    moving.to = target.handle;
    changed();
    // At once where the item is in the document: the next key is for it.
    const focus = () => {
      const element = document.getElementById("prompt-" + target.handle);
      element?.focus({ preventScroll: true });
      element?.scrollIntoView({ block: "nearest" });
      return element;
    };
    if (!focus()) setTimeout(focus);
  };
  const approval = one?.kind === "approval" && !one.resolution && !one.sending;
  switch (event.key) {
    case "j": move(1); break;
    case "k": move(-1); break;
    case "/": document.querySelector("input[type=search]")?.focus(); break;
    case "?": help(); break;
    case "u": if (query().get("prompt")) setQuery({ prompt: "" }); else if (location.pathname !== "/") go("/"); break;
    case "a": if (approval) allow(one); break;
    case "d": if (approval && canDecide(one)) form(one, "deny"); break;
    case "e": if (approval && canDecide(one) && one.barred === "") form(one, "edit"); break;
    case "r": if (approval && canDecide(one)) form(one, "remember"); break;
    case "x":
      if (!approval) return;
      if (!inbox.selected.delete(one.handle)) inbox.selected.add(one.handle);
      changed();
      break;
    default: return;
  }
  event.preventDefault();
}
