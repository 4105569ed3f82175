// What a request is about, by the shape of its input. Nothing of an input is left out.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { Json, parse, pretty } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");
const { contentWords, describe, environment, filesOf, rowOf, separators, titleOf, withoutFolder } = await import(process.env.HOLDPOINT_ASSETS + "/kinds.js");
const { faults } = await import(process.env.HOLDPOINT_ASSETS + "/schema.js");

const request = (tool_name, input) => ({ tool_name, input: new Json(JSON.stringify(input)) });
const about = (tool, input) => { const asked = request(tool, input), found = describe(asked); return { ...found, row: rowOf(asked, found) }; };
const rest = found => found.rest.members.map(([name]) => name);

test("titles and rows", () => {
  for (const [tool, input, title, row] of [
    ["Bash", { command: "npm test", timeout: 1 }, "Run a command", { what: "npm test", code: true }],
    ["shell", { command: ["bash", "-lc", "cargo build"] }, "Run a command", { what: "bash -lc 'cargo build'" }],
    ["run", { cmd: "ls\nrm -rf /" }, "Run a command", { what: "ls ⏎ rm -rf /" }],
    ["Edit", { file_path: "/a/b/c.go", old_string: "a\nb", new_string: "a\nc\nd" }, "Edit a file", { what: "b/c.go", hint: "+2 −1" }],
    ["Edit", { file_path: "c.go", old_string: "a\nb\nc", new_string: "a\nx\nc\nd" }, "Edit a file", { hint: "+2 −1" }],
    ["multi", { edits: [{ path: "x", old_str: "a", new_str: "b" }, { path: "y", old_str: "a", new_str: "b" }] }, "Edit 2 files", { hint: "+2 −2" }],
    ["apply_patch", { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-o\n+n" }, "Edit a file", { what: "x", hint: "+1 −1" }],
    ["apply_patch", { input: "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Add File: b.go\n+z\n*** End Patch" }, "Edit 2 files", { what: "2 files", hint: "+2 −1" }],
    ["apply_patch", { input: "*** Begin Patch\n*** Update File: a.sql\n@@\n--- old\n+++ i\n*** Delete File: b.go\n*** End Patch" }, "Edit 2 files", { what: "2 files", hint: "1 deleted, +1 −1" }],
    ["apply_patch", { input: "*** Begin Patch\n*** Add File: b.go\n+x\n+y\n*** End Patch" }, "Write a file", { what: "b.go", hint: "new, 2 lines" }],
    ["apply_patch", { input: "*** Begin Patch\n*** Delete File: b.go\n*** End Patch" }, "Delete a file", { what: "b.go", hint: "deleted" }],
    ["apply_patch", { patch: "diff --git a/run b/run\ndeleted file mode 100755\n--- a/run\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b" }, "Delete a file", { what: "run", hint: "deleted, 2 lines" }],
    ["apply_patch", { patch: "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-o\n+n" }, "Edit a file", { what: "x", hint: "+1 −1" }],
    ["apply_patch", { patch: "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-o\n+n" }, "Edit a file", { what: "y", hint: "renamed, +1 −1" }],
    ["Edit", { file_path: "c.go", old_string: "", new_string: "a\nb" }, "Edit a file", { hint: "+2 −0" }],
    ["editor", { command: "create", path: "a/b", file_text: "x" }, "Write a file", { what: "a/b", hint: "1 line" }],
    ["editor", { command: "str_replace", path: "a/b", old_str: "x", new_str: "y" }, "Edit a file", { what: "a/b", hint: "+1 −1" }],
    ["editor", { command: "view", path: "/etc/passwd" }, "Use editor", { what: "view, /etc/passwd" }],
    ["Bash", { command: "view --all", path: "x" }, "Run a command", { what: "view --all" }],
    ["Bash", { command: "create", path: "x" }, "Run a command", { what: "create" }],
    ["write_file", { file_path: "a/b", content: "x\ny\n" }, "Write a file", { what: "a/b", hint: "2 lines" }],
    ["write_file", { file_path: "a/b", content: "" }, "Write a file", { what: "a/b", hint: "empty" }],
    ["apply_patch", { input: "*** Begin Patch\n*** Add File: b.go\n*** Update File: a.go\n@@\n-x\n+y\n*** End Patch" }, "Edit 2 files", { hint: "+1 −1" }],
    ["fetch", { url: "https://user@evil.example/path?q=1" }, "Open a page", { strong: "evil.example", what: "/path?q=1" }],
    ["fetch", { url: "https://[::1]:8080/x" }, "Open a page", { strong: "[::1]:8080", what: "/x" }],
    ["fetch", { url: "HTTPS://Bücher.example" }, "Open a page", { strong: "xn--bcher-kva.example", what: "/" }],
    ["http", { url: "https://api.example/orders/1", method: "DELETE" }, "Send a request", { strong: "DELETE api.example", what: "/orders/1" }],
    ["http", { url: "https://api.example/orders/1", HTTPMethod: "DELETE" }, "Send a request", { strong: "DELETE api.example" }],
    ["http", { url: "https://api.example/orders/1", method: "GET", options: { method: "DELETE" } }, "Send a request", { strong: "DELETE api.example" }],
    ["http", { url: "https://api.example/orders/1", options: { http_method: "GET", headers: {} }, method: null }, "Open a page", { strong: "api.example" }],
    ["http", { url: "https://api.example/orders", json: { a: 1 } }, "Send a request", { strong: "POST api.example" }],
    ["http", { url: "https://api.example/orders", method: "get" }, "Open a page", { strong: "api.example" }],
    ["mail", { to: ["a@x", "b@x"], subject: "Hi", body: "text" }, "Send a message", { strong: "a@x, b@x", what: "Hi" }],
    ["mail", { to: "a@x", cc: ["b@x"], Bcc: "c@x", subject: "Hi", body: "text" }, "Send a message", { strong: "a@x, cc b@x, Bcc c@x", what: "Hi" }],
    ["mail", { to: "a@x", subject: "", body: "text" }, "Send a message", { what: "text" }],
    ["refund", { order: "A-1", amount: 42.67, currency: "EUR" }, "Use refund", { strong: "refund", what: "A-1", hint: "42.67 EUR" }],
    ["scale", { service: "web", replicas: 8 }, "Use scale", { what: "web, 8" }],
    ["config", { a: { b: 1 } }, "Use config", { strong: "config", what: 'a {"b":1}' }],
    ["one", 1, "Use one", { what: "1" }],
  ]) {
    const found = about(tool, input);
    assert.equal(found.title, title);
    for (const [name, value] of Object.entries(row)) assert.equal(found.row[name], value, `${tool} ${name}`);
  }
});

test("the beginning of a large input", () => {
  const begins = input => describe({ tool_name: "x", input_truncated: true, input: new Json(JSON.stringify(JSON.stringify(input).slice(0, 60))) });
  assert.equal(begins({ command: "make all", more: "x".repeat(100) }).command, "make all…");
  assert.equal(begins({ command: "create", path: "a/b", file_text: "x".repeat(100) }).kind, "json", "no shell runs the command of a text editor");
});

test("an argument list is left out only where it runs the command that is shown", () => {
  assert.deepEqual(rest(about("x", { command: "npm test", argv: ["npm", "test"] })), []);
  assert.deepEqual(rest(about("x", { command: "a | b", argv: ["/bin/sh", "-c", "a | b"] })), []);
  assert.deepEqual(rest(about("x", { command: "ls", argv: ["/tmp/bash", "-c", "ls"] })), ["argv"]);
  assert.deepEqual(rest(about("x", { command: "npm test", argv: ["npm", "publish"] })), ["argv"]);
  assert.deepEqual(rest(about("x", { command: "rm a b", argv: ["rm", "a b"] })), ["argv"]);
});

test("every member is shown: laid out, said, or in the rest", () => {
  assert.deepEqual(about("Bash", { command: "ls", description: "Look", other: [1] }).said, ["Look"]);
  assert.deepEqual(rest(about("Bash", { command: "ls", description: "Look", other: [1] })), ["other"]);
  assert.deepEqual(rest(about("Bash", { command: "ls", description: { not: "text" } })), ["description"]);
  assert.deepEqual(rest(about("Bash", { command: "ls", description: " \n", cwd: "" })), ["description", "cwd"]);
  assert.deepEqual(rest(withoutFolder(about("Bash", { command: "ls", cwd: "" }))), ["cwd"]);
  assert.deepEqual(rest(about("mail", { to: "a", subject: ["wire it"], text: "c" })), ["subject"]);
  assert.deepEqual(rest(about("mail", { to: "a", cc: "b", bcc: { not: "a name" }, text: "c" })), ["bcc"]);
  assert.deepEqual(rest(about("Write", { file_path: "a", path: "b", content: "c" })), ["path"]);
  assert.equal(about("x", Object.fromEntries(Array.from({ length: 13 }, (_, i) => ["m" + i, i]))).kind, "json");
});

test("a patch is split by its files, and no line is lost", () => {
  const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-o\n+n\ndiff --git a/y b/y\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+z";
  const files = filesOf(patch);
  assert.deepEqual(files.map(one => one.path), ["x", "y"]);
  assert.equal(files.map(one => one.text).join("\n"), patch);
});

test("a line that looks like the head of a file begins none in a hunk", () => {
  for (const patch of ["--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- a/harmless\n+++ b/harmless\n rest", "*** Begin Patch\n*** Update File: x.sql\n@@\n--- a/harmless\n+++ b/harmless\n*** End Patch"]) {
    const files = filesOf(patch);
    assert.deepEqual(files.map(({ path, added, removed }) => [path, added, removed]), [["x.sql", 1, 1]]);
    assert.equal(files.map(one => one.text).join("\n"), patch);
  }
});

test("a folder that the page says by itself is left out, and no other member", () => {
  const found = about("Bash", { command: "ls", cwd: "/srv", workdir: "/tmp", timeout: 1 });
  assert.deepEqual([found.folder.text, rest(withoutFolder(found))], ["/srv", ["workdir", "timeout"]]);
  assert.deepEqual(rest(withoutFolder(about("Bash", { command: "ls", timeout: 1 }))), ["timeout"]);
  for (const cwd of ["/".repeat(201), "/srv\n/x", "/srv\u2028x", "/srv/a  b", "/srv ", "/srv\tb"]) assert.deepEqual(rest(withoutFolder(about("Bash", { command: "ls", cwd }))), ["cwd"], "it must be read");
});

test("an environment is a line as a shell takes it, where all of it is text", () => {
  const env = value => environment(new Json(JSON.stringify(value)).node);
  assert.equal(env({ CI: "1", A: "b c", B: "it's" }), `CI=1 'A=b c' 'B=it'\\''s'`);
  assert.equal(env({ CI: 1 }), undefined);
  assert.equal(env(["CI=1"]), undefined);
});

test("what is written has its language and its lines", () => {
  for (const [path, content, words] of [["a/b.go", "x\ny\n", "Go, 2 lines"], ["Makefile", "x", "1 line"], ["a.constructor", "", ""], ["a.go", "", "Go"], ["A.MD", "#", "Markdown, 1 line"]]) assert.equal(contentWords({ path, content }), words);
});

// The terminal and messages name actions from the same table.
test("the actions of the service", () => {
  const examples = JSON.parse(readFileSync(new URL("../../../prompt/testdata/actions.json", import.meta.url)));
  for (const { input, action } of examples) assert.equal(about("x", input).title, action || "Use x", JSON.stringify(input));
});

// curl asks evil.example for the first one, Node's older parser for the last ones, and the browser reads the host in front.
test("a host that programs read differently is shown as it is written", () => {
  for (const [url, host] of [
    ["https://good.example\\@evil.example/", "good.example\\@evil.example"], ["https://a@b@good.example/", "a@b@good.example"],
    ["https:\\\\good.example/x", "\\\\good.example"], ["https:good.example/x", "good.example"], ["https:///good.example/x", "good.example"],
    ["https://ev%69l.example/", "ev%69l.example"], ["https://good\t.example/", "good\t.example"], [" https://good.example/", "good.example"],
    ["https://evil.example;.good.example/", "evil.example;.good.example"], ["https://evil.example'.good.example/", "evil.example'.good.example"],
  ]) {
    const found = about("fetch", { url });
    assert.deepEqual([found.kind, found.host, found.row.strong], ["url", host, host], url);
  }
});

test("a title of a schema does not hide the name of a member that says something else", () => {
  const asked = (input, titles) => ({ ...request("pay", input), input_schema: new Json(JSON.stringify({ properties: Object.fromEntries(Object.entries(titles).map(([name, title]) => [name, { title }])) })) });
  const said = (name, title) => titleOf(asked({}, { [name]: title }), name);
  assert.equal(said("amount", "Fee"), "Fee (amount)");
  assert.equal(said("dangerouslyDisableSandbox", "Sandbox"), "Sandbox (dangerouslyDisableSandbox)");
  assert.equal(said("", "Amount"), 'Amount ("")');
  assert.equal(said("金額", "Betrag"), "Betrag (金額)");
  for (const [name, title] of [["amount", "Amount"], ["to_account", "To account"], ["dueDate", "Due date"], ["due-date", "Due date:"], ["größe", "Größe"]]) assert.equal(said(name, title), title);
  const swapped = asked({ fee: 1, amount: 1000000, currency: "EUR" }, { fee: "Amount", amount: "Fee" });
  assert.equal(rowOf(swapped, describe(swapped)).hint, "1000000 EUR", "the name of a member counts before a title");
});

test("money is known by the titles of its schema as well", () => {
  const asked = { ...request("pay", { sum: 12, unit: "EUR", to_account: "DE1" }), input_schema: new Json('{"properties":{"sum":{"title":"Amount"},"unit":{"title":"Currency"}}}') };
  const { strong, what, hint } = rowOf(asked, describe(asked));
  assert.deepEqual([strong, what, hint], ["pay", "DE1", "12 EUR"]);
});

test("a schema is kept as it was written", () => {
  const text = '{"input":{"id":9007199254740993,"output":1,"hasOwnProperty":2},"input_schema":{"properties":{"id":{"enum":[9007199254740993]},"output":{"title":"Sum","minimum":2}}}}';
  const asked = parse(text), before = JSON.stringify(asked);
  assert.deepEqual(["id", "output", "hasOwnProperty"].map(name => titleOf(asked, name)), ["id", "Sum (output)", "hasOwnProperty"]);
  assert.deepEqual(faults(asked.input_schema.node, asked.input.node), ["/output: must be at least 2"]);
  assert.equal(JSON.stringify(asked), before, "its text is the same once it was used");
});

test("a redirection does not begin another command", () => {
  for (const [command, pieces] of [
    ["make 2>&1", 1], ["echo no >&2", 1], ["read x <&3", 1], ["sort a >| b", 1],
    ["make 2>&1 | tee log", 2], ["a >&2& b", 2], ["a \\>& rm b", 2], ["a &> b", 2], ["a && b || c; d", 4], ["a |& b", 3], ["a >&& b", 2], ["a\nb", 2],
  ]) assert.equal(command.split(separators).filter((_, i) => i % 2 === 0).length, pieces, command);
});

test("a sensitive value is called one, and nothing else is", () => {
  const mask = { sensitive: true };
  const asked = { ...request("set", { name: "DB", value: mask, "a/b": [1, mask] }), sensitive_paths: ["/value", "/a~1b/1", "/name"] }, found = describe(asked);
  assert.equal(rowOf(asked, found).what, "name DB, value (sensitive)");
  assert.equal(pretty(found.rest, ""), '{"name":"DB","value":(sensitive),"a/b":[1,(sensitive)]}');
  const large = { ...request("set", { value: mask, log: [[1], [2]] }), sensitive_paths: ["/value", "", "/log/7", "/log/length", "/log/"] };
  assert.equal(describe(large).rest.members[1][1].items[1], large.input.node.members[1][1].items[1], "what is not on the way to a sensitive value is neither walked nor copied");
  const flat = { ...request("set", { name: "DB", value: mask }), sensitive_paths: ["/value"] };
  assert.equal(describe(flat).kind, "flat");
  assert.equal(rowOf(flat, describe(flat)).what, "DB, (sensitive)");
  assert.equal(pretty(describe(request("set", { value: mask })).rest, ""), '{"value":{"sensitive":true}}', "what an agent wrote is shown as it is");
});
