// Text of agents, with marks for what cannot be seen, changes how the rest is shown, or looks like something else.

import { lookAlikes } from "./lookalikes.js";
import { html } from "./vendor/htm-preact-standalone-3.1.1.js";

// hidden are control characters, direction marks, fillers and the blanks that are not a plain space.
const hidden = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]/u;
// A flood of marks on one letter covers the text around it, and runs out of the page in a line that nothing breaks. No
// language needs so many.
const all = new RegExp(`(?<flood>(?<=\\p{M}{8})\\p{M}+)|${hidden.source}`, "gu");
const emoji = /\p{Extended_Pictographic}|\ufe0f|\p{Emoji_Modifier}/u;
const joins = /\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Nko}/u;
const wide = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\u3001-\u303f\uff01-\uff60]/u;

function harmless(text, at) {
  const c = text[at];
  if (c === "\n" || c === "\t") return true;
  const before = [...text.slice(Math.max(0, at - 2), at)].pop() ?? "", after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  if (c === "\u200d") return emoji.test(before) && emoji.test(after);
  if (c === "\u200c") return joins.test(before) && joins.test(after);
  if (c === "\u3000") return wide.test(before) || wide.test(after);
  if (c === "\u00a0" || c === "\u202f") return before === "«" || /[?!:»%€]/.test(after) || /\d/.test(before) && /\d/.test(after);
  return c === "\ufe0f" && /\p{Emoji}/u.test(before);
}

const floodWords = flood => { const { length } = [...flood]; return `${length} more ${length === 1 ? "mark" : "marks"}`; };
const code = c => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

// marksOf returns {at, text, title} of each place of a text that is marked. Several equal characters in a row are one place.
function marksOf(text) {
  const marks = [];
  for (const [at, like] of lookAlikes(text)) {
    const one = String.fromCodePoint(text.codePointAt(at));
    marks.push({ at, text: `${one} ${code(one)}`, length: one.length, title: like ? `Not the letter “${like}”: it only looks like it` : "A character that looks like another" });
  }
  let last;
  for (const { 0: c, index: at, groups: { flood } } of /[^\n\t -~]/.test(text) ? text.matchAll(all) : []) {
    if (flood) marks.push({ at, text: floodWords(flood), length: flood.length, title: "Marks on one letter, which cover the text around it" });
    else if (harmless(text, at)) continue;
    else if (last?.c === c && last.at + last.length === at) {
      last.length += c.length;
      last.text = `${code(c)} ×${last.length / c.length}`;
    } else marks.push(last = { at, c, text: code(c), length: c.length, title: "An invisible character" });
  }
  return marks.sort((a, b) => a.at - b.at);
}

// mostElements are the marks of a text that are elements: a browser lays out no hundred thousand. The others stand in brackets.
const mostElements = 2000;

// marked returns the text with a mark for each hidden character and each look-alike. Ranges of it, in their order, stand out.
export function marked(text, ranges = []) {
  text = String(text);
  const marks = marksOf(text);
  if (marks.length === 0 && ranges.length === 0) return text;
  const parts = [];
  const push = (from, to) => {
    for (const [a, b] of ranges) {
      if (b <= from || a >= to) continue;
      parts.push(text.slice(from, Math.max(a, from)), html`<b class="word">${text.slice(Math.max(a, from), Math.min(b, to))}</b>`);
      from = Math.min(b, to);
    }
    parts.push(text.slice(from, to));
  };
  let from = 0, rest = "";
  for (const [i, one] of marks.entries()) {
    if (i < mostElements) {
      push(from, one.at);
      parts.push(html`<span class="mark" title=${one.title}>${one.text}</span>`);
    } else rest += `${text.slice(from, one.at)}[${one.text}]`;
    from = one.at + one.length;
  }
  parts.push(rest);
  push(from, text.length);
  return parts;
}

// plain is marked for names that are attributes and cannot have elements.
export function plain(text) {
  text = String(text).replace(all, (c, flood, at, whole) => flood ? `[${floodWords(flood)}]` : harmless(whole, at) && c !== "\n" && c !== "\t" ? c : `[${code(c)}]`);
  const likes = lookAlikes(text);
  return likes.size === 0 ? text : text.replace(/[^\x00-\x7f]/gu, (c, at) => likes.has(at) ? `[${c} ${code(c)}]` : c);
}

// escaped returns JSON text in which hidden characters and look-alikes are JSON escapes: the value is the same.
export function escaped(json) {
  const likes = lookAlikes(json), escape = c => [...Array(c.length).keys()].map(i => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join("");
  return json.replace(/[^ -~]/gu, (c, at) => c !== "\n" && c !== "\t" && (likes.has(at) || hidden.test(c)) ? escape(c) : c);
}
