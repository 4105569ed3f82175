// One approval: what is asked, and the forms by which it is decided.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { changed, decide, drafts, explain, inbox, lookUp, whole } from "./inbox.js";
import { Changes, foldable, InputView, pretty } from "./json.js";
import { escaped, marked } from "./marks.js";
import { faults } from "./schema.js";
import { size } from "./words.js";

const bytes = one => one.request.input_bytes ?? new TextEncoder().encode(JSON.stringify(one.request.input)).length;
export const folded = one => !one.unfolded && (one.request.input_truncated || (one.foldable ??= foldable(one.request.input)));

// readable reports whether a prompt may be allowed: who looks did not ask for it where that counts,
// and its input has been shown whole.
export function readable(one) {
  if (one.barred !== "") return false;
  if (!folded(one)) return true;
  one.notice = "Open the input first";
  changed();
  return false;
}

export const canDecide = one => inbox.connection !== "offline" && !one.resolution && !one.sending;

export function allow(one, more = {}) {
  if (canDecide(one) && readable(one)) void decide([one], { behavior: "allow", ...more });
}

// What is sensitive is kept nowhere in the browser.
const sensitive = ({ request }) => request.sensitive || request.sensitive_paths || request.questions?.some(asked => asked.sensitive);

export function useDraft(one, name, initial) {
  const key = `${one.handle}:${name}`;
  const [value, set] = useState(() => drafts.get(key) ?? initial);
  return [value, next => { if (!sensitive(one)) drafts.set(key, next); set(next); }];
}

export function form(one, name) {
  one.form = one.form === name ? "" : name;
  one.notice = "";
  changed();
}

function useFocus() {
  const ref = useRef();
  useEffect(() => ref.current?.focus(), []);
  return ref;
}

const close = one => event => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  form(one, "");
  document.getElementById("prompt-" + one.handle)?.focus();
};

export function DenyForm({ one }) {
  const [reason, setReason] = useDraft(one, "reason", "");
  const send = event => {
    event.preventDefault();
    if (canDecide(one)) void decide([one], { behavior: "deny", ...(reason.trim() && { reason: reason.trim() }) });
  };
  return html`<form class="form" onSubmit=${send} onKeyDown=${close(one)}>
    <label class="grow">Reason (optional)<input ref=${useFocus()} value=${reason} maxlength="16384" onInput=${e => setReason(e.target.value)} /></label>
    <div class="buttons"><button class="deny" disabled=${!canDecide(one)}>Deny</button>
    <button type="button" class="quiet" onClick=${() => form(one, "")}>Back</button></div></form>`;
}

export function EditForm({ one }) {
  const [request, setRequest] = useState(one.request.input_truncated ? null : one.request);
  useEffect(() => { if (!request) whole(one).then(setRequest, error => { one.error = error.message; changed(); }); }, []);
  return request && html`<${Editor} one=${one} request=${request} />`;
}

function Editor({ one, request }) {
  const before = useMemo(() => pretty(request.input), [request]);
  const [text, setText] = useDraft(one, "input", escaped(before));
  const parsed = useMemo(() => {
    try {
      const value = JSON.parse(text);
      return { value, wrong: request.input_schema === undefined ? [] : faults(request.input_schema, value) };
    } catch (error) {
      return { wrong: ["This is no JSON: " + error.message] };
    }
  }, [text, request]);
  const after = parsed.wrong.length && parsed.value === undefined ? text : pretty(parsed.value);
  const send = event => {
    event.preventDefault();
    if (!parsed.wrong.length && canDecide(one)) void decide([one], { behavior: "allow", updated_input: parsed.value });
  };
  const id = "faults-" + one.handle;
  return html`<form class="form" onSubmit=${send} onKeyDown=${close(one)}>
    <label>Input<textarea ref=${useFocus()} class="code" spellcheck=${false} rows=${Math.min(24, text.split("\n").length + 1)} value=${text}
      aria-invalid=${parsed.wrong.length > 0} aria-describedby=${id} onInput=${e => setText(e.target.value)}></textarea></label>
    <ul class="faults" id=${id}>${parsed.wrong.map(fault => html`<li>${marked(fault)}</li>`)}</ul>
    <section aria-label="Changes"><h3>Changes</h3>${after === before ? html`<p class="quiet">Nothing is changed.</p>` : html`<${Changes} before=${before} after=${after} />`}</section>
    <div class="buttons"><button class="allow" disabled=${parsed.wrong.length > 0 || !canDecide(one) || one.barred !== ""}>Allow with changes</button>
    <button type="button" class="quiet" onClick=${() => form(one, "")}>Back</button></div></form>`;
}

const hour = 3600_000;
const lifetimes = [["1 hour", hour], ["1 day", 24 * hour], ["30 days", 30 * 24 * hour], ["For ever", 0]];

const exampleLine = ({ tool_name, input, tool_call_id, pattern_keys }) =>
  [tool_name, JSON.stringify(input), tool_call_id && `as call ${tool_call_id}`, pattern_keys && `with the pattern keys ${pattern_keys.join(", ")}`].filter(Boolean).join(" ");

