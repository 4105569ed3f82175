// What is open, live: the one state of the page. A prompt is known by its handle.

import { followAim, hasAimed } from "./aimed.js";
import { account, get, isPassing, loadAgain, onTellTabs, path, pause, retryIn } from "./api.js";
import { parse } from "./exact.js";
import { forget, shifted } from "./guard.js";
import { drafts, isMine, onAnother } from "./kept.js";
import { joinRow, leaveRow } from "./same_call.js";
import { follow } from "./stream.js";
import { shareStream } from "./tabs.js";

export { claim, drafts, isMine } from "./kept.js";

const offlineAfter = 10000;
const mostSettled = 1000; // settled prompts that stay in the list; the oldest out of view go first
const mostDecided = 50; // in "Decided just now"
const inDetail = handle => document.getElementById("detail")?.dataset.handle === handle; // with what was typed and not sent

export const inbox = {
  prompts: new Map(), // by handle
  order: [], // handles as they are shown
  fresh: [], // handles that wait behind "n new"
  decided: [], // handles that were settled and cleared, newest first
  selected: new Set(),
  viewing: new Map(), // who else has which request open: principals by handle
  connection: "connecting", // live, reconnecting, offline
  offlineSince: 0,
  sort: "",
  loaded: false, // there is something to show
  complete: false, // all that was open has been read; from then on what a list brings is new
  everHad: false,
  skew: 0, // the service's clock less the browser's
};

let listeners = new Set();
export const subscribe = listener => { listeners.add(listener); return () => listeners.delete(listener); };
let queued = false;
export function changed() {
  if (queued) return;
  queued = true;
  queueMicrotask(() => { queued = false; for (const listener of listeners) listener(); });
}

export const nowMs = () => Date.now() + inbox.skew;
// awake are the open prompts that the person has not put off.
export const awake = () => open().filter(one => !one.snoozedUntilMs);
export const open = () => [...inbox.prompts.values()].filter(one => !one.resolution);
const idOf = (session, run, request) => [session, run, request].join("/");
const byID = new Map(); // session/run/request to handle

onAnother(was => {
  if (was) for (const one of inbox.prompts.values()) delete one.drafts;
  changed();
});

export function promptOf(view, kind, resolution) {
  return {
    kind, handle: view.request.handle, session: view.session_id, agent: view.agent_id, run: view.run_id,
    label: view.session?.label, origin: view.session?.origin,
    requester: view.requester_session_id, parent: view.parent_session_id, request: view.request,
    createdMs: view.request.created_at_ms ?? nowMs(), dueMs: view.request.escalation?.at_deadline === "keep" ? 0 : view.request.expires_at_ms ?? 0, resolution,
    digest: view.request.input_digest, text: "", barred: barredBy(view), looking: view.acknowledgement, snoozedUntilMs: view.snoozed_until_ms > nowMs() ? view.snoozed_until_ms : 0,
  };
}

// barredBy returns why who looks may not allow an approval: "" when they may, undefined when only
// looking it up tells. A list that says they may not does not say why.
function barredBy({ request, run, requester_excluded: excluded, may_decide: may }) {
  if (excluded) return excluded.detail;
  return request.exclude_requester && !run && !may ? undefined : "";
}

const orders = {
  __proto__: null, // the address names one
  "": (a, b) => (a.dueMs || Infinity) - (b.dueMs || Infinity) || a.createdMs - b.createdMs || (a.handle < b.handle ? -1 : 1),
  oldest: (a, b) => a.createdMs - b.createdMs,
  newest: (a, b) => b.createdMs - a.createdMs,
};
const compare = (a, b) => (orders[inbox.sort] ?? orders[""])(a, b);
const sort = () => inbox.order.sort((a, b) => compare(inbox.prompts.get(a), inbox.prompts.get(b)));

// arrange puts the list into another order, because the person asked for it.
export function arrange(order) {
  if (inbox.sort === order) return;
  inbox.sort = order;
  inbox.order.push(...inbox.fresh.splice(0));
  sort();
}

