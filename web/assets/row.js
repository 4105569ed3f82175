// One row of the list: what is asked, why, since when, or what became of it. It has no buttons.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { act } from "./guard.js";
import { about, nameOfRow, shortID } from "./groups.js";
import { Flag } from "./hints.js";
import { Icon } from "./icons.js";
import { changed, inbox, isMine, nowMs } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { isNarrow } from "./screen.js";
import { focusPrompt } from "./shown.js";
import { useClock } from "./ticks.js";
import { deadlineWords, moment, roughly, settledWords, span } from "./words.js";

const soon = 120000;

function Time({ one }) {
  const text = useClock(now => one.dueMs ? roughly(one.dueMs - now) : roughly(now - one.createdMs));
  const title = one.dueMs ? `${deadlineWords(one.kind, one.dueMs, nowMs())}` : `asked ${span(nowMs() - one.createdMs)} ago, ${moment(one.createdMs, nowMs())}`;
  if (!one.dueMs) return html`<time class="age" title=${title}>${text}</time>`;
  return html`<time class=${"age due" + (one.dueMs - nowMs() < soon ? " soon" : "")} title=${title}><${Icon} name="due" /><span class="sr">time left </span>${text}</time>`;
}

// whyOf is the second line of a row: the agent's words about it, else with what and where.
function whyOf(one) {
  const said = one.request.reason || one.request.description || about(one).said?.[0];
  if (said) return said.slice(0, 300);
  if (one.kind === "question") {
    const { questions } = one.request, options = questions?.[0]?.options?.length ?? 0, header = questions?.[0]?.header;
    const count = questions?.length > 1 ? `${questions.length} questions` : options > 0 ? `${options} ${options === 1 ? "option" : "options"}` : "";
    return [header !== about(one).row.what && header, count].filter(Boolean).join(" · ") || shortID(one.session);
  }
  const { folder, row } = about(one), tool = one.request.tool_name;
  return [row.strong !== tool && tool, folder && `in ${folder}`].filter(Boolean).join(" ") || shortID(one.session);
}

export function outcomeOf(one) {
  if (one.sending) return one.sending;
  if (!one.resolution) return "";
  const { reason } = one.resolution;
  return settledWords(one.kind, one.resolution, nowMs(), isMine(one.handle)) + (reason ? ` “${reason}”` : "");
}

// select takes a row; with Shift all from the one that was selected last.
function select(event, one, list) {
  act("bulk");
  const on = event.target.checked;
  if (event.shiftKey && inbox.selectedLast) selectRange(list, inbox.selectedLast, one.handle);
  if (on) inbox.selected.add(one.handle); else inbox.selected.delete(one.handle);
  inbox.selectedLast = one.handle;
  changed();
}

export function selectRange(list, from, to) {
  const a = list.findIndex(one => one.handle === from), b = list.findIndex(one => one.handle === to);
  if (a < 0 || b < 0) return;
  for (const one of list.slice(Math.min(a, b), Math.max(a, b) + 1)) if (one.kind === "approval" && !one.resolution) inbox.selected.add(one.handle);
}

export function Row({ one, top, position, total, current, list }) {
  const { row } = about(one);
  const over = one.resolution, outcome = outcomeOf(one);
  const refused = ["denied", "expired", "declined", "cancelled", "gone"].includes(over?.outcome);
  const icon = over ? (refused ? "denied" : "allowed") : row.icon;
  const open = event => {
    if (event.target.closest("input")) return;
    focusPrompt(one, "click", isNarrow());
  };
  const enter = event => {
    if (event.key !== "Enter" || event.target !== event.currentTarget) return;
    event.preventDefault();
    focusPrompt(one, "key", true);
  };
  return html`<li id=${"prompt-" + one.handle} class=${"row" + (over ? " settled" : "") + (current ? " current" : "")} data-handle=${one.handle} tabindex=${current ? "0" : "-1"}
      aria-label=${plain(nameOfRow(one))} aria-current=${current ? "true" : null} aria-setsize=${total} aria-posinset=${position}
      style=${top === undefined ? {} : { transform: `translateY(${top}px)` }} onClick=${open} onKeyDown=${enter}>
    <span class="lead"><${Icon} name=${icon} />${one.kind === "approval" && !over && html`<input type="checkbox" tabindex=${current ? "0" : "-1"} aria-label=${`Select ${plain(one.request.tool_name)} in ${one.session}`}
      checked=${inbox.selected.has(one.handle)} onClick=${event => select(event, one, list)} />`}</span>
    <span class="what">${row.strong && html`<b>${marked(row.strong)}</b> `}${row.code ? html`<code>${marked(row.what)}</code>` : marked(row.what)}</span>
    <span class="hint"><${Flag} request=${one.request} />${row.hint && marked(row.hint)}</span>
    ${outcome ? html`<span class="why outcome" role="status" title=${plain(outcome)}>${marked(outcome)}</span>` : html`<span class="why">${marked(whyOf(one))}</span><${Time} one=${one} />`}
  </li>`;
}
