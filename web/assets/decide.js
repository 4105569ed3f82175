// What a person decides, as calls. Nothing is said before the service has said it.

import { call, get, newKey, path, persist, settings } from "./api.js";
import { focusedByPage, shifted } from "./guard.js";
import { nameOfRow } from "./groups.js";
import { changed, claim, inbox, isMine, lookUp, nowMs, settle } from "./inbox.js";
import { leftOf } from "./lifetimes.js";
import { plain } from "./marks.js";
import { keepReason } from "./reasons.js";
import { setQuery } from "./route.js";
import { joinRow } from "./same_call.js";
import { isNarrow } from "./screen.js";
import { keepWhole } from "./search.js";
import { focusPrompt, nextOpen, openHandle } from "./shown.js";
import { say } from "./toast.js";
import { hold } from "./undo.js";
import { settledWords } from "./words.js";

// whole returns a prompt's request with its whole input.
export async function whole(one) {
  if (!one.request.input_truncated) return one.request;
  const view = await get(path("requests", one.handle));
  if (view.resolution) settle(one.handle, view.resolution);
  Object.assign(one.request, { input: undefined }, view.request, { input_truncated: false });
  keepWhole(one.handle, one.request.input?.text ?? "");
  changed();
  return one.request;
}

function failed(one, error) {
  one.sending = "";
  one.error = [...new Set([error.message, ...(error.problem?.errors ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`)])].join("\n"); // the message may be the first of them
  shifted(one.handle);
  changed();
}

// moveOn opens the next undecided prompt when the focus is still in one that was just decided here, or nowhere.
// Where somebody else was first it stays: the person reads who.
function moveOn(list) {
  const active = document.activeElement;
  const at = active?.closest?.("[data-handle]")?.dataset.handle ?? "";
  const row = inbox.prompts.get(at)?.row; // the focus may be in another call of the same row
  const from = list.find(one => one.handle === at) ?? list.find(one => row && one.row === row) ?? (active === document.body || active?.closest?.(".bulk") ? list.at(-1) : null);
  if (!from?.resolution || !isMine(from.handle)) return;
  // Where none is left, the focus goes from the field that was decided in to its prompt: keys act again.
  const next = nextOpen(from.handle) ?? from;
  focusedByPage();
  if (isNarrow()) say(`${settledWords(from.kind, from.resolution, nowMs(), true)}: ${plain(nameOfRow(from))}`);
  if (isNarrow() && settings.get("advance", "on") !== "on") { setQuery({ prompt: "" }, true); return; }
  focusPrompt(next, "page");
}

// decide records decisions about approvals, after the wait that the person has set. Others are decided alike, without
// the rule that the decision writes, once the service has taken the decision and with it the rule.
export function decide(prompts, decision, others = []) {
  const open = of => of.filter(one => !one.resolution && !one.sending), list = open(prompts), rest = open(others);
  const words = decision.behavior === "deny" ? "Denying" : decision.updated_input ? "Allowing with changes" : "Allowing";
  return hold([...list, ...rest], words, async () => {
    await send(list, decision);
    if (rest.length > 0 && list.length > 0 && list.every(one => isMine(one.handle))) await send(rest, { behavior: decision.behavior });
  });
}

// untimed returns a decision as it is sent now. The rule of one with a term ends when the person was told, although the
// decision may have waited and a lost call is repeated. A term that is over writes no rule.
function untimed({ term, ...decision }) {
  if (!term) return decision;
  const { remember, remember_as: as, ...once } = decision, left = leftOf(term, nowMs());
  return left === undefined ? once : { ...once, remember, remember_as: as, remember_for_ms: left };
}

// saysLate says that a decision wrote no rule because its term was over.
function saysLate(list, decision) {
  if (decision.term && !untimed(decision).remember && list.some(one => isMine(one.handle) && one.resolution && !one.resolution.rule)) say("No rule was written: its time was over");
}

// saysRefused says why requests stayed open. One alone in the detail says it itself.
function saysRefused(list) {
  const left = list.filter(one => one.error && !one.resolution);
  if (left.some(one => one.handle !== openHandle())) say(plain(`${left.length} not decided: ${left[0].error.replaceAll("\n", " ")}`));
}

// send makes one call for each run.
async function send(prompts, decision) {
  const runs = Map.groupBy(prompts.filter(one => !one.resolution), one => one.run);
  for (const list of runs.values()) for (const one of list) { one.sending = "Sending…"; one.error = ""; }
  changed();
  const sent = [...runs.values()].flat();
  await Promise.all([...runs].map(async ([run, list]) => {
    const body = () => ({ resolutions: list.map(one => ({ request_id: one.request.id, handle: one.handle, input_digest: one.digest, ...untimed(decision) })) });
    try {
      await persist("POST", path("runs", run, "approvals"), body, newKey());
      for (const one of list) claim(one.handle);
      await Promise.all(list.map(one => lookUp(one.handle)));
    } catch (error) {
      for (const one of list) {
        if (error.problem?.code === "approval_changed") {
          const view = await lookUp(one.handle);
          if (view?.request.input_digest && view.request.input_digest !== one.digest) {
            Object.assign(one.request, view.request, { input_truncated: false });
            one.digest = view.request.input_digest;
            joinRow(one);
            one.changed = true;
          }
        } else await lookUp(one.handle);
        if (!one.resolution) failed(one, error);
      }
    }
    for (const one of list) one.sending = "";
    changed();
  }));
  keepReason(sent.filter(one => isMine(one.handle)), decision.reason);
  moveOn(sent);
  saysLate(sent, decision);
  saysRefused(sent);
}

async function question(one, target, body) {
  if (one.resolution) return;
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
  moveOn([one]);
}

export const answer = (one, resolution) => hold([one], resolution.declined ? "Declining" : "Answering",
  () => question(one, path("runs", one.run, "questions"), { resolution: { request_id: one.request.id, ...resolution } }));
export const cancelQuestion = one => hold([one], one.requester ? "Cancelling" : "Ending the run", () => question(one, path("runs", one.run, "questions", one.request.id, "cancel"), {}));

// explain returns the exact texts of the rules that an allow and a deny would write, and which of the other requests
// each rule to allow would have allowed.
export async function explain(one, rememberForMs, others) {
  const request = await whole(one);
  const ask = (effect, also) => call("POST", "/v1/rules/explain", {
    session_id: one.session, agent_id: one.agent, tool_name: request.tool_name, tool_call_id: request.tool_call_id,
    input: request.input, pattern_keys: request.pattern_keys, directory: request.directory,
    sensitive_paths: request.sensitive_paths, input_digest: request.input_digest, effect, remember_for_ms: rememberForMs, also,
  });
  const [allow, deny] = await Promise.all([ask("allow", others.map(other => other.handle)), ask("deny")]);
  return { allow: allow.remember, deny: deny.remember };
}