export function searchable(one) {
  const { request } = one;
  return [request.tool_name, one.session, one.parent, one.label, one.origin?.project, one.origin?.directory, one.request.directory, one.origin?.host, one.agent, request.reason, request.description, request.input?.text, request.questions && JSON.stringify(request.questions), request.payload?.text].join("\n").toLowerCase();
}

// takeLooking takes over who looks at a prompt from a reply that was asked for when so many acknowledgements were known.
// A later one counts more: it came by the stream, or was made here.
let acknowledgements = 0;
export function acknowledged(one, mine = true) {
  one.acknowledged = ++acknowledgements;
  if (mine) one.acknowledgedMine = acknowledgements;
}
function takeLooking(one, looking, since) {
  if (!(one.acknowledged > since)) one.looking = looking;
}

// listed is set for a prompt of a list, which has what the person has put off; an event does not. It is the number of
// acknowledgements that were known when the list was asked for.
function upsert(one, arrives, listed) {
  const before = inbox.prompts.get(one.handle);
  if (before) {
    if (before.resolution) return;
    if (listed !== undefined) {
      takeLooking(before, one.looking, listed);
      before.requester = one.requester;
      if (!(before.acknowledgedMine > listed)) { if (one.snoozedUntilMs) putOff(before, one.snoozedUntilMs); else wake(before); }
    }
    // A whole input that was read already is not replaced by its beginning.
    const { input, input_truncated: cut, ...rest } = one.request;
    Object.assign(before.request, rest, !cut || before.request.input_truncated ? { input } : {});
    return;
  }
  one.text = searchable(one);
  inbox.everHad = true;
  inbox.prompts.set(one.handle, one);
  byID.set(idOf(one.session, one.run, one.request.id), one.handle);
  joinRow(one);
  if (!arrives) { (hasAimed() && !one.snoozedUntilMs ? inbox.fresh : inbox.order).push(one.handle); return; }
  // One that would move rows in view waits, so that nothing moves under a person's hand.
  if (fits(one)) inbox.order.push(one.handle); else inbox.fresh.push(one.handle);
  arrived(one);
}

// putOff takes a prompt out of the list until a time, and wake brings it back: behind "n new" where rows in view would move.
export function putOff(one, untilMs) {
  one.snoozedUntilMs = untilMs;
  inbox.selected.delete(one.handle);
  changed();
}
export function wake(one) {
  if (!one.snoozedUntilMs) return;
  const joins = fits(one);
  one.snoozedUntilMs = 0;
  inbox.order = inbox.order.filter(handle => handle !== one.handle);
  inbox.fresh = inbox.fresh.filter(handle => handle !== one.handle);
  (joins ? inbox.order : inbox.fresh).push(one.handle);
  arrived(one);
  changed();
}

// fits reports whether a prompt can join its group and no row in view moves. The list says so while it is shown.
let fits = () => true;
export const onFits = does => { fits = does ?? (() => true); };

let arrived = () => {};
export const onArrival = listener => { arrived = listener; };

export function showFresh() {
  clearSettled();
  inbox.order.push(...inbox.fresh.splice(0));
  sort();
  changed();
}

// settle shows what was decided. The prompt keeps its row, its height and its place until the person acts.
export function settle(handle, resolution) {
  const one = inbox.prompts.get(handle);
  if (!one || one.resolution) return;
  const elsewhere = !one.sending && !isMine(handle);
  one.resolution = resolution;
  one.sending = "";
  inbox.selected.delete(handle);
  drafts.drop(handle);
  if (inbox.fresh.includes(handle) || one.snoozedUntilMs) {
    one.snoozedUntilMs = 0;
    inbox.order = inbox.order.filter(other => other !== handle);
    inbox.fresh = inbox.fresh.filter(other => other !== handle);
    keepDecided([handle]);
  } else settledOrder.push(handle);
  for (let i = 0; settledOrder.length > mostSettled && i < settledOrder.length; i++)
    if (!document.getElementById("prompt-" + settledOrder[i]) && !inDetail(settledOrder[i])) remove(settledOrder.splice(i--, 1)[0]);
  if (elsewhere) settledElsewhere(one);
  changed();
}
const settledOrder = [];

