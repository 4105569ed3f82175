// One approval: what is asked, and the forms by which it is decided.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { decide, explain, whole } from "./decide.js";
import { Json, pretty, read, rough } from "./exact.js";
import { act, decided, opens, shifted, steady } from "./guard.js";
import { changed, drafts, inbox, lookUp } from "./inbox.js";
import { Changes, InputView, Part } from "./json.js";
import { escaped, marked } from "./marks.js";
import { faults } from "./schema.js";
import { isSeen, nextUnread, readsToEnd, viewTop } from "./seen.js";
import { size } from "./words.js";

const bytes = one => one.request.input_bytes ?? new TextEncoder().encode(one.request.input?.text ?? "").length;

export const canDecide = one => inbox.connection !== "offline" && !one.resolution && !one.sending;
export const byKey = event => event.type !== "click" || event.detail === 0;

// unfold shows all of a prompt's texts.
export async function unfold(one) {
  act(one.handle);
  try {
    const late = one.request.input_truncated;
    await whole(one);
    if (late) shifted(one.handle);
    one.unfolded = true;
  } catch (error) { one.error = error.message; }
  changed();
}

// readOn goes to the first part of a prompt that was not read yet.
export async function readOn(one) {
  await unfold(one);
  requestAnimationFrame(() => {
    const asked = document.querySelector(`[id="prompt-${one.handle}"] .asked`);
    const next = asked && nextUnread(one, asked);
    const to = next ? next.part.getBoundingClientRect().top + next.from - viewTop() : (asked?.getBoundingClientRect().bottom ?? 0) - innerHeight / 2;
    scrollBy({ top: to - 8, behavior: "instant" });
  });
}

// allow allows a prompt that was read to its end, by a press that was aimed at it.
export function allow(one, event, more = {}) {
  if (!canDecide(one) || one.barred !== "") return;
  if (!readsToEnd(one)) { void readOn(one); return; }
  if (!steady(one.handle, event) || !isSeen(one)) return;
  decided();
  void decide([one], { behavior: "allow", ...more }, byKey(event));
}

function deny(one, event, more) {
  if (!canDecide(one) || !steady(one.handle, event)) return;
  decided();
  void decide([one], { behavior: "deny", ...more }, byKey(event));
}

function AllowButton({ one, label = "Allow", off = false, onAllow }) {
  if (one.barred) return null;
  if (!readsToEnd(one)) return html`<button type="button" class="read" onClick=${() => void readOn(one)}>Read to the end to allow</button>`;
  return html`<button type="button" class="allow" disabled=${off || !canDecide(one) || one.barred !== ""} onClick=${onAllow}>${label}</button>`;
}

// What is sensitive is kept nowhere in the browser.
const sensitive = ({ request }) => request.sensitive || request.sensitive_paths || request.questions?.some(asked => asked.sensitive);

export function useDraft(one, name, initial) {
  const key = `${one.handle}:${name}`;
  const [value, set] = useState(() => drafts.get(key) ?? initial);
  return [value, next => { if (!sensitive(one)) drafts.set(key, next); set(next); }];
}

export function form(one, name) {
  opens(one.handle);
  one.form = one.form === name ? "" : name;
  changed();
}

export function useFocus() {
  const ref = useRef();
  useEffect(() => ref.current?.focus({ preventScroll: true }), []);
  return ref;
}

const back = one => { form(one, ""); document.getElementById("prompt-" + one.handle)?.focus({ preventScroll: true }); };
const close = one => event => {
  if (event.key !== "Escape" || one.resolution) return;
  event.stopPropagation();
  back(one);
};

// isOver says that a form takes nothing more: its fields stay, so that nobody types into the page instead.
export const isOver = one => !!(one.resolution || one.sending);

// Buttons are those of a form; what became of it stands in their place.
const Buttons = ({ one, children }) => !isOver(one) && html`<div class="buttons">${children}<button type="button" class="quiet" onClick=${() => back(one)}>Back</button></div>`;

