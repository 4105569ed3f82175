// What a request is about, by the shape of its input: a command, an edit, a message and so on. The names are the
// ones that agents use. Everything of the input is in what describe returns: its fields, or its rest.

import { difference, linesOf, patchLines } from "./difference.js";
import { member, pretty, read, textOf, without } from "./exact.js";
import { stepOf } from "./schema.js";
import { spoken } from "./words.js";

// The members by which agents say that one text takes the place of another.
const replacements = [["old_string", "new_string"], ["old_str", "new_str"], ["old_text", "new_text"], ["oldText", "newText"]];
const paths = ["file_path", "path", "filename", "file", "notebook_path"];
const folders = ["cwd", "workdir", "directory", "working_directory"];

const firstOf = (node, names) => { for (const name of names) { const text = textOf(node, name); if (text !== undefined) return { name, text }; } };

// replacement returns {before, after, others} of an input that replaces a text, else null.
function replacement(node) {
  for (const [old, fresh] of replacements) {
    const before = textOf(node, old), after = textOf(node, fresh);
    if (before !== undefined && after !== undefined) return { before, after, others: without(node, old, fresh) };
  }
  return null;
}

const isPatch = text => text !== undefined && /^(?:---|\+\+\+|@@|diff |\*\*\* )/m.test(text) && /^(?:[-+]|\*\*\* Delete File: )/m.test(text);

const plainWord = /^[\w@%+=:,./-]+$/;
// quoted writes a list of arguments as a shell would read it.
const quoted = words => words.map(word => plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
const stringsOf = node => node?.kind === "array" && node.items.length > 0 && node.items.every(one => one.kind === "string") ? node.items.map(one => one.value) : undefined;

// sameCommand reports whether arguments run what a command line says.
function sameCommand(argv, command) {
  const shell = argv.length === 3 && /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|z|da|k)?sh$/.test(argv[0]) && /^-[a-z]*c$/.test(argv[1]);
  return quoted(argv) === command || argv.join(" ") === command && argv.every(word => plainWord.test(word)) || shell && argv[2] === command;
}

// editing are the commands of a text editor, with a member that each has.
const editing = { create: "file_text", insert: "insert_line", str_replace: "old_str", undo_edit: "path", view: "path" };
const isEditing = (node, name) => Object.hasOwn(editing, name) && textOf(node, "path") !== undefined && member(node, editing[name]) !== undefined;

function command(node) {
  const line = firstOf(node, ["command", "cmd"]);
  if (line && isEditing(node, line.text)) return;
  if (line) {
    let rest = without(node, line.name);
    const argv = stringsOf(member(node, "argv"));
    if (argv && sameCommand(argv, line.text)) rest = without(rest, "argv");
    return { kind: "command", title: "Run a command", command: line.text, rest };
  }
  for (const name of ["command", "cmd", "argv"]) {
    const argv = stringsOf(member(node, name));
    if (argv) return { kind: "command", title: "Run a command", command: quoted(argv), rest: without(node, name) };
  }
}

// separators begin another command on the same line. The "&" of ">&" and the "|" of ">|" belong to a redirection, unless
// the sign before them is an escaped character.
export const separators = /((?<!(?<!\\)>)\|\|?|(?<!(?<!\\)[<>])&&?|;|\n)/;

// environment returns what a command's members say about its environment, as a shell takes it, and undefined for other values.
export function environment(node) {
  if (node?.kind !== "object" || !node.members.every(([, one]) => one.kind === "string")) return;
  return node.members.map(([name, { value }]) => quoted([`${name}=${value}`])).join(" ");
}

const named = (node, found) => { const path = firstOf(node, paths); return { ...found, path: path?.text, rest: path ? without(found.rest, path.name) : found.rest }; };

function edit(node) {
  const change = replacement(node);
  if (change) return named(node, { kind: "edit", title: "Edit a file", changes: [{ before: change.before, after: change.after }], rest: change.others });
  const edits = member(node, "edits")?.items;
  if (!edits?.length || !edits.every(replacement)) return;
  const changes = edits.map(replacement).map(({ before, after, others }) => ({ before, after, path: firstOf(others, paths)?.text, others }));
  const files = new Set(changes.map(one => one.path).filter(Boolean)).size;
  return named(node, { kind: "edit", title: files > 1 ? `Edit ${files} files` : "Edit a file", changes, rest: without(node, "edits") });
}

const fates = [["new", /^(?:\*\*\* Add File: |new file mode |--- \/dev\/null)/], ["deleted", /^(?:\*\*\* Delete File: |deleted file mode |\+\+\+ \/dev\/null)/], ["renamed", /^(?:\*\*\* Move to: |rename to )/]];

