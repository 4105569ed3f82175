// The dialog of "Allow selected": it lists each call that will be allowed, and what is left out.

import { html, useEffect, useLayoutEffect, useRef } from "./vendor/htm-preact-standalone-3.1.1.js";
import { canDecide } from "./approval.js";
import { useKnown } from "./barred.js";
import { decide } from "./decide.js";
import { decided, focusedByPage, opens, shifted, shiftedAll, steady } from "./guard.js";
import { about, nameOfAgent, shortID } from "./groups.js";
import { Icon } from "./icons.js";
import { marked } from "./marks.js";
import { outcomeOf } from "./row.js";
import { isSeen } from "./seen.js";

export const mostLeftOut = 20; // that are listed; the rest is a number
const guarded = "allow-several";

const levels = { __proto__: null, danger: 2, warn: 1 };
const risk = one => Math.max(0, ...(one.request.hints ?? []).map(hint => levels[hint.level] ?? 0));
const length = one => one.request.input?.text?.length ?? 0;
// riskiest sorts by hint, then by length.
const riskiest = (a, b) => risk(b) - risk(a) || length(b) - length(a);

// Call is one call, with what becomes of it; call says that the call alone is shown, without its place.
export function Call({ one, why, call }) {
  const { row, folder } = about(one), outcome = !call && outcomeOf(one);
  return html`<li class=${one.resolution ? "settled" : ""}><${Icon} name=${row.icon} /><div><span class="what">${row.strong && html`<b>${marked(row.strong)}</b> `}${row.code ? html`<code>${marked(row.what)}</code>` : marked(row.what)}</span>
    <small>${marked([one.request.tool_name, ...(call ? [] : [nameOfAgent(one.agent), folder ? `in ${folder.text}` : shortID(one.session)]), row.hint].filter(Boolean).join(" · "))}</small>${(outcome || why) && html`<small class="left-out">${marked(outcome || why)}</small>`}</div></li>`;
}

export const notKnown = "not known yet whether you may allow it";

// whyNot says why a call that was selected is left out, "" for one that will be allowed.
export const whyNot = (one, digest) => one.resolution ? "settled" : one.barred ? "your own request" : one.barred === undefined ? notKnown : one.digest !== digest ? "changed since you opened this" : isSeen(one) ? "" : "not read";

export const unreadWords = unread => unread === 1 ? "1 was not read and is left out" : `${unread} were not read and are left out`;

// AllowSeveral is about the prompts that were selected when it opened: [{one, digest}]. What arrives later is not in it.
export function AllowSeveral({ asked, close }) {
  const dialog = useRef(), first = useRef();
  useKnown(asked.map(({ one }) => one));
  const found = asked.map(({ one, digest }) => ({ one, why: whyNot(one, digest) })).sort((a, b) => riskiest(a.one, b.one));
  const list = found.filter(({ why }) => !why).map(({ one }) => one), left = found.filter(({ why }) => why && why !== "settled"), over = found.filter(({ why }) => why === "settled");
  useEffect(() => {
    opens(guarded);
    dialog.current.showModal();
    first.current?.focus();
    focusedByPage();
    return () => shiftedAll();
  }, []);
  // The button is about other calls than before: nobody aimed at them yet.
  const names = list.map(one => one.handle).join();
  useLayoutEffect(() => {
    shifted(guarded);
    focusedByPage(); // a key was meant for the calls that stood here, too
    if (dialog.current.open && !dialog.current.contains(document.activeElement)) dialog.current.focus();
  }, [names]);
  const able = list.length > 0 && list.every(canDecide);
  const send = event => {
    if (!able || !steady(guarded, event)) return;
    decided();
    dialog.current.close();
    void decide(list, { behavior: "allow" });
  };
  const kinds = [...Map.groupBy(list, one => about(one).title)].map(([title, of]) => of.length > 1 ? `${title} ×${of.length}` : title).join(" · ");
  const calls = n => `${n} ${n === 1 ? "call" : "calls"}`;
  return html`<dialog class="sheet several" aria-label="Allow selected" tabindex="-1" ref=${dialog} onClose=${close}>
    <h2>Allow ${calls(list.length)}</h2>${list.length > 0 && html`<p class="quiet">${marked(kinds)}</p>`}
    ${list.length > 0 && html`<ul aria-label="Will be allowed">${list.map(one => html`<${Call} key=${one.handle} one=${one} />`)}</ul>`}
    ${left.length > 0 && html`<h3>Left out</h3><ul aria-label="Left out">${left.slice(0, mostLeftOut).map(({ one, why }) => html`<${Call} key=${one.handle} one=${one} why=${why} />`)}
      ${left.length > mostLeftOut && html`<li>and ${(left.length - mostLeftOut).toLocaleString("en")} more</li>`}</ul>`}
    ${over.length > 0 && html`<h3>Settled meanwhile</h3><ul aria-label="Settled meanwhile">${over.map(({ one }) => html`<${Call} key=${one.handle} one=${one} />`)}</ul>`}
    <div class="buttons"><button type="button" onClick=${() => dialog.current.close()}>Back</button><span class="space"></span>
      <button type="button" class="allow" ref=${first} disabled=${!able} onClick=${send}>Allow ${calls(list.length)}</button></div></dialog>`;
}
