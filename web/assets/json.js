// JSON as people read it: highlighted, folded where it is long.

import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { act } from "./guard.js";
import { marked } from "./marks.js";
import { size } from "./words.js";

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

const indent = line => /^ */.exec(line)[0].length / 2;

// depthOf counts the levels of JSON that is written with an indent of two.
export const depthOf = text => text.split("\n").reduce((most, line) => Math.max(most, indent(line)), 0);

// toLevel leaves out what is deeper than a level: its first line says how many lines.
export function toLevel(text, level) {
  const lines = [];
  let left = 0;
  for (const line of text.split("\n")) {
    if (indent(line) > level) { left++; continue; }
    if (left > 0) { lines[lines.length - 1] += ` … ${left} ${left === 1 ? "line" : "lines"} … ${line.trimStart()}`; left = 0; } else lines.push(line);
  }
  return lines.join("\n");
}

// Beginning is the beginning of a text that is too long to be drawn, and a button for the whole.
export function Beginning({ one, text, bytes, label, unfold }) {
  return html`<${Part} one=${one} cut><pre class="json cut" aria-label=${label}><code>${marked(text.slice(0, 1200).split("\n").slice(0, 20).join("\n"))}…</code></pre><//>
    <button type="button" class="more" onClick=${unfold}>Show all (${size(bytes)})</button>`;
}

// mostLines are shown of a text at once, as it is rendered.
const mostLines = 24;

// Part is a text that is read before it is allowed. A long one is folded; no box scrolls in itself. Of one that is shut
// something is left out.
export function Part({ one, cut, shut, unfold, children }) {
  const inner = useRef();
  const [size, setSize] = useState({ lines: 0, height: 0 });
  useLayoutEffect(() => {
    const measure = () => {
      const text = inner.current?.querySelector("pre, blockquote, dl");
      if (!text) { setSize({ lines: 0, height: 0 }); return; }
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
  return html`<div class=${"part" + (folds ? " folded" : "")} data-part=${shut ? "shut" : folds || cut ? "folded" : "whole"} style=${folds ? { maxHeight: size.top + mostLines * size.height + "px" } : { maxHeight: "none" }}><div ref=${inner}>${children}</div></div>
    ${folds && !cut && html`<button type="button" class="more" onClick=${() => { act(one.handle); unfold(); }}>Show ${more} more ${more === 1 ? "line" : "lines"}</button>`}`;
}
