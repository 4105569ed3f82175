// One question: choices, free text, or a form that a schema describes.

import { html, useMemo, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { canDecide, draftOf, isOver, keepDraft, unfold } from "./approval.js";
import { answer, cancelQuestion } from "./decide.js";
import { Json, pretty } from "./exact.js";
import { Field, Radios } from "./fields.js";
import { filled, formFor, own } from "./form.js";
import { act, decided, steady } from "./guard.js";
import { asksOf, besidesOf, headerOf, headingOf, titleOf } from "./headings.js";
import { isMine } from "./inbox.js";
import { Beginning, Part, highlighted } from "./json.js";
import { marked, plain } from "./marks.js";
import { Recorded, hasAnswer } from "./recorded.js";
import { pointer } from "./schema.js";

const kept = (text, fallback) => { try { return JSON.parse(text) ?? fallback; } catch { return fallback; } };

// ownWords are the text of an answer, absent where there is none.
const ownWords = given => given.freeform_answer?.trim() ? { freeform_answer: given.freeform_answer.trim() } : {};

// atOnce reports whether a question has one option, which is a button that answers.
const atOnce = request => request.questions?.length === 1 && request.questions[0].options?.length === 1 && !request.questions[0].multi_select;

const longBytes = 4096; // of a payload, as of the inputs in lists

// Besides is the payload without the question. It is drawn once, not at every key.
function Besides({ one }) {
  const { request } = one, open = () => void unfold(one);
  const [text, bytes] = useMemo(() => {
    const rest = besidesOf(request);
    return rest ? [pretty(rest), new TextEncoder().encode(pretty(rest, "")).length] : ["", 0];
  }, [request.payload]);
  const cut = bytes > longBytes && !one.unfolded;
  const drawn = useMemo(() => !cut && text && html`<pre class="json" aria-label="From the agent"><code>${highlighted(text)}</code></pre>`, [text, cut]);
  if (cut) return html`<${Beginning} one=${one} text=${text} bytes=${bytes} label="The beginning of the payload" unfold=${open} />`;
  return drawn && html`<${Part} one=${one} unfold=${open}>${drawn}<//>`;
}

function Options({ one, asked, given, give }) {
  const id = `${one.handle}-${asked.id}`, chosen = given.selected_option_ids ?? [], options = asked.options ?? [];
  const choose = option => give({ ...given, selected_option_ids: chosen.includes(option) ? chosen.filter(other => other !== option) : [...chosen, option] });
  const preview = option => option.preview && html`<pre><code>${marked(option.preview)}</code></pre>`;
  if (atOnce(one.request)) {
    const [option] = options;
    const send = event => {
      if (!canDecide(one) || !steady(one.handle, event)) return;
      decided();
      void answer(one, { answers: [{ question_id: asked.id, selected_option_ids: [option.id], ...ownWords(given) }] });
    };
    return !isOver(one) && html`<div class="options"><button type="button" class="option" aria-label=${plain(option.label)} onClick=${send}><span>${marked(option.label)}${option.description && html`<small>${marked(option.description)}</small>`}${preview(option)}</span></button></div>`;
  }
  if (options.length === 0) return null;
  const same = option => options.filter(other => other.label === option.label && (other.description ?? "") === (option.description ?? "")).length > 1;
  const labels = options.map(option => same(option) ? `${option.label} (${option.id})` : option.label);
  if (!asked.multi_select) return html`<${Radios} name=${id} label=${plain(headerOf(asked, one.request.questions.indexOf(asked)) || asked.question)} chosen=${chosen[0]} over=${isOver(one)} give=${next => give({ ...given, selected_option_ids: next === undefined ? [] : [next] })}
    options=${options.map((option, i) => ({ value: option.id, words: html`${marked(labels[i])}${preview(option)}`, named: plain(labels[i]), about: option.description, keyCap: i < 9 && i + 1 }))} />`;
  return html`<div class="options">${options.map((option, i) => html`<label class="choice option"><input type="checkbox" name=${id} aria-label=${plain(labels[i])}
      aria-describedby=${option.description ? `${id}-${option.id}` : null} checked=${chosen.includes(option.id)} disabled=${isOver(one)} onChange=${() => choose(option.id)} />
      <span>${marked(labels[i])}${option.description && html`<small id=${`${id}-${option.id}`}>${marked(option.description)}</small>`}${preview(option)}</span>${i < 9 && html`<kbd aria-hidden="true">${i + 1}</kbd>`}</label>`)}</div>`;
}

function Structured({ one, asked, given, give: keep }) {
  const give = next => { if (!isOver(one)) keep(next); };
  return html`<div role="group" aria-label=${plain(asked.question)} class="question">
    ${asked.question !== titleOf(one) && html`<p class="asks">${marked(asked.question)}</p>`}
    <${Options} one=${one} asked=${asked} given=${given} give=${give} />
    ${asked.allow_freeform !== false && html`<label>Your answer<input type=${asked.sensitive ? "password" : "text"} autocomplete=${asked.sensitive ? "new-password" : "off"} readonly=${isOver(one)} value=${given.freeform_answer ?? ""} onInput=${e => give({ ...given, freeform_answer: e.target.value })} /></label>`}</div>`;
}

// missing names the fields that must still be filled in.
function missing(form, faults) {
  const names = new Map(), walk = (field, at) => { names.set(at, field.title || field.name); for (const one of [...field.fields ?? [], ...(field.options ?? []).flatMap(option => option.field.fields ?? [])]) walk(one, pointer(at, one.name)); };
  walk(form, "");
  return faults.filter(one => one.missing).map(one => names.get(one.at) || "an answer");
}

// FormHead is the title and the description of a form of several fields. A form of one field has them at the field.
const FormHead = ({ one, form: { title, description } }) => (title && title !== titleOf(one) || description) && html`<div class="field">${title && title !== titleOf(one) && html`<span class="name">${marked(title)}</span>`}${description && html`<small>${marked(description)}</small>`}</div>`;

function Typed({ one, form, state, faults, touched, give: keep }) {
  const asks = asksOf(one.request), give = next => { if (!isOver(one)) keep(next); };
  const fields = form.kind === "object" && !form.name ? form.fields : [form], shown = touched ? faults : [];
  const under = field => field.name ? pointer("", field.name) : "";
  const elsewhere = shown.filter(fault => !fault.missing && !fields.some(field => fault.at === under(field) || fault.at.startsWith(under(field) + "/")));
  const needs = touched && missing(form, faults);
  return html`<div role="group" aria-label=${plain(asks || headingOf(one))} class="question">${asks && asks !== titleOf(one) && html`<p class="asks">${marked(asks)}</p>`}
    <${Besides} one=${one} />${fields === form.fields && html`<${FormHead} one=${one} form=${form} />`}
    ${fields.map((field, i) => html`<${Field} key=${field.name} field=${field} raw=${field.name ? own(state, field.name) : state} id=${`${one.handle}-f${i}`} secret=${one.request.sensitive} over=${isOver(one)}
      at=${under(field)} faults=${shown} give=${next => give(field.name ? { ...state, [field.name]: next } : next)} />`)}
    ${elsewhere.length > 0 && html`<ul class="faults">${elsewhere.map(fault => html`<li>${marked(`${fault.at || "/"}: ${fault.text}`)}</li>`)}</ul>`}
    ${needs?.length > 0 && html`<p class="quiet needs">Still needed: ${marked(needs.join(", "))}</p>`}</div>`;
}

// worked is what was given so far, touched if anything was: {typed, form, state, touched, answers, value, faults, complete}.
function worked(one) {
  const { request } = one, typed = request.response_schema !== undefined, draft = draftOf(one, "answer", "");
  if (typed) {
    const { schema, form } = formFor(request);
    const state = draft ? kept(draft, {}).filled : form.start;
    const { text, faults } = filled(form, state, schema);
    return { typed, form, state, touched: draft !== "", answers: [], value: text, faults, complete: faults.length === 0 };
  }
  const state = kept(draft, {});
  const answers = request.questions.map(asked => {
    const given = own(state, asked.id) ?? {};
    return { question_id: asked.id, selected_option_ids: given.selected_option_ids, ...ownWords(given) };
  });
  return { typed, state, touched: draft !== "", answers, complete: answers.every(given => given.selected_option_ids?.length || given.freeform_answer) };
}

const keepAnswer = (one, state) => { if (!isOver(one)) { act(one.handle); keepDraft(one, "answer", JSON.stringify(state)); } };

// takesAnswer reports whether there is something to fill in: the only option is a button that answers by itself.
export const takesAnswer = one => !atOnce(one.request) || one.request.questions[0].allow_freeform !== false;
export const canAnswer = one => worked(one).complete;
function sendAnswer(one) {
  const { typed, value, answers } = worked(one);
  return answer(one, typed ? { value: new Json(value) } : { answers });
}
export const sendDecline = one => answer(one, { declined: true });
export const endQuestion = one => cancelQuestion(one);

// chooseByKey chooses an option by its number: of the question that has the focus, else of the first one.
export function chooseByKey(one, number, active) {
  const at = [...document.querySelectorAll("#answer .question")].indexOf(active.closest(".question"));
  const asked = one.request.questions?.[Math.max(0, at)], option = asked?.options?.[number - 1];
  if (!option || !canDecide(one) || atOnce(one.request)) return false;
  const { state } = worked(one), given = own(state, asked.id) ?? {}, chosen = given.selected_option_ids ?? [];
  const next = !asked.multi_select ? [option.id] : chosen.includes(option.id) ? chosen.filter(other => other !== option.id) : [...chosen, option.id];
  keepAnswer(one, { ...state, [asked.id]: { ...given, selected_option_ids: next } });
  return true;
}

// QuestionFields are the fields of a question. Once it is settled the recorded answer takes their place. Fields that the
// person had open, or typed into, stay, but not with the values that they started with: those would read as the answer.
export function QuestionFields({ one }) {
  // What somebody typed into a sensitive question does not stay on the page once it is sent.
  const secret = one.request.sensitive || one.request.questions?.some(asked => asked.sensitive), gone = secret && one.resolution && hasAnswer(one.resolution) && isMine(one.handle);
  if (gone && one.drafts) delete one.drafts.answer;
  const { typed, form, state, touched, answers, value, faults } = worked(one), settled = one.resolution;
  const [wasOpen] = useState(!settled), stays = (touched || wasOpen) && !gone, has = settled && hasAnswer(settled), sent = has && isMine(one.handle);
  const keep = next => keepAnswer(one, next);
  one.typed = typed ? touched && value || "" : answers.map(given => given.freeform_answer ?? "").join("\n").trim();
  const send = event => {
    event.preventDefault();
    if (!canAnswer(one) || !canDecide(one) || !steady(one.handle, event)) return;
    decided();
    void sendAnswer(one);
  };
  const recorded = has && !(sent && stays && !atOnce(one.request)) && html`<${Recorded} one=${one} />`, asks = typed && asksOf(one.request);
  if (recorded && !stays) return html`${asks && asks !== titleOf(one) && html`<p class="asks">${marked(asks)}</p>`}<${Besides} one=${one} />${recorded}`;
  const shown = settled && !touched && !sent ? undefined : state;
  return html`<form class="form" id="answer" novalidate onSubmit=${send}>
    ${typed ? html`<${Typed} one=${one} form=${form} state=${shown} touched=${touched} faults=${faults} give=${next => keep({ filled: next })} />`
      : html`<${Besides} one=${one} />${one.request.questions.map(asked => html`<${Structured} one=${one} asked=${asked} given=${own(state, asked.id) ?? {}} give=${given => keep({ ...state, [asked.id]: given })} />`)}`}</form>${recorded}`;
}