// settledElsewhere is told of each prompt that somebody else, or the clock, settled.
let settledElsewhere = () => {};
export const onSettledElsewhere = listener => { settledElsewhere = listener; };

function remove(handle) {
  const one = inbox.prompts.get(handle);
  if (!one) return;
  inbox.prompts.delete(handle);
  leaveRow(one);
  byID.delete(idOf(one.session, one.run, one.request.id));
  inbox.order = inbox.order.filter(other => other !== handle);
  inbox.fresh = inbox.fresh.filter(other => other !== handle);
  inbox.decided = inbox.decided.filter(other => other !== handle);
  forget(handle);
}

export const settledCount = () => settledOrder.length;

function keepDecided(handles) {
  inbox.decided.unshift(...handles);
  for (const handle of inbox.decided.slice(mostDecided)) if (!inDetail(handle)) remove(handle);
}

// clearSettled moves settled prompts to "Decided just now", because the person asked for it or looks at another list.
export function clearSettled() {
  const handles = settledOrder.splice(0), all = new Set(handles);
  inbox.order = inbox.order.filter(handle => !all.has(handle));
  keepDecided(handles.reverse());
  changed();
}

// outcome asks what became of a prompt, and shows it. It returns null for one that is gone.
async function outcome(handle) {
  const since = acknowledgements, view = await get(path("requests", handle)).catch(error => {
    if (error.problem?.code !== "request_not_found") throw error; // a gateway answers 404, too
    settle(handle, { outcome: "gone", resolved_at_ms: nowMs(), resolved_by: "", via: "" });
    return null;
  });
  if (view?.resolution) settle(handle, view.resolution);
  const one = inbox.prompts.get(handle);
  if (!view || !one) return view;
  if (!one.resolution) takeLooking(one, view.acknowledgement, since);
  if (one.requester !== view.requester_session_id) { one.requester = view.requester_session_id; changed(); }
  if (!one.resolution && one.barred !== barredBy(view)) { one.barred = barredBy(view); shifted(handle); changed(); }
  return view;
}

export const lookUp = handle => outcome(handle).catch(() => undefined);

// lookUpMissing does so for a prompt that a list no longer has, or of which an event does not say enough, again after a
// failure that may pass, until the next list.
let lists = 0;
async function lookUpMissing(one) {
  for (let own = lists, failures = 0; own === lists && !one.resolution && !account.signedOut;) {
    const error = await outcome(one.handle).then(() => null, error => error);
    if (!error || !isPassing(error) && error.status !== 404) return; // a 404 that is thrown is a gateway's
    await pause(retryIn(++failures));
  }
}

// onDecisions is told that decisions were made, or may have been while the stream was not there.
const decisionListeners = new Set();
export const onDecisions = listener => { decisionListeners.add(listener); return () => decisionListeners.delete(listener); };
const decisionsMade = () => { for (const listener of decisionListeners) listener(); };

function apply(name, data) {
  if (data.now_ms) inbox.skew = data.now_ms - Date.now();
  if (name === "snapshot") { inbox.viewing = new Map(); decisionsMade(); return snapshot(data); }
  if (name === "viewing") { inbox.viewing = new Map(data.requests.map(one => [one.handle, one.viewing])); return changed(); }
  const event = data.event;
  if (!event) return;
  const context = { session_id: data.session_id, agent_id: data.agent_id, run_id: data.run_id };
  const settledOne = resolution => {
    const handle = byID.get(idOf(data.session_id, data.run_id, resolution.request_id));
    if (handle) settle(handle, resolution);
    early?.add(idOf(data.session_id, data.run_id, resolution.request_id));
    decisionsMade();
  };
  switch (event.type) {
    case "waiting_for_approval":
    case "waiting_for_user_question": {
      const kind = event.type === "waiting_for_approval" ? "approval" : "question";
      for (const request of event.requests ?? []) {
        if (!request.handle) continue;
        upsert(promptOf({ ...context, parent_session_id: event.parent_session_id, session: event.session, request }, kind), inbox.loaded);
        if (kind === "question") void lookUpMissing(inbox.prompts.get(request.handle)); // the event does not say whose question it is
      }
      break;
    }
    case "request_acknowledged": {
      const one = inbox.prompts.get(byID.get(idOf(data.session_id, data.run_id, event.request_id)));
      if (!one) break;
      acknowledged(one, false);
      acknowledges(one, event, data.timestamp_ms);
      break;
    }
    case "approval_resolved": event.resolutions?.forEach(settledOne); break; // none in what was redacted
    case "user_question_resolved":
    case "parent_clarification_resolved": if (event.resolution) settledOne(event.resolution); break;
  }
  changed();
}

