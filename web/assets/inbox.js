// What is open, live: the one state of the page. A prompt is known by its handle.

import { call, get, newKey, path, persist, Refused } from "./api.js";
import { follow } from "./stream.js";

const offlineAfter = 10000;
const fadeAfter = 8000;

export const inbox = {
  prompts: new Map(), // by handle
  order: [], // handles as they are shown
  fresh: [], // handles that wait behind "n new"
  selected: new Set(),
  connection: "connecting", // live, reconnecting, offline
  offlineSince: 0,
  loaded: false,
  everHad: false,
  notice: "",
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
export const open = () => [...inbox.prompts.values()].filter(one => !one.resolution);
const idOf = (session, run, request) => [session, run, request].join("/");
const byID = new Map(); // session/run/request to handle

// mine are the handles about which the service has taken this browser's decision.
const mine = new Set(JSON.parse(sessionStorage.getItem("mine") ?? "[]"));
export const isMine = handle => mine.has(handle);
function claim(handle) {
  mine.add(handle);
  sessionStorage.setItem("mine", JSON.stringify([...mine].slice(-500)));
}

export const drafts = {
  get: key => sessionStorage.getItem("draft:" + key),
  set: (key, value) => sessionStorage.setItem("draft:" + key, value),
  drop(handle) {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(`draft:${handle}:`)) sessionStorage.removeItem(key);
  },
};

export function promptOf(view, kind, resolution) {
  return {
    kind, handle: view.request.handle, session: view.session_id, agent: view.agent_id, run: view.run_id,
    requester: view.requester_session_id, runKind: view.run_kind, request: view.request,
    createdMs: view.request.created_at_ms ?? nowMs(), dueMs: view.request.expires_at_ms ?? 0, resolution,
    digest: view.request.input_digest, text: "", barred: barredBy(view),
  };
}

// barredBy returns why who looks may not allow an approval: "" when they may, undefined when only
// looking it up tells.
function barredBy({ request, run, requester_excluded: excluded }) {
  if (excluded) return excluded.detail;
  return request.exclude_requester && !run ? undefined : "";
}

const rank = (a, b) => (a.dueMs || Infinity) - (b.dueMs || Infinity) || a.createdMs - b.createdMs || (a.handle < b.handle ? -1 : 1);

function searchable(one) {
  const { request } = one;
  return [request.tool_name, one.session, one.agent, request.reason, request.description, JSON.stringify(request.input ?? request.questions ?? request.payload)].join("\n").toLowerCase();
}

function upsert(one, arrives) {
  const before = inbox.prompts.get(one.handle);
  if (before) {
    if (before.resolution) return;
    Object.assign(before.request, one.request);
    return;
  }
  one.text = searchable(one);
  inbox.everHad = true;
  inbox.prompts.set(one.handle, one);
  byID.set(idOf(one.session, one.run, one.request.id), one.handle);
  if (!arrives) { inbox.order.push(one.handle); return; }
  // One that would stand above others waits, so that nothing moves under a person's hand.
  const last = inbox.prompts.get(inbox.order.at(-1));
  if (last && rank(one, last) < 0 && !last.resolution) inbox.fresh.push(one.handle);
  else inbox.order.push(one.handle);
  arrived(one);
}

let arrived = () => {};
export const onArrival = listener => { arrived = listener; };

const sort = () => inbox.order.sort((a, b) => rank(inbox.prompts.get(a), inbox.prompts.get(b)));
export function showFresh() {
  inbox.order.push(...inbox.fresh.splice(0));
  sort();
  changed();
}

// settle shows what was decided; the item fades when it can have been read.
export function settle(handle, resolution) {
  const one = inbox.prompts.get(handle);
  if (!one || one.resolution) return;
  one.resolution = resolution;
  one.sending = "";
  inbox.selected.delete(handle);
  drafts.drop(handle);
  fade(one);
  changed();
}

