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

// InputView shows an input whole: a command as a command line, the rest as JSON.
export function InputView({ value }) {
  if (value && typeof value === "object" && typeof value.command === "string") {
    const { command, ...others } = value;
    return html`<pre class="command" tabindex="0" aria-label="Command"><code>${marked(command)}</code></pre>
      ${Object.keys(others).length > 0 && html`<pre class="json" tabindex="0" aria-label="Other members of the input"><code>${highlighted(pretty(others))}</code></pre>`}`;
  }
  return html`<pre class="json" tabindex="0" aria-label="Input as JSON"><code>${highlighted(pretty(value))}</code></pre>`;
}

// difference returns [" "|"-"|"+", line] of two texts.
export function difference(before, after) {
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
  const context = 3;
  return [...a.slice(Math.max(0, head - context), head).map(line => [" ", line]), ...middle,
    ...a.slice(a.length - tail, a.length - tail + context).map(line => [" ", line])];
}

export function Changes({ before, after }) {
  const words = { "-": "removed", "+": "added" };
  return html`<pre class="diff" tabindex="0"><code>${difference(before, after).map(([sign, line]) =>
    html`<span class=${"line " + (words[sign] ?? "same")}>${sign} ${marked(line)}\n</span>`)}</code></pre>`;
}
