// Forms from JSON Schema, as agents write them.
import assert from "node:assert/strict";
import { test } from "node:test";

const assets = process.env.HOLDPOINT_ASSETS;
const { read } = await import(assets + "/exact.js");
const { filled, formOf, own } = await import(assets + "/form.js");
const { compare, isMultiple, isWhole, typedNumber } = await import(assets + "/numbers.js");
const { faults } = await import(assets + "/schema.js");

const tree = schema => read(typeof schema === "string" ? schema : JSON.stringify(schema));
const property = (schema, more = {}) => formOf(tree({ type: "object", properties: { x: schema }, ...more })).fields[0];
// answers fills in the one member x.
const answers = (schema, raw, more = {}) => {
  const node = tree({ type: "object", properties: { x: schema }, ...more }), form = formOf(node);
  const { text, faults } = filled(form, { ...form.start, ...(raw === undefined ? {} : { x: raw }) }, node);
  return [text, ...faults.map(one => `${one.at}: ${one.text}`)];
};
const required = { required: ["x"] };

// A value that is only sent with the object around it reads as sent if it has no control.
test("a fixed value in a group that may be left out is chosen", () => {
  const group = { type: "object", required: ["ok"], properties: { ok: { const: true } } }, outer = { type: "object", required: ["g"], properties: { g: group } };
  const kind = (schema, more) => { let field = property(schema, more); while (field.fields) field = field.fields[0]; return field.kind; };
  assert.equal(kind(group), "choice");
  assert.equal(kind(outer), "choice", "the group within is required, the outer one is not");
  assert.equal(kind({ anyOf: [group, { type: "null" }] }, required), "choice");
  assert.equal(kind(group, required), "fixed");
  assert.equal(kind(outer, required), "fixed");
  assert.equal(kind({ ...group, default: { ok: true } }), "fixed");
  const free = { type: "object", properties: { ok: { const: true } } }, own = { type: "object", properties: { ok: { const: true, default: true } } };
  assert.equal(kind({ ...free, default: { ok: true } }), "choice", "only its own default fixes it");
  assert.equal(kind({ ...own, default: { ok: true } }), "fixed");
  assert.equal(kind({ ...own, default: { ok: null } }), "choice", "the group begins without it");
  assert.deepEqual(answers(group), ["{}"]);
  assert.deepEqual(answers(group, { ok: "true" }), ['{"x":{"ok":true}}']);
  assert.deepEqual(answers({ anyOf: [group, { type: "null" }] }, undefined, required), ['{"x":null}']);
  assert.deepEqual(answers(group, undefined, required), ['{"x":{"ok":true}}']);
});

