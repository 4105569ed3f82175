// What was recorded for a settled request: the answer to a question, and the input that was allowed in place of the one
// that was asked for.

import { html, useMemo, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { Changes } from "./diff.js";
import { pretty } from "./exact.js";
import { formFor } from "./form.js";
import { titleOf } from "./headings.js";
import { marked } from "./marks.js";
import { same } from "./schema.js";
import { isRoomy } from "./screen.js";
import { spoken } from "./words.js";

const notShown = "(sensitive)"; // the service shows nobody such an answer
const none = "No answer";

export const hasAnswer = ({ answers, value }) => value !== undefined || answers?.length > 0;

// wordsFor says a value by the label of the choice that it was, else as it is. A text with nothing to see in it stands in quotation marks.
function wordsFor(field, node) {
  const chosen = field?.choices?.find(one => same(one.node, node));
  if (chosen) return chosen.label;
  if (field?.kind === "choices" && node.kind === "array" && node.items.length > 0) return node.items.map(one => field.choices.find(({ node }) => same(node, one))?.label ?? pretty(one, "")).join("\n");
  if ((field?.kind === "check" || field?.kind === "yesno") && typeof node.value === "boolean") return node.value ? "Yes" : "No";
  return node.kind === "string" && spoken(node.value) ? node.value : pretty(node);
}

function typedRows(request, { node }) {
  if (request.sensitive) return [{ name: "Answer", texts: [notShown] }];
  const { form } = formFor(request), fields = form.kind === "object" && !form.name ? form.fields : [];
  if (fields.length === 0 || node.kind !== "object") return [{ name: form.title || "Answer", texts: [wordsFor(form, node)] }];
  const rows = node.members.map(([name, one]) => { const field = fields.find(other => other.name === name); return { name: field?.title || name, texts: [wordsFor(field, one)] }; });
  return rows.length > 0 ? rows : [{ name: "Answer", texts: [none] }];
}

function chosenRow(one, asked, given, name) {
  if (given?.sensitive) return { name, texts: [notShown] };
  const ids = given?.selected_option_ids ?? [], options = asked?.options ?? [];
  const label = id => {
    const found = options.find(option => option.id === id);
    return !found ? id : options.filter(other => other.label === found.label).length > 1 ? `${found.label} (${id})` : found.label;
  };
  const texts = [...ids.map(label), ...spoken(given?.freeform_answer) ? [`“${given.freeform_answer}”`] : []];
  return { name, texts: texts.length > 0 ? texts : [none], others: options.map(option => option.id).filter(id => !ids.includes(id)).map(label) };
}

// answerRows returns what was answered, [{name, texts, others}]: by the titles of the form, or by question with the options
// that were not chosen.
export function answerRows(one) {
  const { request, resolution } = one;
  if (resolution.value !== undefined) return typedRows(request, resolution.value);
  const questions = request.questions ?? [], answers = resolution.answers ?? [], of = id => answers.find(given => given.question_id === id);
  return [...questions.map(asked => chosenRow(one, asked, of(asked.id), asked.question === titleOf(one) ? "Answer" : asked.question)),
    ...answers.filter(given => !questions.some(asked => asked.id === given.question_id)).map(given => chosenRow(one, undefined, given, given.question_id))];
}

export const Recorded = ({ one }) => html`<section class="recorded" aria-label="Recorded answer"><h3>Recorded answer</h3><dl class="fields">${answerRows(one).map(({ name, texts, others = [] }) => html`<dt>${marked(name)}</dt>
  <dd>${texts.map(text => html`<div>${marked(text)}</div>`)}${others.length > 0 && html`<small class="quiet">Not chosen: ${marked(others.join(", "))}</small>`}</dd>`)}</dl></section>`;

// AllowedInput is the input that was allowed, where somebody changed it, compared with the one that was asked for.
// A large one waits for a press: it is worked out at once, in one piece.
const shownAtOnce = 16 << 10;
export function AllowedInput({ one: { request, resolution } }) {
  const [all, show] = useState(false);
  const updated = resolution?.outcome === "allowed" ? resolution.updated_input : undefined, whole = request.input && !request.input_truncated;
  const large = updated && updated.text.length + (whole ? request.input.text.length : 0) > shownAtOnce && !all;
  const shown = useMemo(() => {
    if (!updated || large) return null;
    const after = pretty(updated.node);
    return whole ? html`<${Changes} before=${pretty(request.input.node)} after=${after} context=${Infinity} label="Allowed input" />` : html`<pre class="json" aria-label="Allowed input"><code>${marked(after)}</code></pre>`;
  }, [updated, request.input, whole, large, isRoomy()]);
  return updated && html`<section class="recorded" aria-label="Allowed with changes"><h3>What was allowed</h3>
    ${large ? html`<button type="button" class="more" onClick=${() => show(true)}>Show all</button>` : shown}
    ${request.sensitive_paths?.length > 0 && html`<p class="quiet">Sensitive values are not shown here and may have been changed.</p>`}</section>`;
}
