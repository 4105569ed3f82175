// The webhooks of an administrator: where events are posted to, what failed, and what was given up.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, call, inWords, path } from "./api.js";
import { Confirm, Failure, Secret, Table, useRead } from "./components.js";
import { marked } from "./marks.js";
import { When } from "./when.js";

const kinds = [["approval", "approvals"], ["question", "questions"], ["clarification", "questions to a parent"], ["run", "run status changes and notifications"], ["worker", "output and worker events"]];
const why = { __proto__: null, gone: "its endpoint answered that it is gone", disabled: "an admin disabled it" };

function MakeWebhook({ done }) {
  const [url, setURL] = useState("");
  const [description, setDescription] = useState("");
  const [chosen, choose] = useState(["approval", "question"]);
  const [problem, setProblem] = useState("");
  const submit = event => {
    event.preventDefault();
    setProblem("");
    call("POST", "/v1/webhooks", { url: url.trim(), description: description.trim(), kinds: chosen })
      .then(done, error => setProblem(inWords(error)));
  };
  // A webhook without kinds gets all events.
  const toggle = (kind, on) => choose(on ? [...chosen, kind] : chosen.filter(one => one !== kind));
  return html`<form class="form settings" onSubmit=${submit}>
    <label>URL<input type="url" required maxlength="2048" placeholder="https://example.com/hooks" value=${url} onInput=${e => setURL(e.target.value)} /></label>
    <label>Description<input maxlength="200" value=${description} onInput=${e => setDescription(e.target.value)} /></label>
    <fieldset class="choices"><legend>Events about</legend>${kinds.map(([kind, does]) => html`<label key=${kind}><input type="checkbox" checked=${chosen.includes(kind)} onChange=${e => toggle(kind, e.target.checked)} />${does}</label>`)}</fieldset>
    <${Failure} error=${problem} /><p><button disabled=${chosen.length === 0}>Create webhook</button>${chosen.length === 0 && html` <span class="quiet" role="status">Choose at least one kind of event.</span>`}</p></form>`;
}

// Deliveries shows the pending and failed deliveries of one webhook, or of the callbacks of requests, and the last error.
function Deliveries({ id, changed }) {
  const [problem, setProblem] = useState("");
  const address = state => `/v1/effects?page=true&limit=100&webhook_id=${encodeURIComponent(id)}&state=${state}`;
  const failed = useRead(address("failed"), 5000), pending = useRead(address("pending"), 5000);
  const letters = failed.data?.pagination.total_count ?? 0, waiting = pending.data?.pagination.total_count ?? 0;
  const last = [...(pending.data?.items ?? []), ...(failed.data?.items ?? [])].filter(one => one.last_error).at(-1);
  const replay = () => call("POST", path("webhooks", id, "replay"), {}).then(() => { setProblem(""); failed.reload(); pending.reload(); changed(); }, error => setProblem(error.message));
  return html`<div>${waiting > 0 && `${waiting} to deliver. `}${letters > 0 ? html`<strong class="outcome-denied">${letters} given up</strong> ` : waiting ? "" : "No pending deliveries."}</div>
    ${last && html`<div class="quiet">Last error: ${marked(last.last_error)}, after ${last.attempts} ${last.attempts === 1 ? "attempt" : "attempts"}</div>`}
    ${letters > 0 && html`<p class="buttons"><button onClick=${replay}>Deliver again</button></p>`}<${Failure} error=${problem || failed.error} />`;
}

function Line({ hook, reload }) {
  const [told, tell] = useState("");
  const change = body => call("POST", path("webhooks", hook.webhook_id), body).then(reload);
  const test = () => call("POST", path("webhooks", hook.webhook_id, "test")).then(
    result => tell(result.delivered ? `The test event was delivered, ${result.duration_ms} ms` : `The test event failed: ${result.error}`), error => tell(error.message));
  const filters = [hook.kinds.join(", "), hook.events.join(", "), hook.agent_ids.length > 0 && "agents " + hook.agent_ids.join(", "), hook.session_prefixes.length > 0 && "sessions " + hook.session_prefixes.map(one => one + "…").join(", ")].filter(Boolean).join("; ");
  return html`<tr class=${hook.enabled ? "" : "over"}><td>${marked(hook.url)}<div class="quiet">${hook.description && html`${marked(hook.description)}. `}${marked(filters || "everything except worker events")}</div></td>
    <td>${hook.enabled ? "enabled" : html`disabled <${When} ms=${hook.disabled_at_ms} /><div class="quiet">${why[hook.disabled_reason] ?? hook.disabled_reason}</div>`}</td>
    <td><${Deliveries} id=${hook.webhook_id} changed=${reload} /></td>
    <td><p class="buttons"><button onClick=${test}>Test</button>${hook.enabled
      ? html`<${Confirm} label="Disable" question="Pending deliveries are dropped." does=${() => change({ enabled: false })} />`
      : html`<button onClick=${() => change({ enabled: true }).catch(error => tell(error.message))}>Enable</button>`}
      <${Confirm} label="Delete" question="Deleting is permanent. Pending deliveries are dropped." does=${() => call("DELETE", path("webhooks", hook.webhook_id)).then(reload)} /></p>
      <p class="quiet" role="status">${marked(told)}</p></td></tr>`;
}

export function Webhooks() {
  const { data, error, reload } = useRead("/v1/webhooks", 5000);
  const [made, setMade] = useState(null);
  const [form, setForm] = useState(0);
  const done = fresh => { setMade(fresh); setForm(form + 1); reload(); };
  if (account.me && account.me.role !== "admin") return html`<h1>Webhooks</h1><p class="empty">Webhooks are for admins.</p>`;
  return html`<h1>Webhooks</h1>${made ? html`<${Secret} label="The new webhook" secret=${made.secret} close=${() => setMade(null)}>Deliveries to <strong>${marked(made.webhook.url)}</strong> are signed with this secret.<//>` : html`<${MakeWebhook} key=${form} done=${done} />`}
    <${Failure} error=${error} />${data && html`<h2>Endpoints</h2><${Table} label="Webhooks" heads=${["Webhook", "State", "Deliveries", ""]} empty="There are no webhooks." rows=${data.data.map(hook => html`<${Line} key=${hook.webhook_id} hook=${hook} reload=${reload} />`)} />
    <h2>Request callbacks</h2><${Deliveries} id="callback" changed=${reload} />`}`;
}