test("every schema has the field that fits it", () => {
  const level = { $defs: { Level: { title: "Level", type: "string", enum: ["low", "high"] } } };
  for (const [name, schema, kind, labels, more] of [
    ["enum", { enum: ["a", "b"] }, "choice", ["a", "b"]],
    ["enum of numbers", { type: "integer", enum: [1, 2] }, "choice", ["1", "2"]],
    ["enumNames of MCP", { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] }, "choice", ["Red", "Green"]],
    ["x-enumNames", { type: "integer", enum: [1, 2], "x-enumNames": ["One", "Two"] }, "choice", ["One", "Two"]],
    ["titled oneOf", { type: "string", oneOf: [{ const: "#f00", title: "Red" }, { const: "#0f0", title: "Green" }] }, "choice", ["Red", "Green"]],
    ["titled anyOf", { anyOf: [{ const: 1, title: "One" }, { const: 2 }] }, "choice", ["One", "2"]],
    ["equal labels", { oneOf: [{ const: "a", title: "Same" }, { const: "b", title: "Same" }] }, "choice", ["Same (a)", "Same (b)"]],
    ["values that read the same", { enum: ["Yes", true, "1", 1] }, "choice", ['Yes ("Yes")', "Yes (true)", '1 ("1")', "1"]],
    ["a union of literals", { anyOf: [{ enum: ["a"] }, { const: "b" }, { type: "null" }] }, "choice", ["a", "b"]],
    ["enum with null", { enum: ["a", null] }, "choice", ["a"]],
    ["a reference", { $ref: "#/$defs/Level" }, "choice", ["low", "high"], level],
    ["a reference in allOf", { allOf: [{ $ref: "#/$defs/Level" }], default: "low" }, "choice", ["low", "high"], level],
    ["an optional reference", { anyOf: [{ $ref: "#/$defs/Level" }, { type: "null" }], default: null }, "choice", ["low", "high"], level],
    ["several of an enum", { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true }, "choices", ["a", "b"]],
    ["several titled", { type: "array", items: { anyOf: [{ const: "a", title: "A!" }, { const: "b", title: "B!" }] } }, "choices", ["A!", "B!"]],
    ["several of a reference", { type: "array", items: { $ref: "#/$defs/Level" } }, "choices", ["low", "high"], level],
    ["optional several", { anyOf: [{ type: "array", items: { enum: ["a"] } }, { type: "null" }] }, "choices", ["a"]],
    ["an optional text", { anyOf: [{ type: "string" }, { type: "null" }] }, "text"],
    ["a text or null", { type: ["string", "null"] }, "text"],
    ["nullable of OpenAPI", { type: "string", nullable: true }, "text"],
    ["a type left out", { maxLength: 3 }, "text"],
    ["an integer", { type: "integer" }, "number"], ["a number", { type: "number" }, "number"],
    ["an optional boolean", { type: "boolean" }, "yesno"], ["a required boolean", { type: "boolean" }, "check", undefined, required],
    ["a nullable required boolean", { type: ["boolean", "null"] }, "yesno", undefined, required],
    ["lines", { type: "array", items: { type: "string" } }, "list"], ["numbers", { type: "array", items: { type: "integer" } }, "list"],
    ["a fixed value", { const: "v1" }, "fixed", undefined, required], ["one that is preset", { const: "v1", default: "v1" }, "fixed"],
    ["one that may be left out", { const: true }, "choice", ["Yes"]], ["one that may be null", { anyOf: [{ const: "v1" }, { type: "null" }] }, "choice", ["v1"], required],
    ["one that null is preset for", { anyOf: [{ const: "v1" }, { type: "null" }], default: null }, "choice", ["v1"]],
    ["a group", { type: "object", properties: { a: { type: "string" } } }, "object"],
    ["a list of objects", { type: "array", items: { type: "object" } }, "json"], ["a map", { type: "object", additionalProperties: { type: "string" } }, "json"],
    ["a union", { anyOf: [{ type: "string" }, { type: "integer" }] }, "union"], ["anything", {}, "json"], ["true", true, "json"],
    ["a tuple", { type: "array", prefixItems: [{ type: "string" }] }, "json"],
    ["no such reference", { $ref: "#/$defs/None" }, "json"], ["a foreign reference", { $ref: "https://example.com/a.json" }, "json"],
    ["itself", { $ref: "#/properties/x" }, "json"], ["itself or null", { anyOf: [{ $ref: "#/properties/x" }, { type: "null" }] }, "json"],
    ["itself in allOf", { allOf: [{ $ref: "#/properties/x" }, { $ref: "#/properties/x" }] }, "json"],
  ]) {
    const field = property(schema, more);
    assert.equal(field.kind, kind, name);
    if (labels) assert.deepEqual(field.choices.map(one => one.label), labels, name);
  }
});

test("titles, descriptions and limits are shown", () => {
  const says = (schema, more) => { const { title, description, limits } = property(schema, more); return [title, description, ...limits]; };
  assert.deepEqual(says({ type: "string", title: "Due", description: "the last day", format: "date" }), ["Due", "the last day"]);
  assert.deepEqual(says({ $ref: "#/$defs/L", description: "how much" }, { $defs: { L: { title: "Level", description: "unused", enum: [1] } } }), ["Level", "how much"]);
  assert.deepEqual(says({ type: "integer", minimum: 1, maximum: 5 }), ["x", "", "a whole number", "1 to 5"]);
  assert.deepEqual(says({ type: "number", exclusiveMinimum: 0, multipleOf: 0.5 }), ["x", "", "more than 0", "a multiple of 0.5"]);
  assert.deepEqual(says({ type: "string", minLength: 2, maxLength: 5, pattern: "^a" }), ["x", "", "2 to 5 characters", "pattern ^a"]);
  assert.deepEqual(says({ type: "array", items: { enum: [1] }, minItems: 1 }), ["x", "", "at least 1 choice"]);
  assert.deepEqual(says({ type: "array", items: { type: "string" }, maxItems: 3, uniqueItems: true }), ["x", "", "one a line", "at most 3 lines", "none twice"]);
});

