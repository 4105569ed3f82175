// Who is looking at an open request, or has it open: shown to everyone, decides nothing.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { call, mayDecide, path } from "./api.js";
import { canDecide } from "./approval.js";
import { act } from "./guard.js";
import { acknowledged, changed, inbox, lookUp, nowMs, onAcknowledged, putOff, wake } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { myPrincipal, Snooze } from "./snooze.js";
import { useClock } from "./ticks.js";
import { fullTime, person } from "./words.js";

const isMine = one => one.by === myPrincipal();

// lookersAt are the acknowledgements of a request that count at a time.
const lookersAt = (one, now) => one.resolution ? [] : (one.looking ?? []).filter(other => other.until_ms > now);

// listed names people: two, and how many more.
function listed(names) {
  const list = [...new Set(names)];
  return list.length > 2 ? `${list.slice(0, 2).join(", ")} and ${list.length - 2} more` : list.join(" and ");
}

// lookingText says who is looking at requests, and who else has one of them open, "" for nobody.
export function lookingText(calls, now) {
  const lookers = new Map(calls.flatMap(one => lookersAt(one, now)).map(one => [one.by, isMine(one) ? "you" : person(one.by)]));
  const viewers = calls.flatMap(one => one.resolution ? [] : inbox.viewing.get(one.handle) ?? []).filter(by => !lookers.has(by)).map(person);
  const looking = listed(lookers.values()), open = listed(viewers);
  return [
    looking && `${looking} ${lookers.size > 1 || looking === "you" ? "are" : "is"} looking`,
    open && `${open} ${new Set(viewers).size > 1 ? "have" : "has"} it open`,
  ].filter(Boolean).join(", ");
}

onAcknowledged((one, event, atMs) => {
  const others = (one.looking ?? []).filter(other => other.by !== event.by);
  one.looking = event.state === "acknowledged" ? [...others, { by: event.by, at_ms: atMs, until_ms: event.until_ms }] : others;
  if (!isMine(event)) return;
  acknowledged(one);
  if (event.state === "snoozed") putOff(one, event.until_ms); else wake(one);
});

// look says that the person is looking at a request, or no longer is.
export async function look(one, now) {
  if (!canDecide(one) || !mayDecide()) return;
  act(one.handle);
  const state = lookersAt(one, now).some(isMine) ? "none" : "acknowledged";
  one.error = "";
  try {
    const view = await call("PUT", path("requests", one.handle, "acknowledgement"), { state });
    one.looking = view.acknowledgement;
    acknowledged(one);
  } catch (error) {
    await lookUp(one.handle);
    if (!one.resolution) one.error = error.message;
  }
  changed();
}

// Looking says who is looking at the open request and who else has it open, with the button for oneself. It stays one
// line, and its buttons where they are: what it says changes by itself.
export function Looking({ one, onSnoozed }) {
  const text = useClock(now => lookingText([one], now)), mine = useClock(now => String(lookersAt(one, now).some(isMine))) === "true";
  if (one.resolution) return null;
  const until = Math.max(0, ...lookersAt(one, nowMs()).map(other => other.until_ms));
  return html`<p class="looking">${mayDecide() && html`<button type="button" class="link" disabled=${!canDecide(one)} aria-pressed=${String(mine)} onClick=${() => void look(one, nowMs())}>${mine ? "Stop looking" : "I'm looking at this"}</button> <${Snooze} one=${one} onTaken=${onSnoozed} />`}<span role="status" title=${[plain(text), until > 0 && `until ${fullTime(until)}`].filter(Boolean).join(", ")}>${marked(text.charAt(0).toUpperCase() + text.slice(1))}</span></p>`;
}
