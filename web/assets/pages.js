// The other pages: rules, workers, effects, settings.

import { html, useLayoutEffect, useReducer, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, call, myName, onAccount, path, settings, signOut } from "./api.js";
import { MessageSettings } from "./addresses.js";
import { Confirm, Failure, Table, useRead } from "./components.js";
import { nameOfAgent } from "./groups.js";
import { ID, runAddress, SessionName, SmallID } from "./ids.js";
import { nowMs, subscribe } from "./inbox.js";
import { marked } from "./marks.js";
import { sharesViewing } from "./presence.js";
import { PushSettings, turnOffPush } from "./push.js";
import { query, setQuery } from "./route.js";
import { RuleText } from "./rule_text.js";
import { Tokens } from "./tokens.js";
import { waits, waitSeconds } from "./undo.js";
import { When } from "./when.js";
import { person, roughly, span } from "./words.js";

export function Rules() {
  const { data, error, reload } = useRead("/v1/rules?page=true&limit=100" + (query().get("cursor") ? "&cursor=" + encodeURIComponent(query().get("cursor")) : ""));
  const revoke = id => call("DELETE", path("rules", id)).then(reload);
  return html`<h1>Rules</h1><${Failure} error=${error} />${data && html`<${Table} label="Rules" heads=${["Rule", "Decisions", "Created", ""]} empty="There are no standing rules." rows=${data.items.map(rule => {
    const over = rule.revoked_at_ms ? html`${marked(`revoked by ${person(rule.revoked_by)}`)}, <${When} ms=${rule.revoked_at_ms} />` : rule.expires_at_ms && rule.expires_at_ms <= nowMs() ? "expired" : rule.max_uses && Math.max(rule.uses ?? 0, rule.hits) >= rule.max_uses ? "used up" : "";
    return html`<tr key=${rule.rule_id} class=${over ? "over" : ""}><td><${RuleText} text=${rule.text} digest=${rule.match.input_digest} />${over && html`<div class="quiet">${over}</div>`}</td><td>${rule.hits}</td><td>${marked(person(rule.created_by))}, <${When} ms=${rule.created_at_ms} /></td>
      <td>${!over && html`<${Confirm} label="Revoke" question="Its decisions stay." does=${() => revoke(rule.rule_id)} />`}</td></tr>`;
  })} />${data.pagination.has_more && html`<button onClick=${() => setQuery({ cursor: data.pagination.next_cursor })}>Next page</button>`}`}`;
}

// sessionCell names a session and, below, what identifies it.
const sessionCell = (id, about) => html`<td><${SessionName} id=${id} about=${about} /><${SmallID} id=${id} of="Session" /></td>`;
const ago = (ms, now) => html`<td><${When} ms=${ms}>${roughly(now - ms)} ago<//></td>`;

export function Workers() {
  const { data, error } = useRead("/v1/workers", 3000);
  const leases = data?.workers.flatMap(worker => worker.leases.map(lease => ({ ...lease, worker: worker.worker_id }))) ?? [];
  return html`<h1>Workers</h1><${Failure} error=${error} />${data && html`<${Table} label="Leases" heads=${["Agent", "Session", "Status", "Started", "Last change", "Lease expires in", "Worker"]} empty="No active workers." rows=${leases.map(lease => html`<tr key=${lease.run_id}>
    <td><a href=${runAddress(lease.run_id)}>${marked(nameOfAgent(lease.agent_id))}</a><${SmallID} id=${lease.run_id} of="Run" /></td>${sessionCell(lease.session_id, { ...lease.session, agent_id: lease.agent_id })}<td>${lease.status.replaceAll("_", " ")}</td>
    ${lease.started_at_ms ? ago(lease.started_at_ms, data.now_ms) : html`<td></td>`}${ago(lease.updated_at_ms, data.now_ms)}<td><${When} ms=${lease.expires_at_ms}>${span(lease.expires_at_ms - data.now_ms)}<//></td><td>${nameOfAgent(lease.worker) === lease.worker ? marked(lease.worker) : html`<${ID} id=${lease.worker} />`}</td></tr>`)} />`}`;
}

// targetCell says for whom an effect is: a receiver outside of the service, or a session.
function targetCell(effect) {
  if (effect.kind === "notify") return html`<td>a person</td>`;
  if (effect.webhook_id === "callback") return html`<td>the request's callback</td>`;
  if (effect.webhook_id) return html`<td><${SmallID} id=${effect.webhook_id} of="Webhook" /></td>`;
  if (effect.target_session_id === effect.session_id) return html`<td class="quiet">the same session</td>`;
  return sessionCell(effect.target_session_id, { ...effect.target_session, agent_id: effect.target_agent_id });
}

