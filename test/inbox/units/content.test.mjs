// What is read of an input before it is decided.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

globalThis.matchMedia = () => ({ matches: false, addEventListener: () => {} });
const { Content } = await import(process.env.HOLDPOINT_ASSETS + "/content.js");
const { Json } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");
const { describe, withoutFolder } = await import(process.env.HOLDPOINT_ASSETS + "/kinds.js");

const requestOf = input => ({ tool_name: "x", input: new Json(JSON.stringify(input)) });
// text returns what a person reads of an element.
const text = one => Array.isArray(one) ? one.map(text).join("") : typeof one !== "object" ? typeof one === "boolean" ? "" : String(one ?? "") : one === null ? "" : typeof one.type === "function" ? text(one.type(one.props)) : text(one.props.children);

// boxes returns the text of each paragraph and box of an input, in order.
function boxes(input) {
  const request = requestOf(input), found = [];
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
    [{ file_path: "", old_string: "x", new_string: "y" }, ['""', "- x+ y"]],
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

// shows returns the text of an input, with the folder above it and the agent's words.
function shows(input) {
  const request = requestOf(input), about = describe(request), { folder } = about;
  return [folder && folder.text.trim().replace(/\s+/g, " "), ...about.said.filter(one => one.trim() !== ""), text(Content({ about: withoutFolder(about), request }))].join("\n");
}

test("a member of any value is shown: inputs that differ look different", () => {
  // All the names that kinds.js knows, and more words of it.
  const source = readFileSync(new URL("kinds.js", "file://" + process.env.HOLDPOINT_ASSETS + "/"), "utf8");
  const names = new Set(["cc", "Bcc", ...[...source.matchAll(/"([A-Za-z_]+)"/g)].map(([, name]) => name), ...[...source.matchAll(/\b([a-z_]+): "[a-z_]+"/g)].map(([, name]) => name)]);
  assert.ok(["subject", "cwd", "old_string", "notebook_path", "file_text", "argv", "reason", "method"].every(name => names.has(name)));
  const values = [undefined, ["odd"], { odd: "odd" }, [], {}, 7, true, null, "", " ", "\n", "odd\nodd", "odd  odd ", "odd odd"];
  const alike = [];
  for (const input of [
    { command: "ls", cwd: "/srv" }, { argv: ["ls", "-l"], cwd: "/srv" }, { command: "create", path: "a", file_text: "x" },
    { file_path: "a", old_string: "x", new_string: "y" }, { path: "a", edits: [{ old_str: "x", new_str: "y" }] }, { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-o\n+n" },
    { file_path: "a", content: "x" }, { url: "https://example.com/" }, { to: "a@x", body: "Hi" }, { to: ["a@x"], cc: ["b@x"], subject: "Hi", text: "Hi" },
    { amount: 1, currency: "EUR" }, { a: 1 }, { a: { b: 1 } }, { command: "ls", description: "Look" }, { command: "ls", reason: "Look" },
  ]) for (const name of names) {
    const seen = new Map();
    for (const value of values) {
      const shown = shows({ ...input, [name]: value }), as = JSON.stringify({ [name]: value });
      if (seen.has(shown)) alike.push(`${JSON.stringify(input)} with ${as} looks like ${seen.get(shown)}`);
      seen.set(shown, as);
    }
  }
  assert.deepEqual(alike, []);
});
