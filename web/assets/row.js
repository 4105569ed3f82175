// One row of the list: what is asked, why, since when, or what became of it. It has no buttons.

import { html, useMemo } from "./vendor/htm-preact-standalone-3.1.1.js";
import { mayDecide } from "./api.js";
import { Guarded } from "./components.js";
import { act } from "./guard.js";
import { about, nameOfRow, shortID } from "./groups.js";
import { headerOf } from "./headings.js";
import { Flag } from "./hints.js";
import { Icon } from "./icons.js";
import { lookingText } from "./looking.js";
import { changed, inbox, isMine, nowMs } from "./inbox.js";
import { iconOf, What } from "./link_row.js";
import { marked, plain } from "./marks.js";
import { noteOf } from "./notes.js";
import { isNarrow } from "./screen.js";
import { sessionName } from "./same_call.js";
import { snooze, times } from "./snooze.js";
import { callsInRow, focusPrompt, openCalls, rowIndex, visible } from "./shown.js";
import { swipeLeft } from "./swipe.js";
import { useClock } from "./ticks.js";
import { say } from "./toast.js";
import { fullDeadline, fullTime, moment, reasonOf, roughly, settledWords, spoken } from "./words.js";

const soon = 120000;

export function Time({ calls }) {
  const one = calls.reduce((a, b) => (b.dueMs || Infinity) < (a.dueMs || Infinity) ? b : a); // the one with the least time left
  const text = useClock(now => one.snoozedUntilMs ? `until ${moment(one.snoozedUntilMs, now)}` : one.dueMs ? roughly(one.dueMs - now) : roughly(now - one.createdMs));
  const title = one.dueMs ? fullDeadline(one, nowMs()) : `asked on ${fullTime(one.createdMs)}`;
  if (!one.dueMs || one.snoozedUntilMs) return html`<time class="age" title=${title}>${text}</time>`;
  return html`<time class=${"age due" + (one.dueMs - nowMs() < soon ? " soon" : "")} title=${title}><${Icon} name="due" /><span class="sr">time left </span>${text}</time>`;
}

// askingSession returns the child session that asks: for an answer of its parent's session, or of a person. "" when no child asks.
export const askingSession = one => one.requester && one.requester !== one.session ? one.requester : one.parent ? one.session : "";

export const askerOf = one => askingSession(one) && `asked by ${shortID(askingSession(one))}`;

// askersOf is askerOf for all calls of a row.
function askersOf(calls) {
  const children = calls.filter(askingSession).length;
  return calls.length === 1 ? askerOf(calls[0]) : children > 0 ? `${children} asked by child sessions` : "";
}

// Lookers says who is looking at the calls of a row.
function Lookers({ calls }) {
  const text = useClock(now => lookingText(calls, now));
  return text && html`<span class="asker">${marked(text)}</span> · `;
}

// placeOf says where a request comes from when there is nothing else to say.
const placeOf = one => one.label || one.origin?.directory && `in ${one.origin.directory}` || shortID(one.session);

// whyOf is the second line of a row: the agent's words about it, else with what and where.
export function whyOf(one) {
  const said = [one.request.reason, one.request.description, ...about(one).said ?? []].find(spoken);
  if (said) return said.slice(0, 300);
  if (one.kind === "question") {
    const { questions } = one.request, options = questions?.[0]?.options?.length ?? 0, header = headerOf(questions?.[0]);
    const count = questions?.length > 1 ? `${questions.length} questions` : options > 0 ? `${options} ${options === 1 ? "option" : "options"}` : "";
    return [header !== about(one).row.what && header, count].filter(Boolean).join(" · ") || placeOf(one);
  }
  const { folder, row } = about(one), tool = one.request.tool_name;
  return [row.strong !== tool && tool, folder && `in ${folder.text}`].filter(Boolean).join(" ") || placeOf(one);
}

export function outcomeOf(one) {
  if (one.sending) return one.sending;
  if (!one.resolution) return "";
  const reason = reasonOf(one.resolution);
  return settledWords(one.kind, one.resolution, nowMs(), isMine(one.handle)) + (reason ? ` “${reason}”` : "");
}

