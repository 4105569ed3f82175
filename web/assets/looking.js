// Who is looking at an open request: shown to everyone, decides nothing.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { call, path } from "./api.js";
import { canDecide } from "./approval.js";
import { act } from "./guard.js";
import { acknowledged, changed, lookUp, nowMs, onAcknowledged, putOff, wake } from "./inbox.js";
import { marked } from "./marks.js";
import { maySnooze as mayLook, myPrincipal, Snooze } from "./snooze.js";
import { useClock } from "./ticks.js";
import { fullTime, person } from "./words.js";

const isMine = one => one.by === myPrincipal();

// lookersAt are the acknowledgements of a request that count at a time.
const lookersAt = (one, now) => one.resolution ? [] : (one.looking ?? []).filter(other => other.until_ms > now);

// lookingText names who is looking at requests, "" for nobody.
export function lookingText(calls, now) {
  const names = new Map(calls.flatMap(one => lookersAt(one, now)).map(one => [one.by, isMine(one) ? "you" : person(one.by)]));
  const list = [...names.values()];
  if (list.length === 0) return "";
  const all = list.length > 2 ? `${list.slice(0, 2).join(", ")} and ${list.length - 2} more` : list.join(" and ");
  return `${all} ${list.length > 1 || all === "you" ? "are" : "is"} looking`;
}

onAcknowledged((one, event, atMs) => {
  const others = (one.looking ?? []).filter(other => other.by !== event.by);
  one.looking = event.state === "acknowledged" ? [...others, { by: event.by, at_ms: atMs, until_ms: event.until_ms }] : others;
  if (!isMine(event)) return;
  if (event.state === "snoozed") putOff(one, event.until_ms); else wake(one);
});

// look says that the person is looking at a request, or no longer is.
export async function look(one, now) {
  if (!canDecide(one) || !mayLook()) return;
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

// Looking says who is looking at the open request, with the button for oneself.
export function Looking({ one, onSnoozed }) {
  const text = useClock(now => lookingText([one], now)), mine = useClock(now => String(lookersAt(one, now).some(isMine))) === "true";
  if (one.resolution) return null;
  const until = Math.max(...(one.looking ?? []).map(other => other.until_ms));
  return html`<p class="looking">${text && html`<span role="status" title=${`until ${fullTime(until)}`}>${marked(text.charAt(0).toUpperCase() + text.slice(1))}</span> `}${mayLook() && html`<button type="button" class="link" disabled=${!canDecide(one)} aria-pressed=${String(mine)} onClick=${() => void look(one, nowMs())}>${mine ? "Stop looking" : "I'm looking at this"}</button> <${Snooze} one=${one} onTaken=${onSnoozed} />`}</p>`;
}
