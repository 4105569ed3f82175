// JSON as people read it: highlighted, folded where it is long, compared.

import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { act } from "./guard.js";
import { marked } from "./marks.js";

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

// mostLines are shown of a text at once, as it is rendered.
const mostLines = 24;

// Part is a text that is read before it is allowed. A long one is folded; no box scrolls in itself.
export function Part({ one, cut, unfold, children }) {
  const inner = useRef();
  const [size, setSize] = useState({ lines: 0, height: 0 });
  useLayoutEffect(() => {
    const measure = () => {
      const text = inner.current?.querySelector("pre, blockquote, dl");
      if (!text) return;
      const style = getComputedStyle(text), line = parseFloat(style.lineHeight), around = parseFloat(style.paddingTop) + parseFloat(style.paddingBottom);
      const lines = Math.round((text.clientHeight - around) / line);
      setSize(before => before.lines === lines && before.height === line ? before : { lines, height: line, top: text.offsetTop - inner.current.offsetTop + parseFloat(style.paddingTop) });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(inner.current);
    return () => observer.disconnect();
  }, []);
  const folds = size.lines > mostLines && !one.unfolded;
  const more = size.lines - mostLines;
  return html`<div class=${"part" + (folds ? " folded" : "")} data-part=${folds || cut ? "folded" : "whole"} style=${folds ? { maxHeight: size.top + mostLines * size.height + "px" } : { maxHeight: "none" }}><div ref=${inner}>${children}</div></div>
    ${folds && !cut && html`<button class="more" onClick=${() => { act(one.handle); unfold(); }}>Show ${more} more ${more === 1 ? "line" : "lines"}</button>`}`;
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
export function DiffLines({ lines, label }) {
  const words = { "-": "removed", "+": "added" };
  return html`<pre class="diff" aria-label=${label}><code>${lines.map(([sign, line]) =>
    html`<span class=${"line " + (words[sign] ?? "same")}>${marked(line)}\n</span>`)}</code></pre>`;
}

export function Changes({ before, after, context, label }) {
  return html`<${DiffLines} label=${label} lines=${difference(before, after, context).map(([sign, line]) => [sign, sign + " " + line])} />`;
}
