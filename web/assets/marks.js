// Text of agents, with what cannot be seen, or changes how the rest is shown, as marks.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const all = new RegExp(hidden.source, "gu");
const emoji = /\p{Extended_Pictographic}|\ufe0f|\p{Emoji_Modifier}/u;
const arabic = /\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Nko}/u;

function harmless(text, at) {
  const c = text[at];
  if (c === "\n" || c === "\t") return true;
  const before = [...text.slice(Math.max(0, at - 2), at)].pop() ?? "", after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  if (c === "\u200d") return emoji.test(before) && emoji.test(after);
  if (c === "\u200c") return arabic.test(before) && arabic.test(after);
  return c === "\ufe0f" && /\p{Emoji}/u.test(before);
}

const code = c => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

// marked returns the text with a mark for each hidden character.
export function marked(text) {
  text = String(text);
  if (!hidden.test(text)) return text;
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(all)) {
    if (harmless(text, match.index)) continue;
    parts.push(text.slice(from, match.index), html`<span class="mark" title="An invisible character">${code(match[0])}</span>`);
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

// plain is marked for names that are attributes and cannot have elements.
export function plain(text) {
  text = String(text);
  return text.replace(all, (c, at) => harmless(text, at) && c !== "\n" && c !== "\t" ? c : `[${code(c)}]`);
}

// escaped returns JSON text in which hidden characters are JSON escapes: the value is the same.
export function escaped(json) {
  return json.replace(all, c => c === "\n" || c === "\t" ? c : [...Array(c.length).keys()].map(i => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join(""));
}