test("an answer is what was filled in, and what is empty is absent", () => {
  const optional = { anyOf: [{ type: "string" }, { type: "null" }], default: null }, tags = { type: "array", minItems: 1, maxItems: 2, items: { enum: ["a", "b", "c"] } };
  const group = { type: "object", required: ["city"], properties: { city: { type: "string" }, zip: { type: "string", default: "0" } } };
  const either = { anyOf: [{ type: "string", default: "b" }, { type: "integer" }, { type: "null" }] };
  const groupOrNull = { anyOf: [group, { type: "null" }] }, tidy = { type: ["object", "null"], properties: { a: { type: "string" } } };
  for (const [schema, raw, more, ...wants] of [
    [optional, undefined, {}, "{}"], [optional, "", required, '{"x":null}'], [optional, "a", {}, '{"x":"a"}'],
    [{ type: "string" }, "", {}, "{}"], [{ type: "string" }, "", required, "{}", "/x: is required"],
    [{ type: "string", nullable: true }, "", required, "{}", "/x: is required"],
    [{ type: "string", default: "as it was" }, undefined, {}, '{"x":"as it was"}'], [{ type: "string", default: "as it was" }, "", {}, "{}"],
    [{ type: "integer" }, "9007199254740993", {}, '{"x":9007199254740993}'], [{ type: "number" }, "1.10", {}, '{"x":1.10}'], [{ type: "number" }, "+.5", {}, '{"x":0.5}'],
    [{ type: "number" }, "1,5", {}, '{"x":0}', "/x: must be a number, such as 1.5"], [{ type: "integer" }, "1.5", {}, '{"x":1.5}', "/x: must be integer"], [{ type: "integer" }, "1e3", {}, '{"x":1e3}'],
    [{ type: "number" }, "1e400", {}, '{"x":1e400}'], [{ type: "number", exclusiveMaximum: 1 }, "1.0", {}, '{"x":1.0}', "/x: must be less than 1"],
    [{ type: "boolean" }, undefined, {}, "{}"], [{ type: "boolean" }, "false", {}, '{"x":false}'], [{ type: "boolean" }, undefined, required, '{"x":false}'], [{ type: "boolean", default: true }, undefined, required, '{"x":true}'],
    [{ enum: [1, "1"] }, "1", {}, '{"x":1}'], [{ enum: [1, 2], default: 2.0 }, undefined, {}, '{"x":2}'], [{ enum: ["a"] }, undefined, required, "{}", "/x: is required"],
    [tags, ['"c"', '"a"'], {}, '{"x":["a","c"]}'], [tags, [], {}, "{}"], [tags, [], required, "{}", "/x: is required"], [{ type: "array", items: { enum: ["a"] } }, [], required, '{"x":[]}'], [tags, ['"a"', '"b"', '"c"'], {}, '{"x":["a","b","c"]}', "/x: must have at most 2 items"],
    [{ type: "array", items: { type: "string" } }, " one \n\ntwo", {}, '{"x":["one","two"]}'], [{ type: "array", items: { type: "integer" } }, "1\nb", {}, '{"x":[1,0]}', "/x/1: must be a number, such as 1.5"],
    [{ type: "array", items: { type: "integer", maximum: 3 }, default: [1, 2] }, undefined, {}, '{"x":[1,2]}'],
    [{ type: "array", items: { type: "string" }, default: ["a", "", "b"] }, undefined, {}, '{"x":[\n  "a",\n  "",\n  "b"\n]}'],
    [{ type: "object", properties: { lines: { type: "array", items: { type: "string" } } }, default: { lines: ["a\nb"] } }, undefined, {}, '{"x":{"lines":[\n  "a\\nb"\n]}}'],
    [{ type: "object", properties: { to: either, note: { type: "string" } }, default: { to: null, note: "a" } }, undefined, {}, '{"x":{"note":"a"}}'],
    [{ type: "object", properties: { to: either, note: { type: "string" } }, required: ["to"], default: { to: null, note: "a" } }, undefined, {}, '{"x":{"to":null,"note":"a"}}'],
    [{ type: "object", properties: { v: { const: "v1" } }, default: { v: "v1" } }, undefined, {}, '{"x":{"v":"v1"}}'], [{ type: "object", properties: { v: { const: "v1" } }, default: { v: "v1" } }, {}, {}, "{}"],
    [{ const: "v1" }, undefined, required, '{"x":"v1"}'], [{ const: "v1" }, undefined, {}, "{}"], [{ const: "v1" }, '"v1"', {}, '{"x":"v1"}'], [{ const: "v1", default: "v1" }, undefined, {}, '{"x":"v1"}'],
    [{ anyOf: [{ const: "v1" }, { type: "null" }], default: null }, undefined, {}, "{}"], [{ anyOf: [{ const: "v1" }, { type: "null" }] }, undefined, required, '{"x":null}'],
    [group, undefined, {}, "{}"], [group, { city: "Rome", zip: "0" }, {}, '{"x":{"city":"Rome","zip":"0"}}'], [group, undefined, required, '{"x":{"zip":"0"}}', "/x/city: is required"],
    [groupOrNull, undefined, required, '{"x":null}'], [groupOrNull, { city: "Rome", zip: "0" }, required, '{"x":{"city":"Rome","zip":"0"}}'], [groupOrNull, { city: "", zip: "1" }, required, '{"x":{"zip":"1"}}', "/x/city: is required"],
    [groupOrNull, undefined, {}, "{}"], [{ ...groupOrNull, default: null }, undefined, {}, "{}"], [{ ...groupOrNull, default: null }, undefined, required, '{"x":null}'],
    [{ ...groupOrNull, default: { city: "Oslo" } }, undefined, required, '{"x":{"city":"Oslo","zip":"0"}}'], [{ ...groupOrNull, default: { city: "Oslo" } }, undefined, {}, '{"x":{"city":"Oslo","zip":"0"}}'],
    [{ type: ["object", "null"], required: ["b"], properties: { b: { type: "boolean" } } }, undefined, required, '{"x":{"b":false}}'],
    [{ type: ["object", "null"], properties: { a: { type: "string", default: "shown" } } }, undefined, required, '{"x":{"a":"shown"}}'],
    [tidy, undefined, required, '{"x":null}'], [tidy, { a: "b" }, required, '{"x":{"a":"b"}}'],
    [{ type: "object" }, "{", {}, '{"x":{}', "/x: Invalid JSON: a member's name is missing at line 1, column 2"],
    [{ type: "string", format: "date" }, "2026-02-30", {}, '{"x":"2026-02-30"}', "/x: must be a date, such as 2026-12-24"],
  ]) assert.deepEqual(answers(schema, raw, more), wants, JSON.stringify([schema, raw, more]));
});

