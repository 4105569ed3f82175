// A change of a text: removed and added lines with their numbers, the words that differ marked. Where there is room, what
// was stands next to what will be.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { difference, numbered, paired, patchLines } from "./difference.js";
import { marked } from "./marks.js";
import { isRoomy } from "./screen.js";

const kinds = { "-": "removed", "+": "added", "@": "head" };

// Line shows its number by style: what is selected or searched is the text alone.
function Line({ line, number }) {
  if (!line) return html`<span class="line none"></span>`;
  const { sign, text, ranges = [] } = line;
  return html`<span class=${"line " + (kinds[sign] ?? "same")} data-n=${number || null}>${sign === "@" ? "" : sign + " "}${marked(text, ranges)}\n</span>`;
}

function Lines({ lines, label, changes }) {
  const rows = paired(lines, changes), counts = lines.some(({ old, now }) => old || now), width = String(lines.reduce((most, { old, now }) => Math.max(most, old, now), 0)).length;
  const split = isRoomy() && lines.some(({ sign }) => sign === "-") && lines.some(({ sign }) => sign === "+");
  return html`<pre class=${"diff" + (counts ? " counted" : "") + (split ? " split" : "")} style=${{ "--digits": width + "ch" }} aria-label=${label}><code>${split
    ? rows.map(([before, after]) => before === after && before.sign === "@" ? html`<${Line} line=${before} />` : html`<span class="pair"><${Line} line=${before} number=${before?.old} /><${Line} line=${after} number=${after?.now} /></span>`)
    : lines.map(line => html`<${Line} line=${line} number=${line.sign === "-" ? line.old : line.now} />`)}</code></pre>`;
}

// Changes compares two texts, with so many equal lines around what differs. Lines are counted from the beginning of the text.
export function Changes({ before, after, context, label, changes }) {
  const lines = difference(before, after, context, changes);
  return html`<${Lines} label=${label} changes=${changes} lines=${context === Infinity ? numbered(lines) : lines.map(([sign, text]) => ({ sign, text, old: 0, now: 0 }))} />`;
}

export const Patch = ({ text, label }) => html`<${Lines} label=${label} lines=${patchLines(text)} />`;