// acknowledges is told of who looks at a prompt, or no longer does.
let acknowledges = () => {};
export const onAcknowledged = listener => { acknowledges = listener; };

// early are the requests that settled while lists are read, null when none are.
let early = null;

function snapshot(view) {
  const there = new Set();
  early = new Set();
  take("approval", view.pending_approvals, there, acknowledgements);
  take("question", view.pending_questions, there, acknowledgements);
  if (view.more) {
    void readLists(there);
    loaded();
  } else {
    round++; // what is read of the lists is older
    completed(there);
  }
}

function take(kind, items, there, since) {
  for (const item of items) {
    if (early?.has(idOf(item.session_id, item.run_id, item.request.id))) continue;
    there.add(item.request.handle);
    upsert(promptOf(item, kind), inbox.complete, since);
  }
}

function loaded() {
  if (!inbox.complete && !hasAimed()) sort();
  inbox.loaded = true;
  if (inbox.connection === "connecting") inbox.connection = "live"; // a lost one is back with its next frame
  changed();
}

// completed is told of all that is open.
function completed(there) {
  lists++;
  early = null;
  for (const one of open()) if (!there.has(one.handle)) void lookUpMissing(one);
  loaded();
  inbox.complete = true;
}

// resync reads what is open: another tab has the stream, and this one may have missed a part of it.
function resync() {
  inbox.viewing = new Map(); // the tab that has the stream says it again
  early = new Set();
  decisionsMade();
  void readLists(new Set());
}

let round = 0; // of reading the lists

// readLists reads what a snapshot had no room for. Each page is shown when it comes: the lists may be long. A page that
// the service does not give now is asked for again, until something else reads the lists.
async function readLists(there) {
  const own = ++round;
  for (const [kind, list] of [["approval", "approvals"], ["question", "questions"]]) {
    for (let cursor = "", more = true, failures = 0; more;) {
      const since = acknowledgements, page = await get(`/v1/${list}?page=true&limit=100&fields=summary${cursor && "&cursor=" + encodeURIComponent(cursor)}`).catch(error => error);
      if (own !== round) return;
      if (page instanceof Error) {
        if (!isPassing(page)) return;
        await pause(retryIn(++failures));
        if (own !== round) return;
        continue;
      }
      const before = inbox.prompts.size;
      take(kind, page.items, there, since);
      failures = 0;
      more = page.pagination.has_more;
      cursor = page.pagination.next_cursor ?? "";
      if (inbox.prompts.size > before) loaded(); // an empty page does not say that nothing is open
    }
  }
  completed(there);
}

let offline;
export function start() {
  followAim();
  const shared = shareStream((on, signal) => void follow("/v1/stream?fields=summary&viewing=true", on, signal), {
    frame(name, text) {
      clearTimeout(offline);
      offline = 0;
      apply(name, parse(text));
      if (inbox.loaded && inbox.connection !== "live") { inbox.connection = "live"; changed(); }
    },
    closed() {
      if (inbox.connection === "live" || inbox.connection === "connecting") inbox.connection = "reconnecting";
      if (!offline) {
        const since = Date.now();
        offline = setTimeout(() => { Object.assign(inbox, { connection: "offline", offlineSince: since, viewing: new Map() }); changed(); }, offlineAfter);
      }
      changed();
    },
    resync,
    signal(name) { if (name === "account") loadAgain(); },
  });
  onTellTabs(() => shared.signal("account"));
  return shared.stop;
}