// filesOf splits a patch by the files that it changes: [{path, text, fate, added, removed}]. A line of a hunk
// may look like the head of a file, and does not begin one.
export function filesOf(patch) {
  const files = [], signs = patchLines(patch).map(one => one.sign);
  let lines = [], file = {}, body = false;
  const end = () => { if (lines.length > 0) files.push({ path: "", fate: "", added: 0, removed: 0, ...file, text: lines.join("\n") }); lines = []; file = {}; body = false; };
  for (const [i, line] of patch.split("\n").entries()) {
    if (signs[i] === "@" || !body) {
      const codex = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/.exec(line), git = /^diff --git a\/.+ b\/(.+)$/.exec(line);
      if ((codex || git || /^--- /.test(line) && body) && (file.path || body)) end();
      if (codex ?? git) file.path = (codex ?? git)[1];
      const header = /^(?:\+\+\+|---) (?:[ab]\/)?([^\t]+)/.exec(line);
      if (header && !body && header[1] !== "/dev/null") file.path = header[1];
      const fate = fates.find(([, head]) => head.test(line));
      if (fate) file.fate = fate[0];
      if (/^@@/.test(line) || codex) body = true;
    }
    if (signs[i] === "+") file.added = (file.added ?? 0) + 1;
    if (signs[i] === "-") file.removed = (file.removed ?? 0) + 1;
    lines.push(line);
  }
  end();
  return files;
}

// fateOf is what becomes of a file. One that is called new and yet loses lines, or deleted and yet gets some, is changed.
const fateOf = ({ fate, added, removed }) => fate === "new" && removed > 0 || fate === "deleted" && added > 0 ? "" : fate;

// fileWords says what a patch does with a file.
export function fileWords(file) {
  const fate = fateOf(file), { added, removed } = file;
  if (fate === "new") return `new, ${lineCount(added)}`;
  if (fate === "deleted") return removed > 0 ? `deleted, ${lineCount(removed)}` : "deleted";
  return `${fate && fate + ", "}+${added} −${removed}`;
}
const lineCount = n => n === 0 ? "empty" : `${n} ${n === 1 ? "line" : "lines"}`;
const titles = { new: "Write a file", deleted: "Delete a file" };

function patch(node) {
  const found = firstOf(node, ["patch", "diff", "input"]);
  if (!found || !isPatch(found.text)) return;
  const files = filesOf(found.text), known = files.filter(one => one.path).length;
  return { kind: "patch", title: known > 1 ? `Edit ${known} files` : files.length === 1 && titles[fateOf(files[0])] || "Edit a file", files, rest: without(node, found.name) };
}

function write(node) {
  const path = firstOf(node, paths), content = firstOf(node, ["content", "contents", "file_text"]);
  if (path && content) return { kind: "write", title: "Write a file", path: path.text, content: content.text, rest: without(node, path.name, content.name) };
}

