// What is remarked on a request: each level has a sign and a word. The text is the agent's, unless a standing rule made it.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { Icon } from "./icons.js";
import { marked } from "./marks.js";

const levels = { __proto__: null, info: "Note", warn: "Warning", danger: "Danger" };
const order = ["danger", "warn", "info"];

// worst returns the highest level among a request's hints, undefined without any.
export const worst = ({ hints = [] }) => order.find(level => hints.some(hint => hint.level === level));

// wordOf is the level's word, for names.
export const wordOf = level => levels[level] ?? "";

const Level = ({ level }) => html`<span class=${"flag " + level}><${Icon} name=${level} />${levels[level]}</span>`;

// Flag is the highest level in a row: a note is left to the detail.
export function Flag({ request }) {
  const level = worst(request);
  if (!level || level === "info") return null;
  return html`<${Level} level=${level} /> `;
}

// Hints begin with a link if a rule made them: no text of an agent looks like it.
export function Hints({ request }) {
  const hints = (request.hints ?? []).filter(hint => levels[hint.level]);
  return hints.length > 0 && html`<ul class="hints">${hints.map(({ level, text, rule_id: rule }) => html`<li>${rule && html`<a href="/rules">Rule</a> `}<${Level} level=${level} /> ${marked(text)}</li>`)}</ul>`;
}
