// What an input says, by its kind: a command as a command line, a change of a file as a diff, a message as one, the
// rest as a table or as JSON. Nothing of an input is left out.

import { html, useMemo } from "./vendor/htm-preact-standalone-3.1.1.js";
import { Changes, Patch } from "./diff.js";
import { pretty } from "./exact.js";
import { depthOf, highlighted, toLevel } from "./json.js";
import { blankWords, changeWords, contentWords, describe, environment, fileWords, scalar, scalarText, separators, titleOf } from "./kinds.js";
import { marked } from "./marks.js";
import { isRoomy } from "./screen.js";
import { spoken } from "./words.js";

const nextWord = /^(\s*)(\S+)/;
// The first word after a separator is marked as well.
const commandText = command => command.split(separators).map((piece, i) => {
  if (i % 2) return piece === "\n" ? piece : html`<b class="then">${piece}</b>`;
  const next = i > 0 && nextWord.exec(piece);
  return next ? html`${next[1]}<b>${marked(next[2])}</b>${marked(piece.slice(next[0].length))}` : marked(piece);
});

// said is a text. One with nothing to see in it stands in quotation marks.
const said = text => spoken(text) ? marked(text) : html`<span class="json-word">${JSON.stringify(text)}</span>`;
const shown = node => node.kind === "string" ? said(node.value) : node.kind === "hidden" ? html`<span class="quiet">${node.text}</span>` : html`<span class=${node.kind === "number" ? "json-number" : "json-word"}>${scalarText(node)}</span>`;

// Fields shows members as a table, named by the titles of their schema.
const Fields = ({ members, request, label }) => html`<dl class="fields" aria-label=${label}>${members.map(([name, node]) =>
  html`<dt title=${name}>${marked(titleOf(request, name))}</dt><dd>${shown(node)}</dd>`)}</dl>`;

// Levels chooses how deep JSON is shown. What is left out was not read.
function Levels({ depth, fold }) {
  const levels = Array.from({ length: Math.min(depth - 1, mostLevels) }, (_, i) => [i + 1, String(i + 1)]);
  return html`<p class="levels" role="group" aria-label="Levels">Levels${[...levels, [Infinity, "All"]].map(([level, name]) =>
    html`<button type="button" class="link" aria-pressed=${String(fold.level === level)} onClick=${() => fold.toLevel(level)}>${name}</button>`)}</p>`;
}
const mostLevels = 5;

function json(tree, label, wrap, fold) {
  const text = pretty(tree), depth = depthOf(text), level = fold && depth > 2 ? fold.level : Infinity;
  return html`${fold && depth > 2 && html`<${Levels} depth=${depth} fold=${fold} />`}
    ${wrap(html`<pre class="json" aria-label=${label}><code>${highlighted(toLevel(text, level))}</code></pre>`, level < depth)}`;
}

// rest shows the members that a kind does not lay out.
function rest(node, request, wrap, fold) {
  if (!node) return null;
  if (node.kind !== "object") return json(node, "Input as JSON", wrap, fold);
  const scalars = node.members.filter(([, one]) => scalar(one)), others = node.members.filter(([, one]) => !scalar(one));
  return html`${scalars.length > 0 && wrap(html`<${Fields} members=${scalars} request=${request} label="Other members of the input" />`)}
    ${others.length > 0 && json({ kind: "object", members: others }, "Other members of the input, as JSON", wrap, fold)}`;
}

// withCommand shows what goes with a command: in a line where it is short.
const shortText = 200;
function withCommand(node, request, wrap, fold) {
  const texts = node?.members?.map(([name, one]) => [name, scalar(one) ? scalarText(one) : name === "env" ? environment(one) : undefined]) ?? [];
  const short = texts.every(([, text]) => spoken(text) && !text.includes("\n")) && texts.flat().join("").length <= shortText;
  if (texts.length === 0 || !short) return rest(node, request, wrap, fold);
  return wrap(html`<dl class="with-command" aria-label="Other members of the input">${texts.map(([name, text]) => html`<div><dt title=${name}>${marked(titleOf(request, name))}</dt> <dd>${marked(text)}</dd></div>`)}</dl>`);
}