// Examples are calls that the rule matches, and near ones that it does not.
function Examples({ of: examples }) {
  if (!examples?.matching.length) return null;
  return html`<p>Decided, for example:</p><ul aria-label="Calls that the rule decides">${examples.matching.map(one => html`<li><code>${marked(exampleLine(one))}</code></li>`)}</ul>
    <p>Not decided:</p><ul aria-label="Calls that the rule does not decide">${examples.not_matching.map(one =>
      html`<li><code>${marked(exampleLine(one))}</code> <span class="quiet">${marked(one.why_not)}</span></li>`)}</ul>`;
}

export function RememberForm({ one }) {
  const [scope, setScope] = useState("");
  const [forMs, setForMs] = useState(30 * 24 * hour);
  const [texts, setTexts] = useState(null);
  const [problem, setProblem] = useState("");
  const first = useFocus();
  useEffect(() => {
    if (!scope) return;
    let late = false;
    setTexts(null);
    explain(one, forMs).then(found => { if (!late) { setTexts(found); setProblem(""); } }, error => { if (!late) setProblem(error.problem?.errors?.[0]?.detail ?? error.message); });
    return () => { late = true; };
  }, [scope, forMs]);
  const ready = !scope || texts?.allow?.[scope];
  const decision = behavior => ({ behavior, ...(scope && { remember: scope, remember_for_ms: forMs }) });
  const options = [["", "Only this once"], ["session", "In this session"], ["always", "Always"]];
  return html`<div class="form" onKeyDown=${close(one)}>
    <div role="radiogroup" aria-label="Remember" class="choices">${options.map(([value, label], i) =>
      html`<label><input type="radio" ref=${i === 0 ? first : null} name=${"remember-" + one.handle} checked=${scope === value} onChange=${() => setScope(value)} />${label}</label>`)}</div>
    <label>For<select disabled=${!scope} value=${String(forMs)} onChange=${e => setForMs(Number(e.target.value))}>
      ${lifetimes.map(([label, ms]) => html`<option value=${String(ms)} selected=${ms === forMs}>${label}</option>`)}</select></label>
    ${scope && html`<div class="rule-text" role="note">${problem || (texts ? html`<p>${marked(texts.allow[scope] ?? "No such rule can be written.")}</p><p class="quiet">${marked(texts.deny[scope] ?? "")}</p><${Examples} of=${texts.allow.examples} />` : "…")}</div>`}
    <div class="buttons">${!one.barred && html`<button class="allow" disabled=${!ready || !canDecide(one) || one.barred !== ""} onClick=${() => allow(one, decision("allow"))}>Allow</button>`}
    <button class="deny" disabled=${!ready || !canDecide(one)} onClick=${() => void decide([one], decision("deny"))}>Deny</button>
    <button class="quiet" onClick=${() => form(one, "")}>Back</button></div></div>`;
}

function ShownInput({ one }) {
  const show = async () => {
    try {
      await whole(one);
      one.unfolded = true;
      one.notice = "";
    } catch (error) { one.error = error.message; }
    changed();
  };
  if (!folded(one)) return html`<${InputView} value=${one.request.input} />`;
  const text = one.request.input_truncated ? one.request.input : pretty(one.request.input);
  return html`<pre class="json cut" tabindex="0" aria-label="The beginning of the input"><code>${marked(text.slice(0, 1200).split("\n").slice(0, 20).join("\n"))}…</code></pre>
    <button onClick=${show}>Show all (${size(bytes(one))})</button>`;
}

// Asked is what the agent said: nothing in it can look like the page's own words.
export function Asked({ one }) {
  const { reason, description } = one.request;
  return html`<div class="asked" role="group" aria-label="From the agent">
    ${one.changed && html`<p class="changed-input">The input has changed since you read it.</p>`}
    <${ShownInput} one=${one} />
    ${[description, reason].filter(Boolean).map(text => html`<blockquote>${marked(text)}</blockquote>`)}</div>`;
}

export function ApprovalActions({ one }) {
  // Of an approval that excludes who asked, the service says whether that is who looks.
  useEffect(() => {
    if (one.barred !== undefined) return;
    void lookUp(one.handle);
    const again = setInterval(() => void lookUp(one.handle), 5000);
    return () => clearInterval(again);
  }, [one.handle, one.barred]);
  return html`${one.barred && html`<p class="barred" role="note">You cannot allow this: ${marked(one.barred)}.</p>`}<${Actions} one=${one} />`;
}

function Actions({ one }) {
  switch (one.form) {
    case "deny": return html`<${DenyForm} one=${one} />`;
    case "edit": if (!one.barred) return html`<${EditForm} one=${one} />`; break;
    case "remember": return html`<${RememberForm} one=${one} />`;
  }
  const off = !canDecide(one);
  return html`<div class="buttons">
    ${!one.barred && html`<button class="allow" disabled=${off || one.barred !== ""} onClick=${() => allow(one)}>Allow</button>`}
    <button class="deny" disabled=${off} onClick=${() => form(one, "deny")}>Deny</button>
    ${!one.barred && html`<button disabled=${off || one.barred !== ""} onClick=${() => form(one, "edit")}>Edit</button>`}
    <button disabled=${off} onClick=${() => form(one, "remember")}>Remember</button></div>`;
}
