// The one bar in which a prompt is decided. It stands at the bottom of the detail and does not move: what becomes of
// the prompt, and the reason of a denial, take the place of its buttons in the same height.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { allow, back, canDecide, closes, denies, deny, draftOf, form, isOver, keepDraft, mayEdit, readOn } from "./approval.js";
import { account, looksOnly } from "./api.js";
import { Copy, useFocus } from "./components.js";
import { canSend, sendEdit } from "./edit.js";
import { decided, opens, steady } from "./guard.js";
import { isMine } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { canAnswer, endQuestion, sendDecline, takesAnswer } from "./question.js";
import { offeredReasons } from "./reasons.js";
import { outcomeOf } from "./row.js";
import { sessionName } from "./same_call.js";
import { isNarrow } from "./screen.js";
import { readsToEnd } from "./seen.js";
import { openCalls } from "./shown.js";
import { Undo } from "./undo.js";

const Key = ({ of }) => html`<kbd aria-hidden="true">${of}</kbd>`;

// Outcome says what became of a prompt, in the place of its buttons.
function Outcome({ one }) {
  const mine = isMine(one.handle);
  let text = outcomeOf(one);
  const sent = mine && (one.kind === "approval" || one.resolution?.outcome === "answered"); // who declines sends no answer
  const unsent = one.resolution && !sent && (one.form === "deny" || one.form === "edit" || one.kind === "question") && one.typed;
  if (unsent) text += `. Your ${one.kind === "question" ? "answer" : one.form === "edit" ? "edit" : "reason"} was not sent`;
  return html`<p class="outcome" role="status" title=${plain(text)}>${marked(text)}</p><${Undo} one=${one} />${unsent && html`<${Copy} text=${one.typed} quiet=${false}>Copy text<//>`}`;
}

// AllowButton is "Read to the end to allow" until all of the prompt was in view.
function AllowButton({ one, label = "Allow", off = false, onAllow, keyCap }) {
  if (one.barred) return null;
  if (!readsToEnd(one)) return html`<button type="button" class="read" onClick=${() => void readOn(one)}>Read to the end to allow</button>`;
  return html`<button type="button" class="allow" disabled=${off || !canDecide(one) || one.barred !== ""} onClick=${onAllow}>${label}${keyCap && html`<${Key} of=${keyCap} />`}</button>`;
}

// DenyForm takes a reason. On a narrow page it is a sheet of reasons first: the keyboard of the screen opens only
// for one's own.
function DenyForm({ one }) {
  const reason = draftOf(one, "reason", ""), over = isOver(one);
  const [writing, write] = useState(!isNarrow() || one.writes || reason !== "");
  const [quick] = useState(offeredReasons); // they stay where they are
  const field = useFocus();
  one.typed = reason;
  const denyWith = (event, reason) => deny(one, event, reason ? { reason } : {});
  const send = event => { event.preventDefault(); denyWith(event, reason.trim()); };
  const begin = () => { opens(one.handle); write(true); setTimeout(() => document.querySelector(".denying input")?.focus()); };
  return html`<form class="denying" onSubmit=${send} onKeyDown=${closes(one)}>
    ${!writing && html`<div class="reasons">${quick.map(text => html`<button type="button" title=${text} disabled=${!canDecide(one)} onClick=${event => denyWith(event, text)}>Deny: ${text}</button>`)}
      <button type="button" class="quiet" disabled=${over} onClick=${begin}>Write a reason…</button></div>`}
    <div class="line">${!over && html`<button type="button" class="deny" disabled=${!canDecide(one)} onClick=${send}>Deny</button>`}
      ${writing && html`<input ref=${field} aria-label="Reason (optional)" placeholder="Reason (optional)" value=${reason} maxlength="16384" readonly=${over} onInput=${e => keepDraft(one, "reason", e.target.value)} />`}
      ${over ? html`<${Outcome} one=${one} />` : html`<button type="button" class="quiet" onClick=${() => back(one)}>Back</button>`}</div></form>`;
}

function Approval({ one }) {
  const [more, setMore] = useState(false);
  const off = !canDecide(one), barred = one.barred !== "";
  const others = html`${!one.barred && mayEdit(one) && html`<button type="button" disabled=${off || barred} onClick=${() => form(one, "edit")}>Edit<${Key} of="e" /></button>`}
    <button type="button" disabled=${off} onClick=${() => form(one, "rule")}><span class="words">Allow and </span>…<${Key} of="r" /></button>`;
  const deny = html`<button type="button" class="deny" disabled=${off} onClick=${() => denies(one, false)}>Deny<${Key} of="d" /></button>`;
  const allowing = html`<${AllowButton} one=${one} onAllow=${event => allow(one, event)} keyCap="a" />`;
  if (!isNarrow()) return html`<div class="line">${deny}${others}<span class="space"></span>${allowing}</div>`;
  return html`${more && html`<div class="line above">${others}</div>`}<div class="line">${deny}
    <button type="button" class="dots" aria-label="More actions" aria-expanded=${String(more)} onClick=${() => { opens(one.handle); setMore(!more); }}>⋯</button>${allowing}</div>`;
}

function Question({ one }) {
  const [ending, setEnding] = useState(false);
  const off = !canDecide(one);
  const press = (event, does) => {
    event.preventDefault();
    if (!canDecide(one) || !steady(one.handle, event)) return;
    decided();
    void does(one);
  };
  const end = shown => { opens(one.handle); setEnding(shown); };
  // The question of a child session is declined, and no run ends.
  const [says, ends] = one.requester ? ["The agent gets a declined answer.", "Cancel question"] : ["This ends the run.", "End the run"];
  if (ending) return html`<div class="line" role="alert"><button type="button" class="quiet" onClick=${() => end(false)}>Back</button><span class="grow">${says}</span><button type="button" class="danger" onClick=${event => press(event, endQuestion)}>${ends}</button></div>`;
  return html`<div class="line"><button type="button" disabled=${off} onClick=${event => press(event, sendDecline)}>Decline</button>
    <button type="button" class="quiet" disabled=${off} onClick=${() => end(true)}>Cancel question</button><span class="space"></span>
    ${takesAnswer(one) && html`<button class="allow" form="answer" disabled=${off || !canAnswer(one)}>Answer</button>`}</div>`;
}

function Buttons({ one }) {
  if (one.form === "deny") return html`<${DenyForm} one=${one} />`;
  if (isOver(one)) return html`<div class="line"><${Outcome} one=${one} /></div>`;
  if (looksOnly()) return html`<div class="line"><p class="outcome" role="note">Your role, ${account.me.role}, does not decide requests.</p></div>`;
  if (one.form === "edit" && !one.barred) return html`<div class="line" onKeyDown=${closes(one)}><button type="button" class="quiet" onClick=${() => back(one)}>Back</button><span class="grow quiet">${openCalls(one).length > 1 && marked(`For ${sessionName(one)} alone`)}</span>
    <${AllowButton} one=${one} label="Allow with changes" off=${!canSend(one)} onAllow=${event => sendEdit(one, event)} /></div>`;
  return one.kind === "approval" ? html`<${Approval} one=${one} />` : html`<${Question} one=${one} />`;
}

export function Bar({ one }) {
  return html`<div class="bar" role="group" aria-label="Decision">
    ${one.barred && !one.resolution && html`<p class="barred" role="note">You cannot allow this: ${marked(one.barred)}.</p>`}
    ${one.error && !one.resolution && html`<p class="error" role="alert">${marked(one.error)}</p>`}
    <${Buttons} one=${one} /></div>`;
}
