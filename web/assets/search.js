// Words in requests. A list has the beginning of a long input; its rest is read when a person asks for it, and kept here.

const readAtOnce = 4, mostRead = 200, mostReadBytes = 16 << 20; // by one press
const mostKept = 64 << 20; // characters; beyond that the oldest texts go first

export const longestSearch = 1000; // characters; the address has them, and the service limits it

const whole = new Map(); // the whole inputs that were read, by handle, in lower case
let kept = 0;

// keepWhole makes a whole input searchable.
export function keepWhole(handle, text) {
  kept += text.length - (whole.get(handle)?.length ?? 0);
  whole.delete(handle);
  whole.set(handle, text.toLowerCase());
  for (const [oldest, { length }] of whole) {
    if (kept <= mostKept || oldest === handle) break;
    kept -= length;
    whole.delete(oldest);
  }
}

// wordsOf returns the same list for the same text, so that what was found for it is known.
const none = [];
let last = { text: "", words: none };
export function wordsOf(text) {
  if (text === "") return none;
  if (last.text !== text) last = { text, words: text.toLowerCase().split(/\s+/).filter(Boolean) };
  return last.words;
}

// hasAll reports whether a request has all words. Its text is looked through once for a list of words: the page asks again
// each time that it is drawn.
export function hasAll(one, words) {
  if (words.length === 0) return true;
  const rest = whole.get(one.handle);
  if (one.found?.words !== words || one.found.rest !== rest)
    one.found = { words, rest, all: words.every(word => one.text.includes(word) || rest?.includes(word)) };
  return one.found.all;
}

// inPart returns those of which only the beginning was searched, without all words.
export const inPart = (list, words) => words.length === 0 ? [] : list.filter(one => one.request.input_truncated && !whole.has(one.handle) && !hasAll(one, words));

// readWhole reads whole inputs, up to the limits of one press. read(handle) returns an input as text, undefined when
// there is none any more. onRead is told after each; the first failure ends it.
export async function readWhole(list, read, onRead = () => {}) {
  const queue = [];
  let bytes = 0;
  for (const one of list) {
    if (queue.length === mostRead || queue.length > 0 && bytes + one.request.input_bytes > mostReadBytes) break;
    bytes += one.request.input_bytes;
    queue.push(one.handle);
  }
  const count = queue.length;
  let done = 0, failed;
  const work = async () => {
    for (let handle; !failed && (handle = queue.shift());) {
      try { keepWhole(handle, await read(handle) ?? ""); } catch (error) { failed ??= error; return; }
      onRead(++done, count);
    }
  };
  await Promise.all(Array.from({ length: readAtOnce }, work));
  if (failed) throw failed;
}