// hostOf returns the host of a URL. Where programs read different ones it is what stands there: curl asks evil.example for
// https://good.example\@evil.example.
const oneHost = /^https?:\/\/(?:[^\s\\/?#@]*@)?(?:\[[\da-f:.]+\]|[\p{L}\p{M}\p{N}._-]+)(?::\d*)?(?:[/?#]|$)/iu;
const hostOf = (text, url) => oneHost.test(text) ? url.host : /^\s*https?:(?:\/\/+)?([^/?#]*)/i.exec(text)?.[1] || text;

const methods = ["method", "httpmethod", "verb"], reading = /^(?:GET|HEAD)$/i;

// methodOf returns the method of a request, which may be among its options. Of several the one counts that does more than read.
function methodOf(node) {
  const membersOf = one => one.kind === "object" ? one.members : [];
  const all = [...node.members, ...node.members.flatMap(([, one]) => membersOf(one))].filter(([name, one]) => one.kind === "string" && methods.includes(name.toLowerCase().replace("_", ""))).map(([, one]) => one.value);
  return all.find(one => !reading.test(one)) ?? all[0];
}

function link(node) {
  const found = firstOf(node, ["url", "uri"]);
  const url = found && URL.parse?.(found.text);
  const sends = ["body", "data", "json"].some(name => { const one = member(node, name); return one && one.value !== null; });
  const method = methodOf(node) ?? (sends ? "POST" : "GET"), reads = reading.test(method);
  if (url && /^https?:$/.test(url.protocol)) return { kind: "url", title: reads ? "Open a page" : "Send a request", method: reads ? "" : method, url: found.text, host: hostOf(found.text, url), after: url.pathname + url.search + url.hash, rest: without(node, found.name) };
}

export const scalar = node => node.kind !== "object" && node.kind !== "array";
export const scalarText = node => node.kind === "string" ? node.value : node.text ?? String(node.value);

function message(node) {
  const body = firstOf(node, ["body", "text", "message"]), namesOf = one => stringsOf(one) ?? (one?.kind === "string" ? [one.value] : undefined), names = namesOf(member(node, "to"));
  // Who else gets it stands with the first.
  const copies = node.members.filter(([name, one]) => /^b?cc$/i.test(name) && namesOf(one)).map(([name, one]) => [name, namesOf(one).join(", ")]);
  const subject = textOf(node, "subject");
  if (names && body) return {
    kind: "message", title: "Send a message", to: names.join(", "), copies, subject, body: body.text, rest: without(node, "to", body.name, ...subject === undefined ? [] : ["subject"], ...copies.map(([name]) => name)),
  };
}

const mostFields = 12;
const flat = node => node.kind === "object" && node.members.length > 0 && node.members.length <= mostFields && node.members.every(([, one]) => scalar(one));

// money is an amount with its currency, by the members' names or by their titles in the schema.
function money(node, request) {
  // A name counts before a title: an agent may call its fee "Amount".
  const called = (word, fits) => [([name]) => word.test(name), ([name]) => word.test(schemaTitle(request, name))].map(says => node.members.find(one => fits(one) && says(one))).find(Boolean);
  const amount = called(/^amount/i, one => scalar(one[1])), currency = called(/^currency$/i, one => one !== amount && one[1].kind === "string");
  if (amount && currency && flat(node)) return {
    kind: "money", amount: `${scalarText(amount[1])} ${currency[1].value}`, fields: node.members, others: node.members.filter(one => one !== amount && one !== currency), rest: { kind: "object", members: [] },
  };
}

// hiding returns a tree that says of a value that it is sensitive, if it is: in its place the service shows an object. Only the way
// to it is walked, because an input may have a megabyte.
function hiding(node, [step, ...steps]) {
  if (step === undefined) return node.members?.length === 1 && pretty(node, "") === '{"sensitive":true}' ? { kind: "hidden", text: "(sensitive)" } : node;
  const list = node.members?.slice() ?? node.items?.slice() ?? [], at = node.members ? list.findIndex(([name]) => name === step) : /^\d+$/.test(step) ? Number(step) : -1;
  if (list[at] === undefined) return node;
  list[at] = node.members ? [step, hiding(list[at][1], steps)] : hiding(list[at], steps);
  return { ...node, [node.members ? "members" : "items"]: list };
}

const byShape = [command, edit, patch, write, link, message, money];

const schemaTitle = (request, name) => textOf(member(member(request.input_schema?.node, "properties"), name), "title") ?? "";
const letters = text => text.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, "");

// titleOf names a member of an input by the title of its schema. The agent may have written both: a title that says something
// else than the name stands with it.
export function titleOf(request, name) {
  const title = schemaTitle(request, name);
  return !title ? name : letters(title) === letters(name) && letters(name) ? title : `${title} (${name || '""'})`;
}

// describe returns what an approval is about. Of an input that was cut there is only its beginning.
export function describe(request) {
  const use = `Use ${request.tool_name}`;
  if (request.input === undefined) return { kind: "json", title: use, said: [], rest: undefined };
  if (request.input_truncated) return { ...beginning(request), title: use, said: [] };
  const { input: { node: given }, sensitive_paths: paths } = request, node = (paths ?? []).reduce((shown, path) => hiding(shown, path.split("/").slice(1).map(stepOf)), given);
  if (node.kind !== "object") return { kind: "json", title: use, said: [], rest: node };
  // The agent's words about its call are shown as text, apart from the input. Where there are none to see, the member stays.
  const words = ["description", "reason"].filter(name => spoken(textOf(node, name)));
  const said = words.map(name => textOf(node, name)), about = without(node, ...words);
  for (const shape of byShape) {
    const found = shape(about, request);
    if (found) return { title: use, said, folder: folderOf(found), ...found };
  }
  if (flat(about)) return { kind: "flat", title: use, said, fields: about.members, rest: { kind: "object", members: [] } };
  return { kind: "json", title: use, said, rest: about };
}

const folderOf = found => firstOf(found.rest ?? { kind: "object", members: [] }, folders.filter(name => spoken(textOf(found.rest, name))));

// isShort reports whether a line above the input shows the whole folder: blanks at its ends, and several in a row, are not seen there.
export const isShort = folder => folder.length <= 200 && !/[\t\n\r\u2028\u2029]|^ | {2}| $/.test(folder);

// withoutFolder is for a page that says the folder above the input. Only what is in the input must be read before it is
// allowed, so a long folder, or one with lines, stays there as well.
export const withoutFolder = about => about.folder?.name && isShort(about.folder.text)
  ? { ...about, rest: without(about.rest, about.folder.name) } : about;

const languages = { go: "Go", js: "JavaScript", mjs: "JavaScript", ts: "TypeScript", tsx: "TypeScript", py: "Python", rb: "Ruby", rs: "Rust", java: "Java", c: "C", h: "C", cc: "C++", cpp: "C++", cs: "C#", php: "PHP", swift: "Swift", kt: "Kotlin", sh: "Shell", bash: "Shell", sql: "SQL", css: "CSS", html: "HTML", xml: "XML", json: "JSON", yaml: "YAML", yml: "YAML", toml: "TOML", md: "Markdown", tf: "Terraform" };

// contentWords says what is written: its language, by the name of the file, and how many lines, if any.
export function contentWords({ path, content }) {
  const lines = count(content), name = /\.(\w+)$/.exec(path)?.[1].toLowerCase();
  return [Object.hasOwn(languages, name ?? "") && languages[name], lines > 0 && lineCount(lines)].filter(Boolean).join(", ");
}

function beginning(request) {
  const text = request.input.node.value ?? "";
  const found = /"(?:command|cmd)"\s*:\s*("(?:[^"\\]|\\.)*)/.exec(text.slice(0, 4096));
  if (found) try {
    const command = read(found[1].replace(/\\u?[0-9a-f]{0,3}$/i, "") + '"').value;
    if (!Object.hasOwn(editing, command)) return { kind: "command", command: command + "…", cut: true };
  } catch { /* its text then */ }
  return { kind: "json", cut: true, text: text.slice(0, 200) };
}

// blankWords says of a text that there is nothing to see in it.
export const blankWords = (text, of) => text === "" ? `Empty ${of}` : /^[ \t\n]+$/.test(text) ? "Only white space" : "";

// changeWords says what a change does where removed and added lines do not.
export const changeWords = ({ before, after }) => before === after ? "Changes nothing" : after === "" ? "Deletes this text" : "";

const lastParts = path => path.split("/").filter(Boolean).slice(-2).join("/") || path;
const count = text => text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;

const fewCells = 2_500; // compared line by line, such as 50 lines with 50; larger changes count all between the first and the last

// changedLines returns [added, removed] of a change, as the detail shows it.
function changedLines({ before, after }) {
  const a = linesOf(before), b = linesOf(after);
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const added = b.length - head - tail, removed = a.length - head - tail;
  if (added * removed > fewCells) return [added, removed];
  const lines = difference(before, after, 0);
  return ["+", "-"].map(sign => lines.filter(line => line[0] === sign).length);
}

const summary = node => node.kind === "object" ? node.members.slice(0, 2).map(([name, one]) => `${name} ${scalar(one) ? scalarText(one) : pretty(one, "")}`).join(", ") : scalar(node) ? scalarText(node) : pretty(node, "");
const oneLine = text => text.slice(0, 400).replace(/\s*\n\s*/g, " ⏎ ");

// rowOf returns the first line of a row: {icon, what, strong, code, hint}.
export function rowOf(request, about) {
  switch (about.kind) {
    case "command": return { icon: "command", what: oneLine(about.command), code: true };
    case "edit": {
      const sums = about.changes.map(changedLines), [added, removed] = [0, 1].map(i => sums.reduce((sum, one) => sum + one[i], 0));
      return { icon: "edit", what: lastParts(about.path ?? about.changes[0].path ?? request.tool_name), hint: `+${added} −${removed}` };
    }
    case "patch": {
      const { files } = about, sum = name => files.reduce((n, one) => n + one[name], 0), deleted = files.filter(one => fateOf(one) === "deleted").length;
      if (files.length === 1) return { icon: "edit", what: lastParts(files[0].path || request.tool_name), hint: fileWords(files[0]) };
      return { icon: "edit", what: `${files.length} files`, hint: `${deleted > 0 ? `${deleted} deleted, ` : ""}+${sum("added")} −${sum("removed")}` };
    }
    case "write": return { icon: "write", what: lastParts(about.path), hint: lineCount(count(about.content)) };
    case "url": return { icon: "url", strong: [about.method, about.host].filter(Boolean).join(" "), what: about.after };
    case "message": return { icon: "message", strong: [about.to, ...about.copies.map(([name, names]) => `${name} ${names}`)].join(", "), what: oneLine(about.subject || about.body) };
    case "money": return { icon: "money", strong: request.tool_name, what: oneLine(about.others.slice(0, 1).map(([, one]) => scalarText(one)).join("")), hint: about.amount };
    case "flat": return { icon: "tool", strong: request.tool_name, what: oneLine(about.fields.slice(0, 2).map(([, one]) => scalarText(one)).join(", ")) };
  }
  return { icon: "tool", strong: request.tool_name, what: oneLine(about.text ?? (about.rest ? summary(about.rest) : "")) };
}