test("a form of one value, and one with nothing to fill in", () => {
  const whole = (schema, raw) => { const node = tree(schema), form = formOf(node); const { text, faults } = filled(form, raw ?? form.start, node); return [form.kind, text, faults.length]; };
  assert.deepEqual(whole({ type: "integer", minimum: 1 }, "2"), ["number", "2", 0]);
  assert.deepEqual(whole({ type: "string" }), ["text", undefined, 1]);
  assert.deepEqual(whole({ type: "boolean" }), ["check", "false", 0]);
  assert.deepEqual(whole({ type: "object", properties: {} }), ["object", "{}", 0]);
  assert.deepEqual(whole({ type: ["object", "null"], properties: { a: { type: "string" } } }), ["object", "null", 0]);
  assert.deepEqual(whole({ $ref: "#/$defs/A", $defs: { A: { type: "object", properties: { a: { type: "string" } } } } }, { a: "b" }), ["object", '{"a":"b"}', 0]);
  assert.deepEqual(whole({ type: "object", properties: {}, required: ["b"] }, { b: "1" }), ["object", '{"b":1}', 0]);
  assert.deepEqual(whole({ type: "object", properties: { "a/b": { type: "string", minLength: 2 } } }, { "a/b": "x" }), ["object", '{"a/b":"x"}', 1]);
});

