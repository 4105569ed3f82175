// One question: choices, free text, or one value that a schema types.

import { html, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { byKey, canDecide, isOver, useDraft } from "./approval.js";
import { answer, cancelQuestion } from "./decide.js";
import { Json, member, pretty, read, rough, textOf } from "./exact.js";
import { act, decided, opens, steady } from "./guard.js";
import { marked, plain } from "./marks.js";
import { faults } from "./schema.js";

const kept = (text, fallback) => { try { return JSON.parse(text) ?? fallback; } catch { return fallback; } };
const asksOf = request => request.payload && textOf(request.payload.node, "question");

export function headingOf(one) {
  const { request } = one;
  return request.questions?.[0]?.header || request.questions?.[0]?.question || asksOf(request) || request.tool_name || "Question";
}

function Structured({ one, asked, given, give: keep }) {
  const give = next => { if (!isOver(one)) keep(next); };
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
      ${option.preview && html`<pre><code>${marked(option.preview)}</code></pre>`}</span></label>`)}
    <label>Your answer<input type=${asked.sensitive ? "password" : "text"} autocomplete=${asked.sensitive ? "new-password" : "off"} readonly=${isOver(one)} value=${given.freeform_answer ?? ""} onInput=${e => give({ ...given, freeform_answer: e.target.value })} /></label></div>`;
}

// Field gives its value as JSON text: a number is what was typed, not what a double makes of it.
function Field({ name, node, text, give, secret, over }) {
  const schema = rough(node);
  const label = html`<span>${marked(schema.title || name)}</span>`;
  const choices = member(node, "enum")?.items;
  if (choices) return html`<label>${label}<select onChange=${e => give(e.target.value === "" ? undefined : pretty(choices[Number(e.target.value)], ""))}>
    <option value="">Choose</option>${choices.map((one, i) => html`<option value=${String(i)} selected=${text === pretty(one, "")}>${plain(one.kind === "string" ? one.value : pretty(one, ""))}</option>`)}</select></label>`;
  switch (schema.type) {
    case "boolean": return html`<label class="choice"><input type="checkbox" checked=${text === "true"} onChange=${e => give(String(e.target.checked))} />${label}</label>`;
    case "integer":
    case "number": return html`<label>${label}<input type="number" step=${schema.type === "integer" ? "1" : "any"} min=${schema.minimum} max=${schema.maximum} readonly=${over} value=${text ?? ""}
      onInput=${e => give(e.target.value === "" ? undefined : e.target.value)} /></label>`;
    case "string": return html`<label>${label}<input type=${secret ? "password" : "text"} autocomplete=${secret ? "new-password" : "off"} readonly=${over} value=${text === undefined ? "" : kept(text, "")} onInput=${e => give(JSON.stringify(e.target.value))} /></label>`;
  }
  return html`<label>${label} (JSON)<textarea class="code" rows="4" readonly=${over} value=${text ?? ""} onInput=${e => give(e.target.value.trim() === "" ? undefined : e.target.value)}></textarea></label>`;
}

const single = ""; // the name of the one value where the schema has no properties
const propertiesOf = node => textOf(node, "type") === "object" ? member(node, "properties")?.members : undefined;

function Typed({ one, node, state, give }) {
  const asks = asksOf(one.request);
  const fields = (propertiesOf(node) ?? [[single, node]]).map(([name, of]) => html`<${Field} key=${name} secret=${one.request.sensitive} name=${name || "Your answer"} node=${of} text=${state[name]} over=${isOver(one)}
    give=${next => { if (!isOver(one)) give({ ...state, [name]: next }); }} />`);
  return html`<div role="group" aria-label=${plain(asks || headingOf(one))} class="question">${asks && html`<p class="asks">${marked(asks)}</p>`}${fields}</div>`;
}

function starting(node) {
  const texts = {};
  for (const [name, of] of propertiesOf(node) ?? [[single, node]]) {
    const given = member(of, "default");
    if (given) texts[name] = pretty(given, "");
    else if (textOf(of, "type") === "boolean") texts[name] = "false";
  }
  return texts;
}

// typedValue returns the answer's JSON text with what is wrong with it.
function typedValue(node, state) {
  const wrong = [], properties = propertiesOf(node);
  const given = Object.entries(state).filter(([, text]) => text !== undefined);
  for (const [name, text] of given) {
    try { read(text); } catch (error) { wrong.push(`${name ? "/" + name : "/"}: Invalid JSON: ${error.message}`); }
  }
  if (!properties && state[single] === undefined) wrong.push("An answer is needed.");
  const text = properties ? `{${given.map(([name, one]) => JSON.stringify(name) + ":" + one).join(",")}}` : state[single];
  if (wrong.length === 0) wrong.push(...faults(rough(node), rough(read(text))));
  return { text, wrong };
}

export function QuestionForm({ one }) {
  const { request } = one;
  const [text, setText] = useDraft(one, "answer", "");
  const [ending, setEnding] = useState(false);
  const typed = request.response_schema !== undefined;
  const schema = typed && (request.response_schema.node.kind === "object" ? request.response_schema.node : { kind: "object", members: [] });
  const state = kept(text, typed ? starting(schema) : {});
  const keep = next => { if (!isOver(one)) { act(one.handle); setText(JSON.stringify(next)); } };
  const answers = typed ? [] : request.questions.map(asked => {
    const given = state[asked.id] ?? {};
    return { question_id: asked.id, selected_option_ids: given.selected_option_ids, ...(given.freeform_answer?.trim() && { freeform_answer: given.freeform_answer.trim() }) };
  });
  one.typed = answers.map(given => given.freeform_answer ?? "").join("\n").trim();
  const { text: value, wrong } = typed ? typedValue(schema, state) : { wrong: [] };
  const complete = typed ? wrong.length === 0 : answers.every(given => given.selected_option_ids?.length || given.freeform_answer);
  const press = (event, does) => {
    event.preventDefault();
    if (!canDecide(one) || !steady(one.handle, event)) return;
    decided();
    void does(byKey(event));
  };
  const send = event => { event.preventDefault(); if (complete) press(event, key => answer(one, typed ? { value: new Json(value) } : { answers }, key)); };
  const end = shown => { opens(one.handle); setEnding(shown); };
  return html`<form class="form" onSubmit=${send}>
    ${typed ? html`<${Typed} one=${one} node=${schema} state=${state} give=${keep} />`
      : request.questions.map(asked => html`<${Structured} one=${one} asked=${asked} given=${state[asked.id] ?? {}} give=${given => keep({ ...state, [asked.id]: given })} />`)}
    ${typed && text && wrong.length > 0 && html`<ul class="faults">${wrong.map(fault => html`<li>${marked(fault)}</li>`)}</ul>`}
    ${!isOver(one) && html`${ending && html`<p role="alert">This ends the run. <button type="button" class="deny" onClick=${event => press(event, key => cancelQuestion(one, key))}>End the run</button> <button type="button" class="quiet" onClick=${() => end(false)}>Back</button></p>`}
    <div class="buttons"><button class="allow" disabled=${!complete || !canDecide(one)}>Answer</button>
    <button type="button" disabled=${!canDecide(one)} onClick=${event => press(event, key => answer(one, { declined: true }, key))}>Decline</button>
    <button type="button" class="quiet" disabled=${!canDecide(one)} onClick=${() => end(true)}>Cancel question</button></div>`}</form>`;
}
