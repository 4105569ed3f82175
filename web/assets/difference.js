// What differs between two texts: by lines, and in lines that stand for each other by words.

// linesOf returns the lines of a text. An empty one has none.
export const linesOf = text => text === "" ? [] : text.split("\n");

const mostCells = 1_000_000, mostTogether = 4_000_000; // compared line by line, or word by word, in one change and in all of an input

// difference returns [" "|"-"|"+", line] of two texts, with so many equal lines around what differs. It is one of so many changes.
export function difference(before, after, context = 3, changes = 1) {
  const a = linesOf(before), b = linesOf(after);
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const middle = [];
  if (x.length * y.length > Math.min(mostCells, mostTogether / changes)) {
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

// numbered returns {sign, text, old, now} of each line, with its number in the text before and in the text after.
export function numbered(lines, old = 1, now = 1) {
  return lines.map(([sign, text]) => ({ sign, text, old: sign === "+" ? 0 : old++, now: sign === "-" ? 0 : now++ }));
}

// heads are the lines before the hunks of a file.
const heads = /^(?:\+\+\+|---|@@|diff |index |\*\*\* |(?:old|new|new file|deleted file) mode \d|(?:dis)?similarity index \d|(?:rename|copy) (?:from|to) |Binary files |GIT binary patch)/;

// patchLines returns the same of a patch. Lines outside of a file have no numbers; the lines of a hunk have them if its
// head says where it is. The text of a line is without its sign.
export function patchLines(patch) {
  let old = 0, now = 0, body = 0; // body is how many lines of the hunk the head has promised: none of them is a head
  let marked = false; // a patch that marks its files by "***" counts no lines, and only its marks are heads
  return patch.split("\n").map(text => {
    marked = body <= 0 && /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )/.test(text) || marked;
    if (marked) {
      if (/^(?:\*\*\* |@@)/.test(text)) return { sign: "@", text, old: 0, now: 0 };
      return /^[-+ ]/.test(text) ? { sign: text[0], text: text.slice(1), old: 0, now: 0 } : { sign: " ", text, old: 0, now: 0 };
    }
    const head = body <= 0 && /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (head) { old = Number(head[1]); now = Number(head[3]); body = Number(head[2] ?? 1) + Number(head[4] ?? 1); return { sign: "@", text, old: 0, now: 0 }; }
    if (body <= 0 && heads.test(text)) { old = now = 0; return { sign: "@", text, old: 0, now: 0 }; }
    if (text.startsWith("\\")) return { sign: "@", text, old: 0, now: 0 }; // "No newline at end of file"
    const sign = "+-".includes(text[0]) && text !== "" ? text[0] : " ";
    body -= sign === " " ? 2 : 1;
    const has = sign !== " " || text.startsWith(" "), line = has ? text.slice(1) : text;
    return { sign, text: line, old: old && sign !== "+" ? old++ : 0, now: now && sign !== "-" ? now++ : 0 };
  });
}

const word = /[\p{L}\p{N}\p{M}_]+|\s+|[^]/gu;
const mostWords = 200, leastCommon = 0.3; // of the longer line, so that marks help

// differingRanges returns the ranges of two lines that differ, [[[from, to]], [[from, to]]]; none where little is common, or
// where spends refuses to compare so many words with each other.
export function differingRanges(a, b, spends = () => true) {
  const x = a.match(word) ?? [], y = b.match(word) ?? [];
  if (x.length === 0 || y.length === 0 || x.length > mostWords || y.length > mostWords || !spends(x.length * y.length)) return [[], []];
  const length = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1)), size = one => one.trim().length;
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--)
    length[i][j] = x[i] === y[j] ? length[i + 1][j + 1] + size(x[i]) : Math.max(length[i + 1][j], length[i][j + 1]);
  if (length[0][0] < leastCommon * Math.max(size(a), size(b))) return [[], []];
  const ranges = [[], []], at = [0, 0];
  const differs = (side, text) => {
    const last = ranges[side].at(-1), from = at[side];
    at[side] += text.length;
    if (last?.[1] === from) last[1] = at[side]; else ranges[side].push([from, at[side]]);
  };
  for (let i = 0, j = 0; i < x.length || j < y.length;) {
    if (i < x.length && j < y.length && x[i] === y[j]) { at[0] += x[i++].length; at[1] += y[j++].length; }
    else if (j >= y.length || i < x.length && length[i + 1][j] >= length[i][j + 1]) differs(0, x[i++]);
    else differs(1, y[j++]);
  }
  return ranges;
}

// paired returns rows of lines that stand next to each other, [[before, after]]: a removed line and the added one that
// takes its place, which get the ranges that differ; an equal line twice; or one alone. The lines are of one of so many changes.
export function paired(lines, changes = 1) {
  const rows = [];
  let left = mostTogether / changes;
  const spends = cells => (left -= cells) >= 0;
  for (let i = 0; i < lines.length;) {
    if (lines[i].sign !== "-" && lines[i].sign !== "+") { rows.push([lines[i], lines[i]]); i++; continue; }
    const removed = [], added = [];
    while (lines[i]?.sign === "-") removed.push(lines[i++]);
    while (lines[i]?.sign === "+") added.push(lines[i++]);
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      const row = [removed[n], added[n]];
      if (row[0] && row[1]) [row[0].ranges, row[1].ranges] = differingRanges(row[0].text, row[1].text, spends);
      rows.push(row);
    }
  }
  return rows;
}
