// One question: choices, free text, or one value that a schema types.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { canDecide, draftOf, isOver, keepDraft } from "./approval.js";
import { answer, cancelQuestion } from "./decide.js";
import { Json, member, pretty, read, rough, textOf } from "./exact.js";
import { act, decided, steady } from "./guard.js";
import { asksOf, headingOf } from "./headings.js";
import { marked, plain } from "./marks.js";
import { faults } from "./schema.js";

const kept = (text, fallback) => { try { return JSON.parse(text) ?? fallback; } catch { return fallback; } };

// atOnce reports whether a question has one option, which is a button that answers.
const atOnce = request => request.questions?.length === 1 && request.questions[0].options?.length === 1 && !request.questions[0].multi_select;

function Options({ one, asked, given, give }) {
  const id = `${one.handle}-${asked.id}`, chosen = given.selected_option_ids ?? [], options = asked.options ?? [];
  const choose = option => {
    const next = !asked.multi_select ? [option] : chosen.includes(option) ? chosen.filter(other => other !== option) : [...chosen, option];
    give({ ...given, selected_option_ids: next });
  };
  const words = option => html`<span>${marked(option.label)}${option.description && html`<small id=${`${id}-${option.id}`}>${marked(option.description)}</small>`}
    ${option.preview && html`<pre><code>${marked(option.preview)}</code></pre>`}</span>`;
  if (atOnce(one.request)) {
    const [option] = options;
    const send = event => {
      if (!canDecide(one) || !steady(one.handle, event)) return;
      decided();
      void answer(one, { answers: [{ question_id: asked.id, selected_option_ids: [option.id] }] });
    };
    return !isOver(one) && html`<div class="options"><button type="button" class="option" aria-label=${plain(option.label)} onClick=${send}>${words(option)}</button></div>`;
  }
  return options.length > 0 && html`<div class="options">${options.map((option, i) => html`<label class="choice option"><input type=${asked.multi_select ? "checkbox" : "radio"} name=${id} aria-label=${plain(option.label)}
      aria-describedby=${option.description ? `${id}-${option.id}` : null} checked=${chosen.includes(option.id)} disabled=${isOver(one)} onChange=${() => choose(option.id)} />
      ${words(option)}${i < 9 && html`<kbd aria-hidden="true">${i + 1}</kbd>`}</label>`)}</div>`;
}

function Structured({ one, asked, given, give: keep }) {
  const give = next => { if (!isOver(one)) keep(next); };
  return html`<div role="group" aria-label=${plain(asked.question)} class="question">
    <p class="asks">${marked(asked.question)}</p>
    <${Options} one=${one} asked=${asked} given=${given} give=${give} />
    ${asked.allow_freeform !== false && html`<label>Your answer<input type=${asked.sensitive ? "password" : "text"} autocomplete=${asked.sensitive ? "new-password" : "off"} readonly=${isOver(one)} value=${given.freeform_answer ?? ""} onInput=${e => give({ ...given, freeform_answer: e.target.value })} /></label>`}</div>`;
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

// worked is what was given so far: {typed, schema, state, answers, value, wrong, complete}.
function worked(one) {
  const { request } = one, typed = request.response_schema !== undefined;
  const schema = typed && (request.response_schema.node.kind === "object" ? request.response_schema.node : { kind: "object", members: [] });
  const state = kept(draftOf(one, "answer", ""), typed ? starting(schema) : {});
  const answers = typed ? [] : request.questions.map(asked => {
    const given = state[asked.id] ?? {};
    return { question_id: asked.id, selected_option_ids: given.selected_option_ids, ...(given.freeform_answer?.trim() && { freeform_answer: given.freeform_answer.trim() }) };
  });
  const { text: value, wrong } = typed ? typedValue(schema, state) : { wrong: [] };
  const complete = typed ? wrong.length === 0 : answers.every(given => given.selected_option_ids?.length || given.freeform_answer);
  return { typed, schema, state, answers, value, wrong, complete };
}

const keepAnswer = (one, state) => { if (!isOver(one)) { act(one.handle); keepDraft(one, "answer", JSON.stringify(state)); } };

export const canAnswer = one => worked(one).complete;
export function sendAnswer(one) {
  const { typed, value, answers } = worked(one);
  return answer(one, typed ? { value: new Json(value) } : { answers });
}
export const sendDecline = one => answer(one, { declined: true });
export const endQuestion = one => cancelQuestion(one);

// chooseByKey chooses an option of the first question by its number.
export function chooseByKey(one, number) {
  const asked = one.request.questions?.[0], option = asked?.options?.[number - 1];
  if (!option || !canDecide(one) || atOnce(one.request)) return false;
  const { state } = worked(one), given = state[asked.id] ?? {}, chosen = given.selected_option_ids ?? [];
  const next = !asked.multi_select ? [option.id] : chosen.includes(option.id) ? chosen.filter(other => other !== option.id) : [...chosen, option.id];
  keepAnswer(one, { ...state, [asked.id]: { ...given, selected_option_ids: next } });
  return true;
}

export function QuestionFields({ one }) {
  const { typed, schema, state, answers, wrong } = worked(one);
  const keep = next => keepAnswer(one, next);
  one.typed = answers.map(given => given.freeform_answer ?? "").join("\n").trim();
  const send = event => {
    event.preventDefault();
    if (!canAnswer(one) || !canDecide(one) || !steady(one.handle, event)) return;
    decided();
    void sendAnswer(one);
  };
  return html`<form class="form" id="answer" onSubmit=${send}>
    ${typed ? html`<${Typed} one=${one} node=${schema} state=${state} give=${keep} />`
      : one.request.questions.map(asked => html`<${Structured} one=${one} asked=${asked} given=${state[asked.id] ?? {}} give=${given => keep({ ...state, [asked.id]: given })} />`)}
    ${typed && draftOf(one, "answer", "") && wrong.length > 0 && html`<ul class="faults">${wrong.map(fault => html`<li>${marked(fault)}</li>`)}</ul>`}</form>`;
}
