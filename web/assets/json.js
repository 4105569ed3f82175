// JSON as people read it: highlighted, folded, compared.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { marked } from "./marks.js";

const limits = { bytes: 4096, lines: 40, members: 200 };

export const pretty = value => JSON.stringify(value, null, 2);

function members(value) {
  if (value === null || typeof value !== "object") return 0;
  return Object.values(value).reduce((sum, one) => sum + 1 + members(one), 0);
}

// foldable reports whether an input is too long to be shown at once.
export function foldable(value) {
  const text = pretty(value);
  return new TextEncoder().encode(text).length > limits.bytes || text.split("\n").length > limits.lines || members(value) > limits.members
    || typeof value?.command === "string" && value.command.split("\n").length > limits.lines;
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export function highlighted(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(token)) {
    parts.push(text.slice(from, match.index));
    const kind = match[2] ? "key" : match[1] ? "string" : /^[tfn]/.test(match[0]) ? "word" : "number";
    parts.push(html`<span class=${"json-" + kind}>${marked(match[1] ?? match[0])}</span>`, match[2] ?? "");
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

// The members by which agents say that one text takes the place of another.
const replacements = [["old_string", "new_string"], ["old_str", "new_str"], ["old_text", "new_text"], ["oldText", "newText"]];

// replacement returns {before, after, others} of an input that replaces a text, else null.
function replacement(value) {
  for (const [old, fresh] of replacements) {
    if (typeof value?.[old] !== "string" || typeof value[fresh] !== "string") continue;
    const { [old]: before, [fresh]: after, ...others } = value;
    return { before, after, others };
  }
  return null;
}

const isPatch = text => typeof text === "string" && /^(?:---|\+\+\+|@@|diff |\*\*\* )/m.test(text) && /^[-+]/m.test(text);

const rest = others => Object.keys(others).length > 0
  && html`<pre class="json" tabindex="0" aria-label="Other members of the input"><code>${highlighted(pretty(others))}</code></pre>`;

// InputView shows an input whole: a command as a command line, a change of a file as a diff, the
// rest as JSON.
export function InputView({ value }) {
  const object = value && typeof value === "object" && !Array.isArray(value) ? value : {};
  const change = replacement(object);
  if (change) return html`${rest(change.others)}<${Changes} before=${change.before} after=${change.after} context=${Infinity} label="Change of the file" />`;
  if (Array.isArray(object.edits) && object.edits.length > 0 && object.edits.every(replacement)) {
    const { edits, ...others } = object;
    return html`${rest(others)}${edits.map(replacement).map(one => html`<${Changes} before=${one.before} after=${one.after} context=${Infinity} label="Change of the file" />${rest(one.others)}`)}`;
  }
  for (const name of ["patch", "diff"]) {
    if (!isPatch(object[name])) continue;
    const { [name]: patch, ...others } = object;
    return html`${rest(others)}<${DiffLines} label="Change of the file" lines=${patch.split("\n").map(line => [/^(?:\+\+\+|---)/.test(line) ? "" : line[0], line])} />`;
  }
  if (typeof object.command === "string") {
    const { command, ...others } = object;
    return html`<pre class="command" tabindex="0" aria-label="Command"><code>${marked(command)}</code></pre>${rest(others)}`;
  }
  return html`<pre class="json" tabindex="0" aria-label="Input as JSON"><code>${highlighted(pretty(value))}</code></pre>`;
}

// difference returns [" "|"-"|"+", line] of two texts, with so many equal lines around what differs.
export function difference(before, after, context = 3) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const middle = [];
  if (x.length * y.length > 1_000_000) {
    middle.push(...x.map(line => ["-", line]), ...y.map(line => ["+", line]));
  } else {
    const length = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1));
    for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--)
      length[i][j] = x[i] === y[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    let i = 0, j = 0;
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) { middle.push([" ", x[i]]); i++; j++; }
      else if (j >= y.length || i < x.length && length[i + 1][j] >= length[i][j + 1]) middle.push(["-", x[i++]]);
      else middle.push(["+", y[j++]]);
    }
  }
  return [...a.slice(Math.max(0, head - context), head).map(line => [" ", line]), ...middle,
    ...a.slice(a.length - tail, a.length - tail + context).map(line => [" ", line])];
}

// DiffLines shows lines by their sign; what stands for the sign in the text is shown as well.
function DiffLines({ lines, label }) {
  const words = { "-": "removed", "+": "added" };
  return html`<pre class="diff" tabindex="0" aria-label=${label}><code>${lines.map(([sign, line]) =>
    html`<span class=${"line " + (words[sign] ?? "same")}>${marked(line)}\n</span>`)}</code></pre>`;
}

export function Changes({ before, after, context, label }) {
  return html`<${DiffLines} label=${label} lines=${difference(before, after, context).map(([sign, line]) => [sign, sign + " " + line])} />`;
}
