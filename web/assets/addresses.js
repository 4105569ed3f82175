// A person's own addresses and quiet hours, in the settings.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { call, inWords, mayDecide, path } from "./api.js";
import { Confirm, Failure, Table, useFocus, useRead } from "./components.js";
import { marked } from "./marks.js";
import { When } from "./when.js";

// fields are the label and the attributes of an address, by the kind of its channel.
const fields = {
  __proto__: null,
  email: ["E-mail address", { type: "email", autocomplete: "email" }],
  slack: ["Slack member id", { placeholder: "U012AB3CD" }],
  http: ["Address", {}],
};

function AddAddress({ channels, added }) {
  const [name, setName] = useState(channels[0].name);
  const [address, setAddress] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const channel = channels.find(one => one.name === name) ?? channels[0], [label, attributes] = fields[channel.kind] ?? fields.http;
  const submit = event => {
    event.preventDefault();
    setProblem("");
    setBusy(true);
    call("POST", "/v1/me/addresses", { channel: channel.name, address: address.trim() })
      .then(made => { setAddress(""); added(made); }, error => setProblem(inWords(error))).finally(() => setBusy(false));
  };
  return html`<form class="form settings" aria-label="Add an address" onSubmit=${submit}>
    ${channels.length > 1 && html`<label>Channel<select onChange=${e => setName(e.target.value)}>${channels.map(one => html`<option value=${one.name} selected=${one === channel}>${one.name}</option>`)}</select></label>`}
    <label>${label}<input required maxlength="254" ...${attributes} value=${address} onInput=${e => setAddress(e.target.value)} /></label>
    ${channel.kind === "slack" && html`<p class="quiet">In Slack: Profile, "⋮", "Copy member ID".</p>`}
    <${Failure} error=${problem} /><p><button disabled=${busy}>Send a code</button></p></form>`;
}

function TypeCode({ one, changed }) {
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState("");
  const [said, say] = useState("");
  const [busy, setBusy] = useState(false);
  const act = (does, then) => {
    setProblem("");
    say("");
    setBusy(true);
    does().then(then, error => setProblem(inWords(error))).finally(() => setBusy(false));
  };
  const submit = event => {
    event.preventDefault();
    act(() => call("POST", path("me", "addresses", one.address_id, "verify"), { code: code.trim() }), changed);
  };
  const again = () => act(() => call("POST", "/v1/me/addresses", { channel: one.channel, address: one.address }), () => { setCode(""); say("Another code is on its way."); });
  return html`<form class="form settings" aria-label=${"Verify " + one.address} onSubmit=${submit}>
    <label>Code sent to ${marked(one.address)}<input required inputmode="numeric" autocomplete="one-time-code" maxlength="16" value=${code} ref=${useFocus()} onInput=${e => setCode(e.target.value)} /></label>
    <p class="quiet">It works for 15 minutes and takes 5 tries.</p><${Failure} error=${problem} /><p class="quiet" role="status">${said}</p>
    <p class="buttons"><button disabled=${busy}>Verify</button><button type="button" class="quiet" disabled=${busy} onClick=${again}>Send another code</button></p></form>`;
}

function Addresses() {
  const { data, error, reload } = useRead("/v1/me/addresses");
  const [typing, type] = useState("");
  if (!data) return html`<${Failure} error=${error} />`;
  const channels = data.channels ?? [], own = data.data.filter(one => one.channel !== "push"), open = own.find(one => one.address_id === typing && !one.verified_at_ms);
  const added = made => { type(made.address_id); reload(); };
  const remove = one => call("DELETE", path("me", "addresses", one.address_id)).then(reload);
  return html`<${Failure} error=${error} />${own.length > 0 && html`<${Table} label="Your addresses" heads=${["Address", "Verified", ""]} empty="" rows=${own.map(one => html`<tr key=${one.address_id}>
      <td>${marked(one.address)}<div class="quiet">${marked(one.channel)}</div></td>
      <td>${one.verified_at_ms ? html`<${When} ms=${one.verified_at_ms} />` : html`no<div class="quiet">No messages yet</div>`}</td>
      <td><p class="buttons">${!one.verified_at_ms && html`<button onClick=${() => type(one.address_id)} aria-label=${"Type the code for " + one.address}>Type code</button>`}
        <${Confirm} label="Remove" question="You get no more messages there." does=${() => remove(one)} /></p></td></tr>`)} />`}
    ${open && html`<${TypeCode} key=${open.address_id} one=${open} changed=${reload} />`}
    ${channels.length > 0 ? html`<${AddAddress} channels=${channels} added=${added} />` : html`<p class="quiet">This service sends no messages to addresses. <a href="/docs/notifications">An operator can set it up.</a></p>`}`;
}

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";

function QuietHours() {
  const { data, error, reload } = useRead("/v1/me/quiet-hours");
  const [typed, setTyped] = useState({});
  const [problem, setProblem] = useState("");
  if (!data) return html`<${Failure} error=${error} />`;
  const hours = data.quiet_hours, shown = { from: "22:00", to: "07:00", zone: ownZone(), ...hours, ...typed };
  const act = doing => { setProblem(""); doing.then(() => { setTyped({}); reload(); }, failed => setProblem(inWords(failed))); };
  const submit = event => { event.preventDefault(); act(call("PUT", "/v1/me/quiet-hours", { from: shown.from, to: shown.to, zone: shown.zone.trim() })); };
  const field = (name, label, attributes) => html`<label>${label}<input required ...${attributes} value=${shown[name]} onInput=${e => setTyped({ ...typed, [name]: e.target.value })} /></label>`;
  return html`<p role="status">${hours ? marked(`No messages from ${hours.from} to ${hours.to}, ${hours.zone}.`) : "Messages come at any time."}</p>
    <form class="form settings" aria-label="Quiet hours" onSubmit=${submit}>
    ${field("from", "From", { type: "time" })}${field("to", "To", { type: "time" })}${field("zone", "Time zone", { maxlength: "64" })}
    <p class="quiet">Urgent steps of an escalation ignore them.</p><${Failure} error=${problem} />
    <p class="buttons"><button>Save</button>${hours && html`<button type="button" class="quiet" onClick=${() => act(call("DELETE", "/v1/me/quiet-hours"))}>Turn off</button>`}</p></form>`;
}

// MessageSettings is for those who may decide.
export function MessageSettings() {
  return mayDecide() && html`<h2>Your addresses</h2><${Addresses} /><h2>Quiet hours</h2><${QuietHours} />`;
}
