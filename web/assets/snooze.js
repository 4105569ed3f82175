// A person puts a request off: it leaves the list, and messages about it wait, until a time. It decides nothing, and
// lists of others do not show it.

import { html, useEffect, useRef } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, call, mayDecide, myName, path } from "./api.js";
import { act, opens, shifted } from "./guard.js";
import { acknowledged, changed, lookUp, nowMs, open, putOff, wake } from "./inbox.js";
import { marked } from "./marks.js";
import { openCalls } from "./shown.js";
import { When } from "./when.js";

const minute = 60_000;
const tomorrow = now => { const at = new Date(now); return new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1, 9).getTime(); };
export const times = [["15 minutes", now => now + 15 * minute], ["1 hour", now => now + 60 * minute], ["Tomorrow 9:00", tomorrow]];

export const myPrincipal = () => (account.me?.via === "open" && myName()) || (account.me?.on_behalf_of ?? account.me?.principal);

async function put(one, body) {
  act(one.handle);
  one.error = "";
  try {
    const view = await call("PUT", path("requests", one.handle, "acknowledgement"), body);
    one.looking = view.acknowledgement;
    acknowledged(one);
    return true;
  } catch (error) {
    await lookUp(one.handle);
    if (!one.resolution) one.error = error.message;
    return false;
  } finally { changed(); }
}

// snooze puts off all open calls of a row. It returns whether the service has taken one of them.
export async function snooze(one, untilMs) {
  const taken = await Promise.all(openCalls(one).map(async each => {
    const said = await put(each, { state: "snoozed", until_ms: untilMs });
    if (said) putOff(each, untilMs);
    return said;
  }));
  return taken.some(Boolean);
}

// unsnooze brings one back to the list.
async function unsnooze(one) {
  if (await put(one, { state: "none" })) wake(one);
}

// Whose time is over comes back as if it had just arrived.
setInterval(() => { for (const one of open()) if (one.snoozedUntilMs && one.snoozedUntilMs <= nowMs()) wake(one); }, 1000);

// SnoozeMenu has the times. Letters in it decide nothing.
function SnoozeMenu({ one, close, take }) {
  const list = useRef();
  useEffect(() => { list.current.querySelector("button")?.focus({ preventScroll: true }); }, []);
  const keyed = event => {
    event.stopPropagation();
    const items = [...list.current.querySelectorAll("button")], at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key] ?? (/^[1-9]$/.test(event.key) ? Number(event.key) - 1 : undefined);
    if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); close(true); }
    else if (to !== undefined) { event.preventDefault(); items[(to + items.length) % items.length]?.focus(); }
  };
  return html`<ul role="menu" aria-label="Snooze" ref=${list} onKeyDown=${keyed} onFocusOut=${event => { if (!list.current?.contains(event.relatedTarget)) close(false); }}>
    ${times.map(([name, untilOf]) => html`<li role="none"><button type="button" role="menuitem" onClick=${() => take(untilOf(nowMs()))}>${name}</button></li>`)}</ul>`;
}

// toggleSnooze opens the menu of a request, or closes it.
export function toggleSnooze(one, shown = !one.snoozing) {
  opens(one.handle);
  one.snoozing = shown;
  changed();
}

// Snooze is the button with its menu, or until when the request is put off. onTaken is told before one leaves the list.
export function Snooze({ one, onTaken }) {
  const button = useRef();
  if (one.resolution || !mayDecide()) return null;
  if (one.snoozedUntilMs) return html`<span role="status">Snoozed until <${When} ms=${one.snoozedUntilMs} /></span> <button type="button" class="link" onClick=${() => void unsnooze(one)}>Wake now</button>`;
  const close = focus => { toggleSnooze(one, false); if (focus) button.current?.focus(); };
  const take = async untilMs => {
    toggleSnooze(one, false);
    const moveOn = onTaken(one);
    if (await snooze(one, untilMs)) moveOn(); else shifted(one.handle);
  };
  return html`<span class="menu snooze"><button type="button" class="link" ref=${button} disabled=${!!one.sending} aria-haspopup="menu" aria-expanded=${String(!!one.snoozing)} onClick=${() => toggleSnooze(one)}>Snooze</button>
    ${one.snoozing && html`<${SnoozeMenu} one=${one} close=${close} take=${take} />`}</span>`;
}
