// What the text of a rule is made of: the service's words, quoted texts of callers, ids, digests and times.

import { nameOfAgent as nameOfID, shortID } from "./groups.js";

const part = /(?<quoted>"(?:[^"\\]|\\.)*(?:"|$))|(?<=, in session |, for agent )(?<id>[^\s",]*[^\s",.])|(?<digest>sha256:[0-9a-f]{64})|(?<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/g;

// partsOf returns the parts of a text of the service: {text}, {text, short} or {text, time}. An input that the service has cut
// has an open quote. Its end is known by the digest after it, which no input can hold of itself.
export function partsOf(text, digest) {
  const cut = digest ? /… \(cut, \d+ bytes in all, $/.exec(text.split(digest)[0])?.index ?? 0 : 0;
  return [...cutInto(text.slice(0, cut)), ...cutInto(text.slice(cut))];
}

function cutInto(text) {
  const parts = [];
  let from = 0;
  for (const { 0: found, index, groups: { quoted, id, digest, time } } of text.matchAll(part)) {
    const before = text.slice(from, index), call = quoted && before.endsWith("for the one call ") && nameOfID(quoted.slice(1, -1));
    parts.push({ text: before }, {
      text: found, ...time && { time: Date.parse(time) }, ...digest && { short: shortID(digest) }, ...id && { short: nameOfID(id) }, ...call && { short: `"${call}"` },
    });
    from = index + found.length;
  }
  return [...parts, { text: text.slice(from) }].filter(one => one.text);
}
