// The tokens of an administrator's settings: who may call, and until when.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, call, inWords, newKey, path } from "./api.js";
import { Confirm, Failure, Secret, Table, useKept, useRead } from "./components.js";
import { nowMs } from "./inbox.js";
import { marked } from "./marks.js";
import { When } from "./when.js";

const day = 24 * 3600_000;
const roles = [["operator", "decides"], ["agent", "runs agents"], ["observer", "looks"], ["admin", "may do everything"]];
const lifetimes = [["Never", 0], ["In 1 day", day], ["In 30 days", 30 * day], ["In 1 year", 365 * day]];

function MakeToken({ done }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState(account.me?.via === "open" ? "admin" : "operator"); // the first token is an admin's
  const [forMs, setForMs] = useState(0);
  const [problem, setProblem] = useState("");
  const [key] = useState(newKey);
  const [sending, send] = useState(false);
  useKept(sending); // with the first token, the service asks for a sign-in before its answer is here
  const submit = event => {
    event.preventDefault();
    setProblem("");
    send(true);
    call("POST", "/v1/tokens", { name: name.trim(), role, ...(forMs && { expires_after_ms: forMs }) }, { "Idempotency-Key": key })
      .then(done, error => { send(false); setProblem(inWords(error)); });
  };
  return html`<form class="form settings" onSubmit=${submit}>
    <label>Name<input required maxlength="200" value=${name} onInput=${e => setName(e.target.value)} /></label>
    <label>Role<select onChange=${e => setRole(e.target.value)}>${roles.map(([value, does]) => html`<option value=${value} selected=${value === role}>${value}: ${does}</option>`)}</select></label>
    <label>Expires<select onChange=${e => setForMs(Number(e.target.value))}>${lifetimes.map(([label, ms]) => html`<option value=${String(ms)} selected=${ms === forMs}>${label}</option>`)}</select></label>
    ${account.me?.via === "open" && html`<p class="quiet">Once a token exists, everyone needs one. Create an admin token first and save its secret.</p>`}
    <${Failure} error=${problem} /><p><button>Create token</button></p></form>`;
}

function state(token) {
  if (token.revoked_at_ms) return html`revoked <${When} ms=${token.revoked_at_ms} />`;
  if (!token.expires_at_ms) return "";
  return html`${token.expires_at_ms <= nowMs() ? "expired" : "until"} <${When} ms=${token.expires_at_ms} />`;
}

export function Tokens() {
  const [cursor, setCursor] = useState("");
  const [made, setMade] = useState(null);
  const { data, error, reload } = useRead("/v1/tokens?limit=100" + (cursor && "&cursor=" + encodeURIComponent(cursor)));
  const [form, setForm] = useState(0);
  const done = fresh => { setMade(fresh); setForm(form + 1); reload(); };
  return html`<h2>Tokens</h2>${made ? html`<${Secret} label="The new token" secret=${made.secret} close=${() => setMade(null)}>This is the secret of <strong>${marked(made.token.name)}</strong>.<//>` : html`<${MakeToken} key=${form} done=${done} />`}
    <${Failure} error=${error} />${data && html`<${Table} label="Tokens" heads=${["Name", "Role", "Principal", "Last used", ""]} empty="There are no tokens." rows=${data.data.map(token => html`<tr key=${token.token_id} class=${token.revoked_at_ms || token.expires_at_ms && token.expires_at_ms <= nowMs() ? "over" : ""}>
      <td>${marked(token.name)}<div class="quiet">${state(token)}</div></td><td>${token.role}</td><td><code>${marked(token.principal)}</code></td><td>${token.last_used_at_ms ? html`<${When} ms=${token.last_used_at_ms} />` : "never"}</td>
      <td>${!token.revoked_at_ms && html`<${Confirm} label="Revoke" question="Callers that use it are refused at once." does=${() => call("DELETE", path("tokens", token.token_id)).then(reload)} />`}</td></tr>`)} />
      ${data.next_cursor && html`<button onClick=${() => setCursor(data.next_cursor)}>More</button>`}`}`;
}
