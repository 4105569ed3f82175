// One prompt of the list, with what became of it.

import { html, useEffect, useLayoutEffect, useReducer, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { ApprovalActions, Asked } from "./approval.js";
import { act, focusedByPage, shifted } from "./guard.js";
import { changed, dismiss, inbox, isMine, nowMs } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { headingOf, QuestionForm } from "./question.js";
import { setQuery } from "./route.js";
import { leave, look } from "./seen.js";
import { focusPrompt, nextOpen } from "./shown.js";
import { deadlineWords, moment, settledWords, span } from "./words.js";

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

// useReading keeps what was read of a prompt, while it is in the document.
function useReading(one) {
  const [, tick] = useReducer(n => n + 1, 0);
  const asked = useRef();
  useLayoutEffect(() => {
    const element = document.querySelector(`[id="prompt-${one.handle}"] .asked`);
    asked.current = element;
    if (element && !one.resolution && look(one, element)) tick();
  });
  useEffect(() => {
    if (one.kind !== "approval" || one.resolution) return;
    const again = () => {
      if (!asked.current || !look(one, asked.current)) return;
      // Its button says something else now.
      shifted(one.handle);
      tick();
    };
    addEventListener("scroll", again, { passive: true });
    addEventListener("resize", again);
    return () => {
      removeEventListener("scroll", again);
      removeEventListener("resize", again);
      leave(one);
    };
  }, [one.handle, one.digest, !one.resolution]);
}

// Result says what became of a prompt, in the place of its buttons.
function Result({ one }) {
  const [copied, setCopied] = useState(false);
  const mine = isMine(one.handle);
  let text = one.sending;
  if (one.resolution) {
    text = settledWords(one.kind, one.resolution, nowMs(), mine);
    if (one.resolution.reason) text += ` “${one.resolution.reason}”`;
  }
  const unsent = one.resolution && !mine && one.form !== "remember" && (one.form || one.kind === "question") && one.typed;
  if (unsent) text += `. Your ${one.kind === "question" ? "answer" : one.form === "edit" ? "edit" : "reason"} was not sent`;
  const copy = () => navigator.clipboard?.writeText(one.typed).then(() => setCopied(true));
  const away = event => {
    const next = nextOpen(one.handle);
    dismiss(one.handle);
    if (!next) return;
    focusedByPage();
    focusPrompt(next, event.detail === 0);
  };
  return html`<div class="result"><p class="outcome" role="status" title=${text ? plain(text) : null}>${text ? marked(text) : ""}</p>
    ${unsent && html`<button type="button" class="quiet" onClick=${copy}>${copied ? "Copied" : "Copy text"}</button>`}
    ${one.resolution && !one.detached && html`<button type="button" class="quiet" onClick=${away}>Dismiss</button>`}</div>`;
}

export function Prompt({ one, position, total, opened, top }) {
  const name = one.kind === "approval" ? one.request.tool_name : headingOf(one);
  one.opened = opened;
  useReading(one);
  const toggle = event => {
    if (event.key !== "Enter" || event.target !== event.currentTarget) return;
    event.preventDefault();
    act(one.handle);
    one.held = 0;
    setQuery({ prompt: opened ? "" : one.handle });
  };
  const select = event => {
    act("bulk");
    if (event.target.checked) inbox.selected.add(one.handle); else inbox.selected.delete(one.handle);
    changed();
  };
  // What was decided, or is being sent, keeps its height: nothing below it moves.
  const height = (one.resolution || one.sending) && one.held ? { height: one.held + "px" } : {};
  const style = { ...height, ...(top === undefined ? {} : { transform: `translateY(${top}px)` }) };
  return html`<li id=${"prompt-" + one.handle} class=${"prompt " + one.kind + (one.resolution ? " settled" : "") + (opened ? " opened" : "")} data-handle=${one.handle} tabindex="0"
      style=${style} aria-setsize=${total} aria-posinset=${position} onKeyDown=${toggle}>
    <div class="head">
      ${one.kind === "approval" && !one.resolution && html`<input type="checkbox" aria-label=${`Select ${plain(one.request.tool_name)} in ${one.session}`} checked=${inbox.selected.has(one.handle)} onChange=${select} />`}
      <h2>${marked(name)}</h2>
      <p class="where"><a href=${"/sessions/" + encodeURIComponent(one.session)}>${one.session}</a><span class="agent">${one.agent}</span>${!one.resolution && html`<${Waiting} one=${one} />`}</p>
    </div>
    ${one.kind === "approval" && html`<${Asked} one=${one} />`}
    ${opened && html`<${Details} one=${one} />`}
    ${one.error && !one.resolution && html`<p class="error" role="alert">${marked(one.error)}</p>`}
    ${one.kind === "approval" ? html`<${ApprovalActions} one=${one} />` : !one.detached && html`<${QuestionForm} one=${one} />`}
    <${Result} one=${one} />
  </li>`;
}
