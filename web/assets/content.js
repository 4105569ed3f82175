// What an input says, by its kind: a command as a command line, a change of a file as a diff, a message as one, the
// rest as a table or as JSON. Nothing of an input is left out.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { Changes, Patch } from "./diff.js";
import { pretty } from "./exact.js";
import { highlighted } from "./json.js";
import { describe, scalarText, titleOf } from "./kinds.js";
import { marked } from "./marks.js";

// separators begin another command on the same line.
const separators = /(\|\|?|&&?|;|\n)/;
const commandText = command => command.split(separators).map((piece, i) => i % 2 && piece !== "\n" ? html`<b class="then">${piece}</b>` : marked(piece));

const scalar = node => node.kind !== "object" && node.kind !== "array";
const shown = node => node.kind === "string" ? (node.value === "" ? html`<span class="json-word">""</span>` : marked(node.value)) : html`<span class=${node.kind === "number" ? "json-number" : "json-word"}>${scalarText(node)}</span>`;

// Fields shows members as a table, named by the titles of their schema.
const Fields = ({ members, request, label }) => html`<dl class="fields" aria-label=${label}>${members.map(([name, node]) =>
  html`<dt title=${name}>${marked(titleOf(request, name))}</dt><dd>${shown(node)}</dd>`)}</dl>`;

const json = (tree, label, wrap) => wrap(html`<pre class="json" aria-label=${label}><code>${highlighted(pretty(tree))}</code></pre>`);

// rest shows the members that a kind does not lay out.
function rest(node, request, wrap) {
  if (!node) return null;
  if (node.kind !== "object") return json(node, "Input as JSON", wrap);
  const scalars = node.members.filter(([, one]) => scalar(one)), others = node.members.filter(([, one]) => !scalar(one));
  return html`${scalars.length > 0 && wrap(html`<${Fields} members=${scalars} request=${request} label="Other members of the input" />`)}
    ${others.length > 0 && json({ kind: "object", members: others }, "Other members of the input, as JSON", wrap)}`;
}

const File = ({ path }) => path && html`<p class="file"><code>${marked(path)}</code></p>`;
const text = (value, label) => html`<pre aria-label=${label}><code>${marked(value)}</code></pre>`;

// Content shows an input; wrap is given each text of it.
export function Content({ about, request, wrap = one => one }) {
  const others = rest(about.rest, request, wrap);
  switch (about.kind) {
    case "command": return html`${wrap(html`<pre class="command" aria-label="Command"><code>${commandText(about.command)}</code></pre>`)}${others}`;
    case "edit": return html`${about.path && wrap(html`<${File} path=${about.path} />`)}${others}${about.changes.map(one =>
      html`${wrap(html`<${Changes} before=${one.before} after=${one.after} context=${Infinity} label="Change of the file" />`)}${one.others?.members.length > 0 && rest(one.others, request, wrap)}`)}`;
    case "patch": return html`${others}${about.files.map(file => html`${about.files.length > 1 && wrap(html`<${File} path=${file.path} />`)}${wrap(html`<${Patch} label="Change of the file" text=${file.text} />`)}`)}`;
    case "write": return html`${wrap(html`<${File} path=${about.path} />`)}${others}${wrap(text(about.content, "Content of the file"))}`;
    case "url": return html`${wrap(html`<p class="url"><b>${marked(about.host)}</b></p>`)}${wrap(text(about.url, "Address"))}${others}`;
    case "message": return html`${wrap(html`<dl class="fields"><dt>To</dt><dd>${marked(about.to)}</dd>${about.subject !== undefined && html`<dt>Subject</dt><dd>${marked(about.subject)}</dd>`}</dl>`)}
      ${wrap(html`<pre class="letter" aria-label="Message">${marked(about.body)}</pre>`)}${others}`;
    case "money":
    case "flat": return wrap(html`<${Fields} members=${about.fields} request=${request} label="Input" />`);
  }
  return about.rest && json(about.rest, "Input as JSON", wrap);
}

// InputView shows a value of the service by itself, for example the output of a run.
export function InputView({ value }) {
  if (value === undefined) return null;
  const request = { tool_name: "", input: value }, about = describe(request);
  return html`${about.said.map(one => html`<blockquote>${marked(one)}</blockquote>`)}<${Content} about=${about} request=${request} />`;
}