export function Effects() {
  const asked = new URLSearchParams({ page: "true", limit: "100" });
  for (const name of ["state", "cursor"]) if (query().get(name)) asked.set(name, query().get(name));
  const { data, error, reload } = useRead("/v1/effects?" + asked, 5000);
  const [problem, setProblem] = useState("");
  const retry = effect => call("POST", path("sessions", effect.session_id, "effects", effect.effect_id, "retry"), {}).then(() => { setProblem(""); reload(); }, refused => setProblem(refused.message));
  return html`<h1>Effects</h1><div class="filters"><label>State<select onChange=${e => setQuery({ state: e.target.value, cursor: "" })}>${["", "pending", "failed", "done"].map(one => html`<option value=${one} selected=${(query().get("state") ?? "") === one}>${one || "All"}</option>`)}</select></label></div>
    <${Failure} error=${problem || error} />${data && html`<${Table} label="Effects" heads=${["Effect", "State", "Created", "From", "To", "Attempts", ""]} empty=${`No ${query().get("state") ? query().get("state") + " " : ""}deliveries.`} rows=${data.items.map(effect => html`<tr key=${effect.session_id + effect.effect_id}>
    <td>${effect.kind.replaceAll("_", " ")}${effect.last_error && html`<div class="quiet">${marked(effect.last_error)}</div>`}<${SmallID} id=${effect.run_id} to=${runAddress(effect.run_id)} of="Run" /></td><td>${effect.state}</td>${ago(effect.created_at_ms, nowMs())}
    ${sessionCell(effect.session_id, { ...effect.session, agent_id: effect.agent_id })}${targetCell(effect)}<td>${effect.attempts}</td>
    <td>${effect.state !== "done" && html`<button onClick=${() => retry(effect)}>Try again</button>`}</td></tr>`)} />
    ${data.pagination.has_more && html`<button onClick=${() => setQuery({ cursor: data.pagination.next_cursor })}>Next page</button>`}`}`;
}

function SignedIn() {
  const [problem, setProblem] = useState("");
  return html`<p>Signed in as <strong>${marked(account.me.on_behalf_of ?? account.me.principal)}</strong>, ${account.me.role}. Your decisions are recorded under this name.</p>
    <p><button onClick=${() => turnOffPush().catch(() => {}).then(signOut).catch(error => setProblem(error.message))}>Sign out</button></p><${Failure} error=${problem} />`;
}

export function Settings() {
  const [, tick] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => subscribe(tick), []);
  useLayoutEffect(() => onAccount(tick), []);
  const notify = async event => {
    const granted = event.target.checked && await globalThis.Notification?.requestPermission() === "granted";
    settings.set("notifications", granted ? "on" : "off");
    tick();
  };
  return html`<h1>Settings</h1><div class="form settings">
    ${account.me?.via === "session" && html`<${SignedIn} />`}
    ${(account.me === null || account.me.via === "open") && html`<label>Your name<input autocomplete="username" value=${settings.get("name")} maxlength="200" onInput=${e => { settings.set("name", e.target.value); tick(); }} /></label>
    <p class="quiet" role="status">${settings.get("name").trim() === "" || myName() ? "Recorded with your decisions." : "This name is not recorded. Use letters, digits, signs and spaces, up to 200 bytes."}</p>`}
    <label class="choice"><input type="checkbox" checked=${settings.get("notifications") === "on"} onChange=${notify} />Desktop notifications</label>
    <label class="choice"><input type="checkbox" checked=${settings.get("sound") === "on"} onChange=${e => settings.set("sound", e.target.checked ? "on" : "off")} />Sound</label>
    <label class="choice"><input type="checkbox" checked=${sharesViewing()} onChange=${e => { settings.set("viewing", e.target.checked ? "on" : "off"); tick(); }} />Show others which request I have open</label>
    <label class="choice"><input type="checkbox" checked=${settings.get("compact") === "on"} onChange=${e => { settings.set("compact", e.target.checked ? "on" : "off"); tick(); }} />Compact</label>
    <label class="choice"><input type="checkbox" checked=${settings.get("advance", "on") === "on"} onChange=${e => { settings.set("advance", e.target.checked ? "on" : "off"); tick(); }} />On a phone, open the next request after a decision</label>
    <div role="radiogroup" aria-label="Wait before sending" class="choices"><span class="quiet">Wait before sending</span>${waits.map(one => html`<label class="choice"><input type="radio" name="wait" checked=${waitSeconds() === one} onChange=${() => { settings.set("wait", one); tick(); }} />${one} s</label>`)}</div>
    <p class="quiet">A decision that waits can be taken back. If you leave the page, it is not sent.</p>
    <p class="quiet">No notifications or sounds while you are looking at this page. Decisions made here are logged as "in the inbox".</p>
    <p><a href="/docs">Documents</a></p></div>
    <${PushSettings} /><${MessageSettings} />${account.me?.role === "admin" && html`<${Tokens} />`}`;
}
