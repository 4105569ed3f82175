// What is read of an input before it is decided.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.matchMedia = () => ({ matches: false, addEventListener: () => {} });
const { Content } = await import(process.env.HOLDPOINT_ASSETS + "/content.js");
const { Json } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");
const { describe } = await import(process.env.HOLDPOINT_ASSETS + "/kinds.js");

// boxes returns the text of each paragraph and box of an input, in order.
function boxes(input) {
  const request = { tool_name: "x", input: new Json(JSON.stringify(input)) }, found = [];
  const text = one => Array.isArray(one) ? one.map(text).join("") : typeof one !== "object" ? String(one ?? "").replace(/^(?:true|false)$/, "") : one === null ? "" : typeof one.type === "function" ? text(one.type(one.props)) : text(one.props.children);
  const walk = one => {
    if (Array.isArray(one)) return one.forEach(walk);
    if (!one?.type) return;
    if (typeof one.type === "function") return walk(one.type(one.props));
    if (one.type === "p" || one.type === "pre") return found.push(text(one).trimEnd());
    walk(one.props.children);
  };
  walk(Content({ about: describe(request), request }));
  return found;
}

test("no box is empty", () => {
  for (const [input, shown] of [
    [{ file_path: "a.go", content: "x" }, ["a.go Go, 1 line", "x"]],
    [{ file_path: "a.go", content: "" }, ["a.go Go", "Empty file"]],
    [{ file_path: "a.go", content: " \n\n" }, ["a.go Go, 2 lines", "Only white space", ""]],
    [{ file_path: "a.go", old_string: "x\ny", new_string: "" }, ["a.go", "Deletes this text", "- x- y"]],
    [{ file_path: "a.go", old_string: "x", new_string: "x" }, ["a.go", "Changes nothing", "x"]],
    [{ file_path: "a.go", old_string: "", new_string: "" }, ["a.go", "Changes nothing"]],
    [{ file_path: "a.go", old_string: "", new_string: "x" }, ["a.go", "+ x"]],
    [{ edits: [{ old_str: "x", new_str: "" }, { old_str: "y", new_str: "z" }] }, ["Deletes this text", "- x", "- y+ z"]],
    [{ to: "a@x", body: "" }, ["Empty message"]],
    [{ command: "" }, ["Empty command"]],
    [{ command: "ls" }, ["ls"]],
  ]) assert.deepEqual(boxes(input).map(one => one.replace(/^ {2}/, "")), shown, JSON.stringify(input));
});