const File = ({ path }) => html`<p class="file"><code>${said(path)}</code></p>`;
const text = (value, label) => html`<pre aria-label=${label}><code>${marked(value)}</code></pre>`;

// orBlank is a text in its box. A box with nothing to see in it says so; an empty text has none.
const Says = ({ words }) => words && html`<p class="file quiet">${words}</p>`;
const orBlank = (value, of, box) => html`<${Says} words=${blankWords(value, of)} />${value !== "" && box}`;

// FileHead is the heading of one of the files of a patch. Its button folds the file.
const FileHead = ({ file, n, of, fold }) => html`<h3 class="file">${fold && of > 1 && html`<button type="button" class="link" aria-label=${`File ${n} of ${of}`} aria-expanded=${String(!fold.isShut(n))} onClick=${() => fold.toggle(n)}>${fold.isShut(n) ? "▸" : "▾"}</button> `}<code>${marked(file.path)}</code>
  <span class="n">${fileWords(file)}</span></h3>`;

function files(about, wrap, fold) {
  const of = about.files.length;
  return about.files.map((file, i) => html`${file.path && wrap(html`<${FileHead} file=${file} n=${i + 1} of=${of} fold=${fold} />`)}
    ${wrap(fold?.isShut(i + 1) ? html`<p class="quiet">Folded</p>` : html`<${Patch} label="Change of the file" text=${file.text} />`, fold?.isShut(i + 1))}`);
}

// Content shows an input. wrap is given each text of it, and whether some of the text is folded away; fold says what is.
export function Content({ about, request, wrap = one => one, fold }) {
  const others = (about.kind === "command" ? withCommand : rest)(about.rest, request, wrap, fold);
  switch (about.kind) {
    case "command": return html`${wrap(orBlank(about.command, "command", html`<pre class="command" aria-label="Command"><code>${commandText(about.command)}</code></pre>`))}${others}`;
    case "edit": return html`${about.path !== undefined && wrap(html`<${File} path=${about.path} />`)}${others}${about.changes.map(one =>
      html`${wrap(html`<${Says} words=${changeWords(one)} />${one.before + one.after !== "" && html`<${Changes} before=${one.before} after=${one.after} context=${Infinity} label="Change of the file" changes=${about.changes.length} />`}`)}${one.others?.members.length > 0 && rest(one.others, request, wrap)}`)}`;
    case "patch": return html`${others}${files(about, wrap, fold)}`;
    case "write": return html`${wrap(html`<p class="file"><code>${said(about.path)}</code> <span class="quiet">${contentWords(about)}</span></p>`)}${others}${wrap(orBlank(about.content, "file", text(about.content, "Content of the file")))}`;
    case "url": return html`${wrap(html`<p class="url">${about.method && html`${marked(about.method)} to `}<b>${marked(about.host)}</b></p>`)}${wrap(text(about.url, "Address"))}${others}`;
    case "message": return html`${wrap(html`<dl class="fields"><dt>To</dt><dd>${said(about.to)}</dd>${about.copies.map(([name, names]) => html`<dt>${name.charAt(0).toUpperCase() + name.slice(1).toLowerCase()}</dt><dd>${said(names)}</dd>`)}${about.subject !== undefined && html`<dt>Subject</dt><dd>${said(about.subject)}</dd>`}</dl>`)}
      ${wrap(orBlank(about.body, "message", html`<pre class="letter" aria-label="Message">${marked(about.body)}</pre>`))}${others}`;
    case "money":
    case "flat": return wrap(html`<${Fields} members=${about.fields} request=${request} label="Input" />`);
  }
  return about.rest && json(about.rest, "Input as JSON", wrap, fold);
}

// InputView shows a value of the service by itself, for example the output of a run. It is drawn once, however often the
// page reads the value.
export const InputView = ({ value }) => useMemo(() => {
  const request = { tool_name: "", input: value }, about = describe(request);
  return html`${about.said.filter(spoken).map(one => html`<blockquote>${marked(one)}</blockquote>`)}<${Content} about=${about} request=${request} />`;
}, [value.text, isRoomy()]);
