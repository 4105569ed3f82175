// JSON as its text. JSON.parse rounds numbers, drops all but the last of equal members and moves members
// that are named by digits. What people decide about stays as it was written.

// verbatim are the members whose values others wrote: they are kept as text.
const verbatim = new Set(["input", "updated_input", "payload", "value", "output", "input_schema", "response_schema"]);

// Json is one JSON value as its text.
export class Json {
  constructor(text) { this.text = text; }
  // node is the value as a tree; it throws a SyntaxError for text that is not JSON.
  get node() { return this.tree ??= read(this.text); }
  toString() { return this.text; }
  // Without it, a text that was read before its tree was made would count as another one.
  toJSON() { return this.text; }
}

// parse returns the value of a JSON text from the service, in which the verbatim members are Json.
export function parse(text) {
  return JSON.parse(quoteVerbatim(text), (name, value) => verbatim.has(name) && typeof value === "string" ? new Json(value) : value);
}

// encode returns a value as JSON text; what is Json stays as it is.
export function encode(value) {
  if (value instanceof Json) return value.text;
  if (Array.isArray(value)) return `[${value.map(one => encode(one) ?? "null").join(",")}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.entries(value).filter(([, one]) => one !== undefined).map(([name, one]) => JSON.stringify(name) + ":" + encode(one)).join(",")}}`;
  return JSON.stringify(value);
}

// stringEnd returns the position after the string that begins at a quote.
function stringEnd(text, at) {
  for (let end = at + 1; ; end++) {
    end = text.indexOf('"', end);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
}

const blank = c => c === " " || c === "\n" || c === "\t" || c === "\r";

// valueEnd returns the position after the value that begins there.
function valueEnd(text, at) {
  let depth = 0;
  for (let i = at; i < text.length;) {
    const c = text[i];
    if (c === '"') i = stringEnd(text, i);
    else if (c === "{" || c === "[") { depth++; i++; continue; }
    else if (c === "}" || c === "]") { if (depth === 0) return i; depth--; i++; }
    else if (depth === 0) {
      while (i < text.length && !",}] \n\t\r".includes(text[i])) i++;
      return i;
    } else { i++; continue; }
    if (depth === 0) return i;
  }
  return text.length;
}

// quoteVerbatim returns the text with the values of verbatim members as strings of their text.
function quoteVerbatim(text) {
  const parts = [];
  let from = 0;
  for (let i = text.indexOf('"'); i >= 0; i = text.indexOf('"', i)) {
    const end = stringEnd(text, i);
    let next = end;
    while (blank(text[next])) next++;
    if (text[next] === ":" && verbatim.has(text.slice(i + 1, end - 1))) {
      next++;
      while (blank(text[next])) next++;
      const last = valueEnd(text, next);
      parts.push(text.slice(from, next), JSON.stringify(text.slice(next, last)));
      from = i = last;
    } else i = end;
  }
  return parts.join("") + text.slice(from);
}

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const deepest = 64;

// read returns a tree: {kind: "object", members: [[name, tree]]}, {kind: "array", items}, {kind: "string",
// value}, {kind: "number", text} or {kind: "word", value}. It throws a SyntaxError that says where, also
// for a member that is given twice, which would be dropped.
export function read(text) {
  let at = 0;
  const fail = (what, where = at) => {
    const before = text.slice(0, where).split("\n");
    throw new SyntaxError(`${what} at line ${before.length}, column ${before.at(-1).length + 1}`);
  };
  const space = () => { while (blank(text[at])) at++; };
  const string = () => {
    const from = at;
    at = stringEnd(text, at);
    try {
      const value = JSON.parse(text.slice(from, at));
      if (!value.isWellFormed()) fail("half of a surrogate pair", from);
      return value;
    } catch (error) {
      return fail(error.message.startsWith("half") ? "half of a surrogate pair" : "a broken string", from);
    }
  };
  const value = depth => {
    if (depth > deepest) fail(`more than ${deepest} levels`);
    space();
    const c = text[at];
    if (c === "{") {
      const members = [], names = new Set();
      for (at++, space(); text[at] !== "}" || members.length > 0;) {
        if (text[at] !== '"') fail("a member's name is missing");
        const from = at, name = string();
        if (names.has(name)) fail(`member ${JSON.stringify(name)} is given twice`, from);
        names.add(name);
        space();
        if (text[at++] !== ":") fail("a colon is missing", at - 1);
        members.push([name, value(depth + 1)]);
        space();
        if (text[at] === "}") break;
        if (text[at++] !== ",") fail("a comma or } is missing", at - 1);
        space();
      }
      at++;
      return { kind: "object", members };
    }
    if (c === "[") {
      const items = [];
      for (at++, space(); text[at] !== "]" || items.length > 0;) {
        items.push(value(depth + 1));
        space();
        if (text[at] === "]") break;
        if (text[at++] !== ",") fail("a comma or ] is missing", at - 1);
      }
      at++;
      return { kind: "array", items };
    }
    if (c === '"') return { kind: "string", value: string() };
    for (const [word, means] of [["true", true], ["false", false], ["null", null]])
      if (text.startsWith(word, at)) { at += word.length; return { kind: "word", value: means }; }
    number.lastIndex = at;
    const found = number.exec(text);
    if (!found) return fail(at < text.length ? "a value is missing" : "the text ends early");
    at += found[0].length;
    return { kind: "number", text: found[0] };
  };
  const whole = value(0);
  space();
  if (at < text.length) fail("more text after the value");
  return whole;
}

// pretty returns a tree as indented text; with "" as a step, on one line.
export function pretty(node, step = "  ", indent = "") {
  const list = (open, close, parts) => {
    if (parts.length === 0) return open + close;
    return step ? `${open}\n${parts.map(part => indent + step + part).join(",\n")}\n${indent}${close}` : open + parts.join(",") + close;
  };
  const inner = one => pretty(one, step, indent + step);
  switch (node.kind) {
    case "object": return list("{", "}", node.members.map(([name, one]) => JSON.stringify(name) + (step ? ": " : ":") + inner(one)));
    case "array": return list("[", "]", node.items.map(inner));
    case "number": case "hidden": return node.text;
  }
  return JSON.stringify(node.value);
}

// member returns a member of a tree, undefined when there is none.
export const member = (node, name) => node?.kind === "object" ? node.members.find(([one]) => one === name)?.[1] : undefined;
// textOf returns the text of a member that is one, else undefined.
export const textOf = (node, name) => { const one = member(node, name); return one?.kind === "string" ? one.value : undefined; };
// without returns an object's tree without some members.
export const without = (node, ...names) => ({ kind: "object", members: node.members.filter(([name]) => !names.includes(name)) });
