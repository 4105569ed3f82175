// One question: choices, free text, or one value that a schema types.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { canDecide, useDraft } from "./approval.js";
import { answer, cancelQuestion } from "./inbox.js";
import { marked, plain } from "./marks.js";
import { faults } from "./schema.js";

const read = (text, fallback) => { try { return JSON.parse(text); } catch { return fallback; } };

export function headingOf(one) {
  const { request } = one;
  return request.questions?.[0]?.header || request.questions?.[0]?.question || request.payload?.question || request.tool_name || "Question";
}

function Structured({ one, asked, given, give }) {
  const id = `${one.handle}-${asked.id}`;
  const chosen = given.selected_option_ids ?? [];
  const choose = option => {
    const next = !asked.multi_select ? [option] : chosen.includes(option) ? chosen.filter(other => other !== option) : [...chosen, option];
    give({ ...given, selected_option_ids: next });
  };
  return html`<div role="group" aria-label=${plain(asked.question)} class="question">
    <p class="asks">${marked(asked.question)}</p>
    ${(asked.options ?? []).map(option => html`<label class="choice"><input type=${asked.multi_select ? "checkbox" : "radio"} name=${id} aria-label=${plain(option.label)}
      aria-describedby=${option.description ? `${id}-${option.id}` : null} checked=${chosen.includes(option.id)} onChange=${() => choose(option.id)} />
      <span>${marked(option.label)}${option.description && html`<small id=${`${id}-${option.id}`}>${marked(option.description)}</small>`}
      ${option.preview && html`<pre tabindex="0"><code>${marked(option.preview)}</code></pre>`}</span></label>`)}
    <label>Your answer<input type=${asked.sensitive ? "password" : "text"} autocomplete=${asked.sensitive ? "new-password" : "off"} value=${given.freeform_answer ?? ""} onInput=${e => give({ ...given, freeform_answer: e.target.value })} /></label></div>`;
}

function Field({ name, schema, value, give, secret }) {
  const label = html`<span>${marked(schema.title || name)}</span>`;
  if (Array.isArray(schema.enum)) return html`<label>${label}<select onChange=${e => give(e.target.value === "" ? undefined : schema.enum[Number(e.target.value)])}>
    <option value="">Choose</option>${schema.enum.map((one, i) => html`<option value=${String(i)} selected=${value !== undefined && JSON.stringify(one) === JSON.stringify(value)}>${plain(typeof one === "string" ? one : JSON.stringify(one))}</option>`)}</select></label>`;
  switch (schema.type) {
    case "boolean": return html`<label class="choice"><input type="checkbox" checked=${value === true} onChange=${e => give(e.target.checked)} />${label}</label>`;
    case "integer":
    case "number": return html`<label>${label}<input type="number" step=${schema.type === "integer" ? "1" : "any"} min=${schema.minimum} max=${schema.maximum} value=${value ?? ""}
      onInput=${e => give(e.target.value === "" ? undefined : Number(e.target.value))} /></label>`;
    case "string": return html`<label>${label}<input type=${secret ? "password" : "text"} autocomplete=${secret ? "new-password" : "off"} value=${value ?? ""} onInput=${e => give(e.target.value)} /></label>`;
  }
  return html`<label>${label} (JSON)<textarea class="code" rows="4" onInput=${e => give(read(e.target.value, undefined))}>${value === undefined ? "" : JSON.stringify(value)}</textarea></label>`;
}

function Typed({ one, value, give }) {
  const schema = one.request.response_schema;
  const asks = one.request.payload?.question;
  const properties = schema?.type === "object" && schema.properties;
  const fields = properties
    ? Object.entries(properties).map(([name, of]) => html`<${Field} secret=${one.request.sensitive} name=${name} schema=${of} value=${value?.[name]} give=${next => {
      const whole = { ...value };
      if (next === undefined) delete whole[name]; else whole[name] = next;
      give(whole);
    }} />`)
    : html`<${Field} secret=${one.request.sensitive} name="Your answer" schema=${typeof schema === "object" ? schema : {}} value=${value} give=${give} />`;
  return html`<div role="group" aria-label=${plain(asks || headingOf(one))} class="question">${asks && html`<p class="asks">${marked(asks)}</p>`}${fields}</div>`;
}

function starting(schema) {
  if (schema?.type === "boolean") return false;
  if (schema?.type !== "object" || !schema.properties) return undefined;
  return Object.fromEntries(Object.entries(schema.properties).filter(([, of]) => of.type === "boolean" && of.default === undefined).map(([name]) => [name, false])
    .concat(Object.entries(schema.properties).filter(([, of]) => of.default !== undefined).map(([name, of]) => [name, of.default])));
}

export function QuestionForm({ one }) {
  const { request } = one;
  const [text, setText] = useDraft(one, "answer", "");
  const [ending, setEnding] = useState(false);
  const typed = request.response_schema !== undefined;
  const state = read(text, typed ? starting(request.response_schema) : {});
  const keep = next => setText(next === undefined ? "" : JSON.stringify(next));
  const answers = typed ? [] : request.questions.map(asked => {
    const given = state[asked.id] ?? {};
    return { question_id: asked.id, selected_option_ids: given.selected_option_ids, ...(given.freeform_answer?.trim() && { freeform_answer: given.freeform_answer.trim() }) };
  });
  const wrong = typed ? (state === undefined ? ["An answer is needed."] : faults(request.response_schema, state)) : [];
  const complete = typed ? wrong.length === 0 : answers.every(given => given.selected_option_ids?.length || given.freeform_answer);
  const send = event => {
    event.preventDefault();
    if (complete && canDecide(one)) void answer(one, typed ? { value: state } : { answers });
  };
  return html`<form class="form" onSubmit=${send}>
    ${typed ? html`<${Typed} one=${one} value=${state} give=${keep} />`
      : request.questions.map(asked => html`<${Structured} one=${one} asked=${asked} given=${state[asked.id] ?? {}} give=${given => keep({ ...state, [asked.id]: given })} />`)}
    ${typed && text && wrong.length > 0 && html`<ul class="faults">${wrong.map(fault => html`<li>${marked(fault)}</li>`)}</ul>`}
    ${ending && html`<p role="alert">This ends the run. <button type="button" class="deny" onClick=${() => void cancelQuestion(one)}>End the run</button> <button type="button" class="quiet" onClick=${() => setEnding(false)}>Back</button></p>`}
    <div class="buttons"><button class="allow" disabled=${!complete || !canDecide(one)}>Answer</button>
    <button type="button" disabled=${!canDecide(one)} onClick=${() => void answer(one, { declined: true })}>Decline</button>
    <button type="button" class="quiet" disabled=${!canDecide(one)} onClick=${() => setEnding(true)}>Cancel question</button></div></form>`;
}