test("whether exactly one alternative fits is left to the service, which runs patterns", () => {
  for (const oneOf of [[{ pattern: "^AB" }, { pattern: "^CD" }], [{ not: { const: "AB1" } }, { minLength: 2 }], [{ maxLength: 1 }, { pattern: "^AB" }]])
    assert.deepEqual(answers({ type: "string", oneOf }, "AB1"), ['{"x":"AB1"}']);
  assert.deepEqual(faults(tree({ oneOf: [{ maxLength: 1 }, { maxLength: 2 }] }), read('"AB1"')), ["/: does not fit any of the alternatives"]);
});

// The texts are those of TestFormatsAreCheckedInEveryDraft: the page and the service agree on them.
test("formats are checked", () => {
  const fits = (format, text) => faults(tree({ type: "string", format }), { kind: "string", value: text }).length === 0;
  for (const [format, good, bad] of [
    ["date", ["2024-02-29", "0001-01-01"], ["soon", "", "2023-02-29", "2026-1-2", "2026-12-24T18:00:00Z"]],
    ["date-time", ["2026-12-24T18:00:00Z", "2026-12-24t18:00:00z", "2026-12-24T18:00:00.5+01:00", "2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00", "2026-12-24T18:00:00-23:59"],
      ["2026-12-24 18:00:00Z", "2026-12-24T18:00Z", "2026-12-24T18:00:00", "2026-12-24T24:00:00Z", "2026-12-24T25:00:00Z", "2026-12-24T18:00:60Z", "2026-12-24T+8:00:00Z", "2026-12-24T18:00:00+24:00", "2026-12-24T18:00:00.Z", "2023-02-29T18:00:00Z"]],
    ["email", ["a@b", "ada.lovelace+x@mail.example.com", '"a b"@example.com', "ada@[10.0.0.1]", "ada@[IPv6:::1]", "a".repeat(64) + "@b"],
      ["ada", "@example.com", "ada@", "a b@c", "a..b@c", ".a@c", "ada@exa_mple.com", "ada@-b", "ädä@example.com", "a".repeat(65) + "@b"]],
    ["uri", ["https://example.com", "mailto:ada@example.com", "urn:isbn:1", "http://[::1]:8080/a?b#c", "https://example.com/ü"], ["example.com", "/a", "https:", "https://example.com/a b", "//example.com", "1a:b", ":b"]],
    ["uuid", ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"], ["123", "123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "123e4567-e89b-12d3-a456-42661417400g"]],
    ["ipv4", ["10.0.0.1", "255.255.255.255"], ["10.0.0.256", "10.0.0", "010.0.0.1", "+10.0.0.1", "::1", "10.0.0.1/8"]],
    ["ipv6", ["::1", "fe80::a", "::ffff:10.0.0.1"], ["1::2::3", "fe80::a%eth0", "[::1]", "10.0.0.1", "12345::"]],
    ["hostname", ["not checked!"], []], ["unheard", ["anything"], []]]) {
    for (const text of good) assert.equal(fits(format, text), true, `${format}: ${text}`);
    for (const text of bad) assert.equal(fits(format, text), false, `${format}: ${text}`);
  }
});

test("numbers keep their digits", () => {
  assert.deepEqual([compare("9007199254740993", "9007199254740992"), compare("1.0", "1"), compare("-2", "-1"), compare("1e400", "1e399"), compare("-0", "0"), compare("0.1", "0.01")], [1, 0, -1, 1, 0, 1]);
  assert.deepEqual([isWhole("1.0"), isWhole("1e-1"), isWhole("10e-1"), isMultiple("0.3", "0.1"), isMultiple("1", "0.3"), isMultiple("1e999999999", "3")], [true, false, true, true, false, true]);
  assert.deepEqual(["007", "-.5", "1.", "", "1e5", "0x1", "NaN", "--1", "1 2"].map(typedNumber), ["7", "-0.5", "1", undefined, "1e5", undefined, undefined, undefined, undefined]);
});

