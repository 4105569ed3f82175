// The dialog that decides about all calls of a row at once. It names their sessions, and what it leaves out.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { Call, mostLeftOut, unreadWords, whyNot } from "./allow_several.js";
import { back, canDecide, draftOf, keepDraft } from "./approval.js";
import { useKnown } from "./barred.js";
import { decide } from "./decide.js";
import { act, decided, focusedByPage, opens, ownSince, shifted, shiftedAll, steady } from "./guard.js";
import { about, nameOfAgent } from "./groups.js";
import { changed } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { outcomeOf } from "./row.js";
import { callsOf, sessionName } from "./same_call.js";
import { isNarrow } from "./screen.js";
import { openCalls, showPrompt } from "./shown.js";

const guarded = "ask-same";

// asksForAll opens the dialog if other sessions wait for the same call. What arrives later is not in it.
export function asksForAll(one, behavior) {
  const calls = openCalls(one);
  if (calls.length < 2) return false;
  one.form = "same";
  one.asks = { behavior, calls: calls.map(other => ({ one: other, digest: other.digest })) };
  opens(one.handle);
  changed();
  return true;
}

const whyLeftOut = (why, one, first) => why !== "not read" || one === first ? why : "not read: the agent says something else about it";

function Session({ one, among, chosen, choose }) {
  const { folder } = about(one), name = sessionName(one, among);
  return html`<li><label class="choice"><input type="checkbox" aria-label=${plain(name)} checked=${chosen} onChange=${event => choose(event.target.checked)} />
    <span>${marked(name)}<small>${marked([nameOfAgent(one.agent), (folder?.text || one.origin?.directory) && `in ${folder?.text || one.origin.directory}`, one.origin?.host && `on ${one.origin.host}`].filter(Boolean).join(" "))}</small></span></label></li>`;
}

export function AskSame({ one: asker }) {
  const { behavior, calls } = asker.asks, allows = behavior === "allow";
  const dialog = useRef(), first = useRef();
  const [reason, setReason] = useState(() => draftOf(asker, "reason", "")), [without, leaveOut] = useState(new Set());
  const all = calls.map(({ one }) => one);
  useKnown(allows ? all : []);
  const found = calls.map(({ one, digest }) => ({ one, why: allows ? whyNot(one, digest) : one.resolution ? "settled" : "" }));
  const can = found.filter(({ why }) => !why).map(({ one }) => one), list = can.filter(one => !without.has(one.handle));
  const left = found.filter(({ why }) => why && why !== "settled"), over = found.filter(({ why }) => why === "settled");
  const unread = left.filter(({ why }) => why === "not read").length;
  useEffect(() => {
    opens(guarded);
    dialog.current.showModal();
    first.current?.focus();
    focusedByPage();
    return () => shiftedAll();
  }, []);
  const names = list.map(one => one.handle).join();
  useLayoutEffect(() => {
    if (!ownSince(guarded)) { shifted(guarded); focusedByPage(); } // nobody aimed at these calls yet
    if (dialog.current.open && !dialog.current.contains(document.activeElement)) dialog.current.focus();
  }, [names]);
  const able = list.length > 0 && list.every(canDecide);
  const send = event => {
    event.preventDefault();
    if (!able || !steady(guarded, event)) return;
    decided();
    dialog.current.close();
    void decide(list, { behavior, ...(!allows && reason.trim() && { reason: reason.trim() }) });
  };
  const choose = one => on => {
    act(guarded);
    const next = new Set(without);
    if (on) next.delete(one.handle); else next.add(one.handle);
    leaveOut(next);
  };
  const write = text => { setReason(text); for (const { one } of calls) keepDraft(one, "reason", text); };
  const closed = () => {
    back(asker);
    const next = asker.resolution && openCalls(asker)[0];
    if (next) showPrompt(next, "page");
  };
  const title = `${allows ? "Allow" : "Deny"} ${callsOf(list)}`;
  const button = html`<button type="submit" class=${allows ? "allow" : "deny"} ref=${allows || isNarrow() ? first : undefined} disabled=${!able}>${marked(title)}</button>`;
  return html`<dialog class="sheet several" aria-label=${plain(title)} tabindex="-1" ref=${dialog} onClose=${closed}><form class="same" onSubmit=${send}>
    <h2>${marked(title)}</h2>
    <ul><${Call} one=${asker} call /></ul>
    ${can.length > 0 && html`<ul aria-label=${allows ? "Will be allowed" : "Will be denied"}>${can.map(one => html`<${Session} key=${one.handle} one=${one} among=${all} chosen=${!without.has(one.handle)} choose=${choose(one)} />`)}</ul>`}
    ${left.length > 0 && html`<h3>Left out</h3>${unread > 0 && html`<p role="status">${unreadWords(unread)}</p>`}
      <ul aria-label="Left out">${left.slice(0, mostLeftOut).map(({ one, why }) => html`<li key=${one.handle}><div>${marked(sessionName(one, all))}<small class="left-out">${whyLeftOut(why, one, asker)}</small></div></li>`)}</ul>`}
    ${over.length > 0 && html`<h3>Settled meanwhile</h3><ul aria-label="Settled meanwhile">${over.map(({ one }) => html`<li key=${one.handle} class="settled"><div><span class="what">${marked(sessionName(one, all))}</span><small>${marked(outcomeOf(one))}</small></div></li>`)}</ul>`}
    ${!allows && html`<label>Reason (optional)<input ref=${isNarrow() ? undefined : first} value=${reason} maxlength="16384" onInput=${event => write(event.target.value)} /></label>`}
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Back</button><span class="space"></span>${button}</div></form></dialog>`;
}