function fade(one) {
  const tick = 250;
  let seen = 0;
  const timer = setInterval(() => {
    const item = document.getElementById("prompt-" + one.handle);
    const held = item && (item.contains(document.activeElement) || item.matches(":hover"));
    if (document.visibilityState === "visible" && !held) seen += tick;
    if (held) seen = Math.min(seen, fadeAfter - 1000);
    if (seen < fadeAfter) return;
    clearInterval(timer);
    if (one.opened !== true) dismiss(one.handle);
  }, tick);
}

export function dismiss(handle) {
  const one = inbox.prompts.get(handle);
  if (!one) return;
  const item = document.getElementById("prompt-" + handle);
  const focused = document.activeElement?.closest?.("[data-handle]");
  if (item && focused && focused !== item && item.getBoundingClientRect().top < focused.getBoundingClientRect().top)
    scrollBy({ top: -item.offsetHeight, behavior: "instant" });
  const next = item?.contains(document.activeElement) ? inbox.order[inbox.order.indexOf(handle) + 1] ?? inbox.order[inbox.order.indexOf(handle) - 1] : "";
  inbox.prompts.delete(handle);
  byID.delete(idOf(one.session, one.run, one.request.id));
  inbox.order = inbox.order.filter(other => other !== handle);
  inbox.fresh = inbox.fresh.filter(other => other !== handle);
  changed();
  if (next) setTimeout(() => document.getElementById("prompt-" + next)?.focus());
}

// lookUp asks what became of a prompt, and shows it.
async function lookUp(handle) {
  try {
    const view = await get(path("requests", handle));
    if (view.resolution) settle(handle, view.resolution);
    const one = inbox.prompts.get(handle);
    if (one && one.barred !== barredBy(view)) { one.barred = barredBy(view); changed(); }
    return view;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) dismiss(handle);
  }
}
export { lookUp };

function apply(name, data) {
  if (data.now_ms) inbox.skew = data.now_ms - Date.now();
  if (name === "snapshot") return snapshot(data);
  const event = data.event;
  if (!event) return;
  const context = { session_id: data.session_id, agent_id: data.agent_id, run_id: data.run_id };
  const settledOne = resolution => {
    const handle = byID.get(idOf(data.session_id, data.run_id, resolution.request_id));
    if (handle) settle(handle, resolution);
    early.add(idOf(data.session_id, data.run_id, resolution.request_id));
  };
  switch (event.type) {
    case "waiting_for_approval":
    case "waiting_for_user_question": {
      const kind = event.type === "waiting_for_approval" ? "approval" : "question";
      for (const request of event.requests ?? []) if (request.handle) upsert(promptOf({ ...context, request }, kind), true);
      break;
    }
    case "approval_resolved": event.resolutions?.forEach(settledOne); break; // none in what was redacted
    case "user_question_resolved":
    case "parent_clarification_resolved": if (event.resolution) settledOne(event.resolution); break;
  }
  changed();
}

// early are the requests that settled while the rest of a cut snapshot was read.
let early = new Set();

function snapshot(view) {
  const there = new Set();
  const take = (kind, list) => list.forEach(item => { there.add(item.request.handle); upsert(promptOf(item, kind), inbox.loaded); });
  take("approval", view.pending_approvals);
  take("question", view.pending_questions);
  early = new Set();
  if (view.more) void rest(there);
  else missing(there);
  if (!inbox.loaded) sort();
  inbox.loaded = true;
  inbox.connection = "live";
  changed();
}

function missing(there) {
  for (const one of open()) if (!there.has(one.handle) && !one.detached) void lookUp(one.handle);
}

// rest reads what a snapshot had no room for.
async function rest(there) {
  for (const [kind, list] of [["approval", "approvals"], ["question", "questions"]]) {
    for (let cursor = "", more = true; more;) {
      const page = await get(`/v1/${list}?page=true&limit=100&fields=summary${cursor && "&cursor=" + encodeURIComponent(cursor)}`).catch(() => null);
      if (!page) return;
      for (const item of page.items) {
        if (early.has(idOf(item.session_id, item.run_id, item.request.id))) continue;
        there.add(item.request.handle);
        upsert(promptOf(item, kind), false);
      }
      more = page.pagination.has_more;
      cursor = page.pagination.next_cursor ?? "";
      changed();
    }
  }
  sort();
  missing(there);
  changed();
}