export function DenyForm({ one }) {
  const [reason, setReason] = useDraft(one, "reason", "");
  one.typed = reason;
  const send = event => {
    event.preventDefault();
    deny(one, event, { ...(reason.trim() && { reason: reason.trim() }) });
  };
  return html`<form class="form" onSubmit=${send} onKeyDown=${close(one)}>
    <label class="grow">Reason (optional)<input ref=${useFocus()} value=${reason} maxlength="16384" readonly=${isOver(one)} onInput=${e => setReason(e.target.value)} /></label>
    <${Buttons} one=${one}><button type="button" class="deny" disabled=${!canDecide(one)} onClick=${event => deny(one, event, { ...(reason.trim() && { reason: reason.trim() }) })}>Deny</button><//></form>`;
}

export function EditForm({ one }) {
  const [request, setRequest] = useState(one.request.input_truncated ? null : one.request);
  useEffect(() => { if (!request) whole(one).then(setRequest, error => { one.error = error.message; changed(); }); }, []);
  return request && html`<${Editor} one=${one} request=${request} />`;
}

function Editor({ one, request }) {
  const before = useMemo(() => pretty(request.input.node), [request]);
  const [text, setText] = useDraft(one, "input", escaped(before));
  one.typed = text;
  const parsed = useMemo(() => {
    try {
      const node = read(text);
      return { node, wrong: request.input_schema === undefined ? [] : faults(request.input_schema, rough(node)) };
    } catch (error) {
      return { wrong: ["Invalid JSON: " + error.message] };
    }
  }, [text, request]);
  const after = parsed.node ? pretty(parsed.node) : text;
  // What is recorded is the text, as it was typed.
  const send = event => {
    event.preventDefault();
    if (!parsed.wrong.length) allow(one, event, { updated_input: new Json(text) });
  };
  const id = "faults-" + one.handle;
  return html`<form class="form" onSubmit=${send} onKeyDown=${close(one)}>
    <label>Input<textarea ref=${useFocus()} class="code" spellcheck=${false} rows=${text.split("\n").length + 1} value=${text} readonly=${isOver(one)}
      aria-invalid=${parsed.wrong.length > 0} aria-describedby=${id} onInput=${e => { act(one.handle); setText(e.target.value); }}></textarea></label>
    <ul class="faults" id=${id}>${parsed.wrong.map(fault => html`<li>${marked(fault)}</li>`)}</ul>
    <section aria-label="Changes"><h3>Changes</h3>${after === before ? html`<p class="quiet">Nothing is changed.</p>` : html`<${Changes} before=${before} after=${after} />`}</section>
    <${Buttons} one=${one}><${AllowButton} one=${one} label="Allow with changes" off=${parsed.wrong.length > 0} onAllow=${send} /><//></form>`;
}

const hour = 3600_000;
const lifetimes = [["1 hour", hour], ["1 day", 24 * hour], ["30 days", 30 * 24 * hour], ["For ever", 0]];

