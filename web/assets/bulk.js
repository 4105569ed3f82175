// Decisions about several prompts at once.

import { html, useEffect, useLayoutEffect, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { AllowSeveral, notKnown, unreadWords, whyNot } from "./allow_several.js";
import { canDecide } from "./approval.js";
import { useKnown } from "./barred.js";
import { useFocus } from "./components.js";
import { decide } from "./decide.js";
import { composes, decided, ownSince, shifted, shiftedAll, steady } from "./guard.js";
import { changed, inbox } from "./inbox.js";
import { matching, selectAll } from "./row.js";
import { Undo } from "./undo.js";

function Reason({ count, reason, setReason, send, close }) {
  const submit = event => { event.preventDefault(); send(event, reason.trim()); };
  return html`<form onSubmit=${submit} onKeyDown=${event => { if (event.key === "Escape" && !composes(event)) { event.stopPropagation(); close(); } }}>
    <label class="grow">Reason (optional)<input ref=${useFocus()} value=${reason} maxlength="16384" onInput=${e => setReason(e.target.value)} /></label>
    <button type="button" class="deny" onClick=${submit}>Deny selected (${count})</button><button type="button" class="quiet" onClick=${close}>Back</button></form>`;
}

const ownWords = own => own === 1 ? "1 of these is your own request. Someone else has to allow it." : `${own} of these are your own requests. Someone else has to allow them.`;
const unknownWords = unknown => `Whether you may allow ${unknown} of these is not known yet.`;

function Bar({ chosen, denying, setDenying, reason, setReason, ask }) {
  const names = chosen.map(one => one.handle).join();
  const all = matching(), others = all.some(one => !inbox.selected.has(one.handle));
  useKnown(chosen);
  const reasons = chosen.map(one => whyNot(one, one.digest)), count = why => reasons.filter(reason => reason === why).length;
  const allowed = count(""), barred = count("your own request"), unknown = count(notKnown), unread = count("not read");
  // It is about other prompts than before, or its lines break elsewhere: nobody aimed at these buttons yet.
  const layout = [names, unread, unknown, barred, others && String(all.length).length].join("|");
  useLayoutEffect(() => { if (!ownSince("bulk")) shifted("bulk"); }, [layout]);
  useEffect(() => {
    shifted("bulk");
    return () => shiftedAll(); // what lay under it
  }, []);
  const able = chosen.every(canDecide);
  const send = (event, decision, list) => {
    if (list.length === 0 || !list.every(canDecide) || !steady("bulk", event)) return;
    decided();
    setDenying(false);
    void decide(list, decision);
  };
  const deny = (event, reason) => send(event, { behavior: "deny", ...(reason && { reason }) }, chosen);
  const allow = event => {
    if (chosen.length === 1) send(event, { behavior: "allow" }, chosen.filter(one => !whyNot(one, one.digest)));
    else if (steady("bulk", event)) ask(chosen.map(one => ({ one, digest: one.digest })));
  };
  const [first] = chosen;
  return html`<div class="bulk" role="group" aria-label="Selected">${first.sending ? html`<span role="status">${first.sending}</span><${Undo} one=${first} handle="bulk" />` : denying
    ? html`<${Reason} count=${chosen.length} reason=${reason} setReason=${setReason} send=${deny} close=${() => setDenying(false)} />`
    : html`<button disabled=${!able || allowed === 0} onClick=${allow}>Allow selected (${allowed})</button>
      <button class="deny" disabled=${!able} onClick=${() => setDenying(true)}>Deny selected (${chosen.length})</button>
      <button class="quiet" onClick=${() => { inbox.selected.clear(); changed(); }}>Select none</button>
      ${others && html`<button class="quiet" onClick=${selectAll}>Select all ${all.length} that match</button>`}
      ${barred > 0 && html`<span role="status">${ownWords(barred)}</span>`}
      ${unknown > 0 && html`<span role="status">${unknownWords(unknown)}</span>`}
      ${unread > 0 && html`<span role="status">${unreadWords(unread)}</span>`}`}</div>`;
}

export function Bulk() {
  const chosen = [...inbox.selected].map(handle => inbox.prompts.get(handle)).filter(one => one && !one.resolution);
  const [denying, setDenying] = useState(false), [reason, setReason] = useState("");
  const [asked, ask] = useState(null);
  if (chosen.length === 0 && (denying || reason)) queueMicrotask(() => { setDenying(false); setReason(""); });
  return html`${chosen.length > 0 && html`<${Bar} chosen=${chosen} denying=${denying} setDenying=${setDenying} reason=${reason} setReason=${setReason} ask=${ask} />`}
    ${asked && html`<${AllowSeveral} asked=${asked} close=${() => ask(null)} />`}`;
}