let offline;
export function start() {
  const stop = new AbortController();
  void follow("/v1/stream?fields=summary", {
    frame(name, data) {
      clearTimeout(offline);
      offline = 0;
      apply(name, data);
      if (inbox.connection !== "live") { inbox.connection = "live"; changed(); }
    },
    closed() {
      if (inbox.connection === "live" || inbox.connection === "connecting") inbox.connection = "reconnecting";
      if (!offline) {
        const since = Date.now();
        offline = setTimeout(() => { inbox.connection = "offline"; inbox.offlineSince = since; changed(); }, offlineAfter);
      }
      changed();
    },
  }, stop.signal);
  return () => stop.abort();
}

// whole returns a prompt's request with its whole input.
export async function whole(one) {
  if (!one.request.input_truncated) return one.request;
  const view = await get(path("requests", one.handle));
  if (view.resolution) settle(one.handle, view.resolution);
  Object.assign(one.request, { input: undefined }, view.request, { input_truncated: false });
  changed();
  return one.request;
}

function failed(one, error) {
  one.sending = "";
  one.error = error.message + (error.problem?.errors ?? []).map(fault => `\n${fault.pointer} ${fault.detail}`).join("");
  changed();
}

// decide records decisions about approvals, one call for each run. It says nothing before the
// service has.
export async function decide(prompts, decision) {
  const runs = Map.groupBy(prompts.filter(one => !one.resolution && !one.sending), one => one.run);
  await Promise.all([...runs].map(async ([run, list]) => {
    for (const one of list) { one.sending = "Sending…"; one.error = ""; }
    changed();
    const resolutions = list.map(one => ({ request_id: one.request.id, handle: one.handle, input_digest: one.digest, ...decision }));
    try {
      await persist("POST", path("runs", run, "approvals"), { resolutions }, newKey());
      for (const one of list) claim(one.handle);
      await Promise.all(list.map(one => lookUp(one.handle)));
    } catch (error) {
      for (const one of list) {
        if (error.problem?.code === "approval_changed") {
          const view = await lookUp(one.handle);
          if (view?.request.input_digest && view.request.input_digest !== one.digest) {
            Object.assign(one.request, view.request, { input_truncated: false });
            one.digest = view.request.input_digest;
            one.changed = true;
          }
        } else await lookUp(one.handle);
        if (!one.resolution) failed(one, error);
      }
    }
    for (const one of list) one.sending = "";
    changed();
  }));
}

async function question(one, target, body) {
  one.sending = "Sending…";
  one.error = "";
  changed();
  try {
    await persist("POST", target, body, newKey());
    claim(one.handle);
    await lookUp(one.handle);
  } catch (error) {
    await lookUp(one.handle);
    if (!one.resolution) failed(one, error);
  }
  one.sending = "";
  changed();
}

export const answer = (one, resolution) => question(one, path("runs", one.run, "questions"), { resolution: { request_id: one.request.id, ...resolution } });
export const cancelQuestion = one => question(one, path("runs", one.run, "questions", one.request.id, "cancel"), {});

// explain returns the exact texts of the rules that an allow and a deny would write.
export async function explain(one, rememberForMs) {
  const request = await whole(one);
  const ask = effect => call("POST", "/v1/rules/explain", {
    session_id: one.session, agent_id: one.agent, tool_name: request.tool_name, tool_call_id: request.tool_call_id,
    input: request.input, pattern_keys: request.pattern_keys, effect, remember_for_ms: rememberForMs,
  });
  const [allow, deny] = await Promise.all([ask("allow"), ask("deny")]);
  return { allow: allow.remember, deny: deny.remember };
}