test("no name that an agent gives is one that every object has", () => {
  const names = ["constructor", "toString", "__proto__"], kinds = [{ type: "boolean" }, { enum: ["a"] }, { anyOf: [{ type: "string" }, { type: "integer" }] }, { type: "string", format: "constructor" }];
  for (const name of names) for (const kind of kinds) {
    const text = `{"type":"object","properties":{${JSON.stringify(name)}:${JSON.stringify(kind)},"other":{"type":"string"}}}`, node = tree(text), form = formOf(node);
    assert.deepEqual(filled(form, JSON.parse('{"other":"typed"}'), node), { text: '{"other":"typed"}', faults: [] }, text);
    assert.deepEqual(filled(form, JSON.parse(JSON.stringify({ ...form.start, other: "typed" })), node).text, '{"other":"typed"}', text);
  }
  for (const format of names) assert.deepEqual(property({ type: "string", format }).limits, [], format);
  assert.equal(own(JSON.parse('{"__proto__":"typed"}'), "__proto__"), "typed");
});

test("a schema that leads in circles ends", () => {
  const circle = tree({ allOf: [{ $ref: "#" }, { $ref: "#" }], anyOf: [{ $ref: "#" }, { $ref: "#" }] });
  assert.equal(formOf(circle).kind, "json");
  assert.equal(Array.isArray(faults(circle, tree("{}"))), true);
});

test("a union asks which, and then for its fields", () => {
  const card = { type: "object", title: "Card", properties: { kind: { const: "card" }, number: { type: "string" } }, required: ["kind", "number"] };
  const bank = { type: "object", properties: { kind: { const: "bank" }, iban: { type: "string" } }, required: ["kind", "iban"] };
  const pay = { oneOf: [card, bank] }, field = property(pay, required);
  assert.deepEqual([field.kind, field.options.map(one => one.label)], ["union", ["Card", "bank"]]);
  assert.deepEqual(answers(pay, undefined, required), ["{}", "/x: is required"]);
  assert.deepEqual(answers(pay, { which: 1, of: { 1: { iban: "DE1" } } }, required), ['{"x":{"kind":"bank","iban":"DE1"}}']);
  assert.deepEqual(answers(pay, { which: 0, of: { 1: { iban: "DE1" }, 0: { number: "4" } } }, required), ['{"x":{"kind":"card","number":"4"}}']);
  assert.deepEqual(answers(pay, undefined), ["{}"], "an optional one is absent until it is chosen");

  const optional = { oneOf: [{ type: "object", properties: { kind: { const: "card" }, number: { type: "string" } } }, { type: "object", properties: { kind: { const: "bank" }, iban: { type: "string" } } }] };
  assert.deepEqual(property(optional).options.map(one => one.label), ["card", "bank"], "by the value that tells them apart, also where it may be left out");

  const either = { anyOf: [{ type: "integer" }, { type: "string" }, { type: "null" }] };
  assert.deepEqual(property(either).options.map(one => one.label), ["A number", "Text"]);
  assert.deepEqual(answers(either, { which: 0, of: { 0: "07" } })[0], '{"x":7}');
  assert.deepEqual(answers(either, { which: 1, of: { 1: "07" } }), ['{"x":"07"}']);
  assert.deepEqual(answers(either, undefined, required), ['{"x":null}']);
  assert.deepEqual(answers({ type: ["boolean", "string"] }, { which: 0, of: { 0: "true" } }), ['{"x":true}']);

  for (const [why, schema] of [["null", { ...either, default: null }], ["null around it", { type: "object", properties: { to: either }, default: { to: null } }]]) {
    const field = property(schema), union = field.fields?.[0] ?? field;
    assert.equal(union.kind, "union", why);
    assert.equal(union.options[1].field.preset, undefined, why);
  }
  for (const [why, schema] of [
    ["an option is nested", { anyOf: [{ type: "array", items: { type: "object" } }, { type: "string" }] }],
    ["equal names", { anyOf: [{ type: "string" }, { type: "string", minLength: 2 }] }],
    ["too many", { anyOf: Array.from({ length: 9 }, (_, i) => ({ type: "string", title: "T" + i })) }],
    ["a default", { anyOf: [{ type: "string" }, { type: "integer" }], default: 1 }],
  ]) assert.equal(property(schema).kind, "json", why);
});

test("a union that contains itself ends", () => {
  const schema = { $defs: { T: { type: "object", properties: { next: { anyOf: [{ $ref: "#/$defs/T" }, { type: "string" }] } } } }, $ref: "#/$defs/T" };
  assert.equal(formOf(tree(schema)).kind, "object");
});