// outcomeOfRow says what became of the calls of a row when all are settled.
function outcomeOfRow(calls) {
  const said = Map.groupBy(calls, outcomeOf);
  return [...said].map(([text, of]) => text + (said.size > 1 && of.length > 1 ? ` ×${of.length}` : "")).join(" · ");
}

// selectCalls selects all calls of a row that can be decided, or none of them.
export function selectCalls(one, on) {
  for (const { handle } of openCalls(one)) if (on) inbox.selected.add(handle); else inbox.selected.delete(handle);
}

// select takes a row; with Shift all from the one that was selected last.
function select(event, one, list) {
  act("bulk");
  const on = event.target.checked;
  if (event.shiftKey && inbox.selectedLast) selectRange(list, inbox.selectedLast, one.handle);
  selectCalls(one, on);
  inbox.selectedLast = one.handle;
  changed();
}

// selectRange selects the rows from one to another, and the other alone where the first has left the list.
export function selectRange(list, from, to) {
  const b = rowIndex(list, to), a = rowIndex(list, from) < 0 ? b : rowIndex(list, from);
  if (b < 0) return;
  for (const one of list.slice(Math.min(a, b), Math.max(a, b) + 1)) if (one.kind === "approval") selectCalls(one, true);
}

// matching returns the approvals of the list as it is shown, with all open calls of their rows.
export const matching = () => visible().filter(one => one.kind === "approval").flatMap(openCalls);

export function selectAll() {
  act("bulk");
  for (const { handle } of matching()) inbox.selected.add(handle);
  changed();
}

// swiped puts a row off for an hour: the finger has no room for a choice.
async function swiped(one) {
  const [name, untilOf] = times[1];
  if (canSnooze(one) && await snooze(one, untilOf(nowMs()))) say(`Snoozed for ${name}: ${plain(nameOfRow(one))}`);
}
const canSnooze = one => !one.resolution && !one.sending && !one.snoozedUntilMs && mayDecide();

export const Row = props => html`<${Guarded} instead=${html`<li class="row" style=${placed(props.top)}><span class="what">This request cannot be shown</span></li>`}><${Line} ...${props} /><//>`;

const placed = top => top === undefined ? {} : { transform: `translateY(${top}px)` };

function Line({ one, top, position, total, current, list }) {
  const { row } = about(one);
  const calls = list.length === 0 ? [one] : callsInRow(one), left = calls.filter(other => !other.resolution);
  const over = one.resolution, outcome = over && calls.length > 1 ? outcomeOfRow(calls) : outcomeOf(one);
  const count = over ? calls.length : left.length, times = count > 1 ? `×${count}` : "";
  const asker = askersOf(left.length > 0 ? left : [one]), note = noteOf(left);
  const chosen = left.filter(other => inbox.selected.has(other.handle)).length;
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
      aria-label=${plain(nameOfRow(one) + (times && " " + times) + (asker && ", " + asker) + (note && ", " + note))} aria-current=${current ? "true" : null} aria-setsize=${total} aria-posinset=${position}
      style=${placed(top)} onClick=${open} onKeyDown=${enter} ...${useMemo(() => swipeLeft(() => void swiped(one)), [one])}>
    <span class="lead"><${Icon} name=${iconOf(one)} />${one.kind === "approval" && !over && html`<input type="checkbox" tabindex=${current ? "0" : "-1"} aria-label=${`Select ${plain(one.request.tool_name)} in ${times ? `${count} sessions` : plain(sessionName(one))}`}
      checked=${chosen > 0 && chosen === left.length} indeterminate=${chosen > 0 && chosen < left.length} onClick=${event => select(event, one, list)} />`}</span>
    <${What} row=${row} />
    <span class="hint"><${Flag} request=${one.request} />${row.hint && marked(row.hint)}</span>
    ${outcome ? html`<span class="why outcome" role="status" title=${plain(outcome)}>${marked(outcome)}${times && ` ${times}`}</span>` : html`<span class="why" title=${plain(note)}><${Lookers} calls=${left} />${note && html`<b class="note">${marked(note)}</b> · `}${asker && html`<span class="asker">${marked(asker)}</span> · `}${marked(whyOf(one))}</span>
      <span class="tail">${times && html`<b class="times" title=${left.map(one => sessionName(one, left)).join(", ")}>${times}</b>`}<${Time} calls=${left.length > 0 ? left : [one]} /></span>`}
  </li>`;
}