const exampleLine = ({ tool_name, input, tool_call_id, pattern_keys }) =>
  [tool_name, input && pretty(input.node, ""), tool_call_id && `as call ${tool_call_id}`, pattern_keys && `with the pattern keys ${pattern_keys.join(", ")}`].filter(Boolean).join(" ");

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
  const [as, setAs] = useState("exact");
  const [texts, setTexts] = useState(null);
  const [problem, setProblem] = useState("");
  const first = useFocus();
  useEffect(() => {
    let late = false;
    setTexts(null);
    explain(one, forMs).then(found => { if (!late) { setTexts(found); setProblem(""); } }, error => { if (!late) setProblem(error.problem?.errors?.[0]?.detail ?? error.message); });
    return () => { late = true; };
  }, [scope, forMs]);
  const choices = texts?.allow?.choices ?? [];
  const chosen = effect => texts?.[effect]?.choices?.find(choice => choice.as === as);
  const ready = !scope || chosen("allow")?.[scope];
  const decision = () => scope ? { remember: scope, remember_as: as, remember_for_ms: forMs } : {};
  const whats = { exact: "This exact call", command: "This command, whatever its description and time limit", tool: `Every call of ${one.request.tool_name} in this session` };
  const set = then => { if (!isOver(one)) { act(one.handle); then(); } };
  const options = [["", "Only this once"], ["session", "In this session"], ["always", "Always"]];
  return html`<div class="form" onKeyDown=${close(one)}>
    <div role="radiogroup" aria-label="Remember" class="choices">${options.map(([value, label], i) =>
      html`<label><input type="radio" ref=${i === 0 ? first : null} name=${"remember-" + one.handle} checked=${scope === value} onChange=${() => set(() => setScope(value))} />${label}</label>`)}</div>
    <div role="radiogroup" aria-label="What to remember" class="choices">${choices.map(choice =>
      html`<label><input type="radio" name=${"remember-as-" + one.handle} disabled=${scope === "always" && !choice.always} checked=${as === choice.as} onChange=${() => set(() => setAs(choice.as))} />${marked(whats[choice.as])}</label>`)}</div>
    <label>For<select disabled=${!scope} value=${String(forMs)} onChange=${e => set(() => setForMs(Number(e.target.value)))}>
      ${lifetimes.map(([label, ms]) => html`<option value=${String(ms)} selected=${ms === forMs}>${label}</option>`)}</select></label>
    ${scope && html`<div class="rule-text" role="note">${problem || (texts ? html`<p>${marked(chosen("allow")?.[scope] ?? "No such rule can be written.")}</p><p class="quiet">${marked(chosen("deny")?.[scope] ?? "")}</p><${Examples} of=${chosen("allow")?.examples} />` : "…")}</div>`}
    <${Buttons} one=${one}><${AllowButton} one=${one} off=${!ready} onAllow=${event => allow(one, event, decision())} />
    <button type="button" class="deny" disabled=${!ready || !canDecide(one)} onClick=${event => deny(one, event, decision())}>Deny</button><//></div>`;
}

function ShownInput({ one, wrap }) {
  if (!one.request.input_truncated) return html`<${InputView} value=${one.request.input} wrap=${wrap} />`;
  const text = one.request.input.node.value.slice(0, 1200).split("\n").slice(0, 20).join("\n");
  return html`<${Part} one=${one} cut><pre class="json cut" aria-label="The beginning of the input"><code>${marked(text)}…</code></pre><//>
    <button class="more" onClick=${() => void unfold(one)}>Show all (${size(bytes(one))})</button>`;
}

// Asked is what the agent said: nothing in it can look like the page's own words.
export function Asked({ one }) {
  const { reason, description } = one.request;
  const wrap = text => html`<${Part} one=${one} unfold=${() => void unfold(one)}>${text}<//>`;
  return html`<div class="asked" role="group" aria-label="From the agent">
    ${one.changed && html`<p class="changed-input">The input has changed since you read it.</p>`}
    <${ShownInput} key=${one.digest} one=${one} wrap=${wrap} />
    ${[description, reason].filter(Boolean).map(text => wrap(html`<blockquote>${marked(text)}</blockquote>`))}</div>`;
}

export function ApprovalActions({ one }) {
  // Of an approval that excludes who asked, the service says whether that is who looks.
  useEffect(() => {
    if (one.barred !== undefined || one.resolution) return;
    void lookUp(one.handle);
    const again = setInterval(() => void lookUp(one.handle), 5000);
    return () => clearInterval(again);
  }, [one.handle, one.barred, !one.resolution]);
  return html`${one.barred && !one.resolution && html`<p class="barred" role="note">You cannot allow this: ${marked(one.barred)}.</p>`}<${Actions} one=${one} />`;
}

function Actions({ one }) {
  switch (one.form) {
    case "deny": return html`<${DenyForm} one=${one} />`;
    case "edit": if (!one.barred) return html`<${EditForm} one=${one} />`; break;
    case "remember": return html`<${RememberForm} one=${one} />`;
  }
  if (isOver(one)) return null;
  const off = !canDecide(one);
  return html`<div class="buttons">
    <${AllowButton} one=${one} onAllow=${event => allow(one, event)} />
    <button class="deny" disabled=${off} onClick=${() => form(one, "deny")}>Deny</button>
    ${!one.barred && html`<button disabled=${off || one.barred !== ""} onClick=${() => form(one, "edit")}>Edit</button>`}
    <button disabled=${off} onClick=${() => form(one, "remember")}>Remember</button></div>`;
}
