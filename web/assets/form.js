// A form as JSON Schema describes it: which fields it has, where they start, and the JSON text of what was filled in.
// It reads what MCP, Pydantic and OpenAPI write. Only what is truly nested is left to JSON.

import { member, pretty, read, textOf } from "./exact.js";
import { typedNumber } from "./numbers.js";
import { findFaults, pointer, same, target } from "./schema.js";

const mostSteps = 20000; // of following references, which may lead in circles
const deepestReference = 16;
const deepest = 2; // levels of objects that are groups of fields
const longText = 200; // characters; longer texts get a field of several lines

const object = members => ({ kind: "object", members });
// under returns a schema with the members of another one that it does not have itself.
function under(schema, other) {
  if (other?.kind !== "object") return schema;
  const members = schema.members.map(([name, one]) => {
    const more = member(other, name);
    if (name === "properties" && more?.kind === "object") return [name, under(one, more)];
    if (name === "required" && more?.kind === "array") return [name, { ...one, items: [...one.items ?? [], ...more.items] }];
    return [name, one];
  });
  return object([...members, ...other.members.filter(([name]) => !member(schema, name))]);
}
const less = (schema, ...names) => object(schema.members.filter(([name]) => !names.includes(name)));

// resolved follows references, and merges what holds at the same time.
function resolved(schema, within, hops = 0) {
  for (; schema?.kind === "object" && hops < deepestReference && within.left-- > 0; hops++) {
    const ref = textOf(schema, "$ref"), all = member(schema, "allOf");
    if (ref !== undefined) schema = under(less(schema, "$ref"), target(within.root, ref));
    else if (all?.items?.length) schema = all.items.reduce((sum, one) => under(sum, resolved(one, within, hops + 1)), less(schema, "allOf"));
    else return schema;
  }
  return object([]);
}

const isNull = node => node?.kind === "word" && node.value === null;
const meansNull = schema => textOf(schema, "type") === "null" || isNull(member(schema, "const")) || member(schema, "enum")?.items?.length === 1 && isNull(member(schema, "enum").items[0]);
const labelOf = node => node.kind === "string" ? node.value : node.kind === "word" && node.value !== null ? (node.value ? "Yes" : "No") : pretty(node, "");
const textsOf = (schema, ...names) => names.map(name => member(schema, name)?.items).find(Boolean)?.map(one => one.kind === "string" ? one.value : undefined) ?? [];

function enumerated(schema) {
  const names = textsOf(schema, "enumNames", "x-enumNames", "x-enum-varnames"), about = textsOf(schema, "x-enum-descriptions", "enumDescriptions");
  return member(schema, "enum").items.map((node, i) => ({ node, label: names[i] ?? labelOf(node), description: about[i] ?? "" }));
}

// choicesOf returns the values that a schema lists, undefined when it lists none.
function choicesOf(schema, within) {
  if (member(schema, "enum")?.items) return enumerated(schema);
  const list = (member(schema, "oneOf") ?? member(schema, "anyOf"))?.items?.map(one => resolved(one, within)).filter(one => !meansNull(one));
  if (!list?.length) return undefined;
  const found = [];
  for (const one of list) {
    const fixed = member(one, "const");
    if (fixed) found.push({ node: fixed, label: textOf(one, "title") ?? labelOf(fixed), description: textOf(one, "description") ?? "" });
    else if (member(one, "enum")?.items) found.push(...enumerated(one));
    else return undefined;
  }
  return found;
}

// toldApart gives equal labels what differs: the value, as JSON if it reads the same too.
function toldApart(choices) {
  return choices.map(one => {
    const twins = choices.filter(other => other !== one && other.label === one.label), text = pretty(one.node, ""), value = labelOf(one.node);
    const apart = twins.some(other => labelOf(other.node) === value) ? text : value;
    return { text, node: one.node, label: twins.length > 0 && one.label !== text ? `${one.label} (${apart})` : one.label, description: one.description };
  });
}

function typesOf(schema) {
  const type = member(schema, "type"), types = (type?.items ?? [type]).map(one => one?.value).filter(one => typeof one === "string");
  if (types.length) return types;
  const has = (...names) => names.some(name => member(schema, name));
  if (has("properties")) return ["object"];
  if (has("items")) return ["array"];
  if (has("minLength", "maxLength", "pattern", "format")) return ["string"];
  return has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf") ? ["number"] : [];
}

// withoutNull takes the null out of a schema that allows it, and says whether there was one.
function withoutNull(schema, within, hops = 0) {
  for (const keyword of ["anyOf", "oneOf"]) {
    const list = member(schema, keyword)?.items?.map(one => resolved(one, within));
    if (!list) continue;
    const rest = list.filter(one => !meansNull(one)), nullable = rest.length < list.length;
    if (rest.length === 1 && hops < deepestReference) {
      const [inner, also] = withoutNull(under(less(schema, keyword), rest[0]), within, hops + 1);
      return [inner, nullable || also];
    }
    if (nullable) return [schema, true];
  }
  const types = typesOf(schema);
  return [schema, types.length > 1 && types.includes("null") || (member(schema, "enum")?.items ?? []).some(isNull)];
}

const plural = (n, what) => `${n} ${what}${n === "1" ? "" : "s"}`;
function span(low, high, what) {
  if (low && high) return low === high ? plural(low, what) : `${low} to ${plural(high, what)}`;
  return low ? `at least ${plural(low, what)}` : high ? `at most ${plural(high, what)}` : "";
}

const formatWords = { __proto__: null, email: "an email address", uri: "a URL", uuid: "a UUID", ipv4: "an IPv4 address", ipv6: "an IPv6 address" };

// limitsOf says what will be refused.
function limitsOf(schema, kind, type) {
  const of = name => { const one = member(schema, name); return one?.kind === "number" ? one.text : undefined; };
  if (kind === "number") {
    const [low, high] = [of("minimum"), of("maximum")];
    return [type === "integer" && "a whole number", low && high ? `${low} to ${high}` : low ? `at least ${low}` : high && `at most ${high}`,
      of("exclusiveMinimum") && `more than ${of("exclusiveMinimum")}`, of("exclusiveMaximum") && `less than ${of("exclusiveMaximum")}`, of("multipleOf") && `a multiple of ${of("multipleOf")}`].filter(Boolean);
  }
  if (kind === "choices") return [span(of("minItems") === "0" ? "" : of("minItems"), of("maxItems"), "choice")].filter(Boolean);
  if (kind === "list") return ["one a line", span(of("minItems") === "0" ? "" : of("minItems"), of("maxItems"), "line"), member(schema, "uniqueItems")?.value === true && "none twice"].filter(Boolean);
  if (kind === "text") {
    return [formatWords[textOf(schema, "format")], span(of("minLength") === "0" ? "" : of("minLength"), of("maxLength"), "character"), textOf(schema, "pattern") && `pattern ${textOf(schema, "pattern")}`].filter(Boolean);
  }
  return [];
}

// emptyList is an empty array where one is required and may be empty.
const emptyList = ({ required, schema }) => required && !(Number(member(schema, "minItems")?.text) > 0) ? "[]" : undefined;

const scalar = new Set(["string", "integer", "number"]);

const mostOptions = 8; // of a union
const kindWords = { text: "Text", number: "A number", check: "Yes or no", list: "A list", choices: "A list", choice: "One of a list" };

// optionLabel names an option of a union: by its title, by the value that tells it apart, or by what it has.
function optionLabel(option, field) {
  const title = textOf(option, "title");
  if (title) return title;
  const constOf = one => member(one.schema, "const");
  if (constOf(field)) return labelOf(constOf(field));
  if (field.kind !== "object") return field.format === "date" || field.format === "date-time" ? "A date" : kindWords[field.kind];
  const apart = field.fields.find(constOf);
  return apart ? labelOf(constOf(apart)) : field.fields.slice(0, 3).map(one => one.title).join(", ");
}

// unionOf returns the options of a schema that allows one of several forms, [{label, field}]; undefined where there are
// none, or one of them is truly nested.
function unionOf(schema, within, depth) {
  const keyword = ["oneOf", "anyOf"].find(name => member(schema, name)?.items), types = typesOf(schema).filter(type => type !== "null");
  const rest = less(schema, "oneOf", "anyOf", "title", "description", "default"), preset = member(schema, "default");
  const list = keyword ? member(schema, keyword).items.map(one => resolved(one, within)).filter(one => !meansNull(one)).map(one => under(less(rest, ...one.members.map(([name]) => name).filter(name => name === "type")), one))
    : types.length > 1 ? types.map(type => object([...less(rest, "type").members, ["type", { kind: "string", value: type }]])) : [];
  if (list.length < 2 || list.length > mostOptions || depth > deepest || preset && !isNull(preset)) return undefined;
  const options = list.map(one => { const field = fieldOf("", one, within, true, depth + 1); return { label: optionLabel(one, field), field }; });
  if (options.some(({ field, label }) => field.kind === "json" || field.kind === "union" || !label)) return undefined;
  return new Set(options.map(({ label }) => label)).size === options.length ? options : undefined;
}

// fieldOf returns one field: {name, title, description, kind, type, required, nullable, limits, choices, fields, options,
// start}. kind is choice, choices, check, yesno, number, text, list, object, union, fixed or json. sent says that the object
// around the field is part of the answer even if nothing in it is filled in. preset is the default that this object has for
// the field, which is used before its own.
function fieldOf(name, given, within, required, depth = 0, sent = true, preset = undefined) {
  const [alone, nullable] = withoutNull(resolved(given, within), within), schema = preset ? under(object([["default", preset]]), alone) : alone;
  const title = textOf(schema, "title") || name, description = textOf(schema, "description") ?? "";
  const base = { name, title, description, required, nullable, preset: member(schema, "default"), schema };
  const as = (kind, more = {}) => { const field = { ...base, kind, limits: limitsOf(schema, kind, more.type), ...more }; field.start = startOf(field); return field; };
  const types = typesOf(schema).filter(type => type !== "null"), [type] = types;

  // A value that may be left out is chosen. Shown without a control, it would read as if it was sent.
  const fixed = member(schema, "const"), is = preset => preset && same(preset, fixed);
  if (fixed && (sent && required && !nullable || is(base.preset) && is(member(alone, "default")))) return as("fixed", { text: pretty(fixed, ""), label: labelOf(fixed) });
  if (fixed) return as("choice", { choices: toldApart([{ node: fixed, label: labelOf(fixed), description: "" }]) });
  const choices = choicesOf(schema, within);
  if (choices && type !== "array" && type !== "object") return as("choice", { choices: toldApart(choices.filter(one => !isNull(one.node))) });
  const options = unionOf(schema, within, depth);
  if (options) return as("union", { options });
  if (types.length !== 1) return as("json");
  if (type === "boolean") return as(required && !nullable ? "check" : "yesno");
  if (type === "integer" || type === "number") return as("number", { type });
  if (type === "string") {
    const preset = base.preset?.kind === "string" ? base.preset.value : "", format = textOf(schema, "format");
    const long = Number(member(schema, "maxLength")?.text) > longText && !format || preset.includes("\n") || ["multiline", "textarea", "markdown"].includes(format);
    return as("text", { format, long });
  }
  if (type === "array") return arrayOf(schema, within, as);
  if (type !== "object" || depth > deepest || !member(schema, "properties")?.members) return as("json");
  const there = required && !nullable || base.preset && !isNull(base.preset);
  return as("object", { fields: fieldsOf(schema, within, depth, Boolean(sent && there), base.preset) });
}

function arrayOf(schema, within, as) {
  const given = member(schema, "items");
  if (given?.kind !== "object" || member(schema, "prefixItems")) return as("json");
  const items = resolved(given, within), choices = choicesOf(items, within), types = typesOf(items);
  if (choices) return as("choices", { choices: toldApart(choices) });
  const presets = as("json").preset?.items ?? [];
  const lines = types.length === 1 && scalar.has(types[0]) && presets.every(one => one.kind === "number" || one.kind === "string" && one.value !== "" && !/[\r\n]/.test(one.value) && one.value.trim() === one.value);
  return lines ? as("list", { type: types[0] }) : as("json");
}

// fieldsOf returns the fields of an object. Members of the default of the object are used before the defaults of the fields.
function fieldsOf(schema, within, depth, sent, preset) {
  const required = new Set((member(schema, "required")?.items ?? []).map(one => one.value)), properties = member(schema, "properties").members;
  const fieldFor = (name, one) => fieldOf(name, one, within, required.has(name), depth + 1, sent, member(preset, name));
  const fields = properties.map(([name, one]) => fieldFor(name, one));
  // What is required and not described is asked for as well.
  for (const name of required) if (!properties.some(([one]) => one === name)) fields.push(fieldFor(name, object([])));
  return fields;
}

const single = ""; // the name of the one value where a schema has no properties

// formOf returns the form of a schema's tree: a field of the kind "object", or one of another kind.
export function formOf(schema) {
  const form = fieldOf(single, schema, { root: schema, left: mostSteps }, true);
  return form.kind === "object" && !form.nullable ? form : { ...form, required: true };
}

// formFor returns {schema, form} of a request whose answer a schema types; they are worked out once for a schema.
const forms = new WeakMap();
export function formFor({ response_schema: { node } }) {
  const schema = node.kind === "object" ? node : object([]);
  if (!forms.has(node)) forms.set(node, { schema, form: formOf(schema) });
  return forms.get(node);
}

// startOf returns what a field shows before anybody has filled it in.
function startOf(field, preset = field.preset) {
  const there = preset && !isNull(preset) ? preset : undefined;
  switch (field.kind) {
    case "check": return there?.value === true ? "true" : "false";
    case "yesno": return typeof there?.value === "boolean" ? String(there.value) : undefined;
    case "choice": return there && field.choices.find(one => same(one.node, there))?.text;
    case "choices": return (there?.items ?? []).map(node => field.choices.find(one => same(one.node, node))?.text).filter(Boolean);
    case "number": return there?.kind === "number" ? there.text : "";
    case "text": return there?.kind === "string" ? there.value : "";
    case "list": return (there?.items ?? []).map(one => one.kind === "number" ? one.text : one.value).join("\n");
    case "json": return there ? pretty(there) : "";
    case "object": return Object.fromEntries(field.fields.map(one => [one.name, startOf(one, member(there, one.name) ?? one.preset)]));
  }
  return undefined;
}

// own returns a member of what was filled in. An agent may name a field "constructor": what a draft does not have, its prototype would.
export const own = (raw, name) => Object.hasOwn(raw ?? {}, name) ? raw[name] : undefined;

// valueOf returns the JSON text of a field, undefined for one that was left empty. Faults of what was typed go to wrong.
function valueOf(field, raw, wrong = [], at = "") {
  const empty = field.required && field.nullable ? "null" : undefined;
  switch (field.kind) {
    case "fixed": return field.text;
    case "check": case "yesno": case "choice": return raw ?? empty;
    case "choices": return raw?.length ? `[${field.choices.map(one => one.text).filter(text => raw.includes(text)).join(",")}]` : empty ?? emptyList(field);
    case "number": return raw?.trim() ? numberOf(raw, wrong, at) : empty;
    case "text": return raw ? JSON.stringify(raw) : empty;
    case "list": {
      const lines = (raw ?? "").split("\n").map(line => line.trim()).filter(Boolean);
      if (lines.length === 0) return empty ?? emptyList(field);
      return `[${lines.map((line, i) => field.type === "string" ? JSON.stringify(line) : numberOf(line, wrong, pointer(at, i))).join(",")}]`;
    }
    case "union": {
      const option = field.options[raw?.which];
      return option ? valueOf(option.field, raw.of?.[raw.which] ?? option.field.start, wrong, at) : empty;
    }
    case "json": {
      if (!raw?.trim()) return empty;
      try { read(raw); } catch (error) { wrong.push({ at, text: `Invalid JSON: ${error.message}` }); }
      return raw.trim();
    }
  }
  // An object that may be absent or null is that until something in it is filled in. A required one that shows a whole
  // value from the beginning, such as a box that is not checked, is what it shows.
  const may = !field.required || field.nullable && !isWhole(field), preset = field.preset && !isNull(field.preset);
  if (may && !preset && JSON.stringify(raw ?? {}) === JSON.stringify(field.start)) return empty;
  const members = field.fields.map(one => [one.name, valueOf(one, own(raw, one.name), wrong, pointer(at, one.name))]).filter(([, text]) => text !== undefined);
  return members.length === 0 && may ? empty : `{${members.map(([name, text]) => JSON.stringify(name) + ":" + text).join(",")}}`;
}

const isBlank = start => start === undefined || start === "" || Array.isArray(start) && start.length === 0 || typeof start === "object" && Object.values(start).every(isBlank);
const isWhole = ({ start, fields }) => !isBlank(start) && fields.every(one => !one.required || one.nullable || !isBlank(start[one.name]));

function numberOf(typed, wrong, at) {
  const text = typedNumber(typed);
  if (text === undefined) wrong.push({ at, text: "must be a number, such as 1.5" });
  return text ?? "0";
}

// filled returns {text, faults} of a form: its answer as JSON text, and what the service would refuse.
export function filled(form, raw, schema) {
  const wrong = [], text = valueOf(form, raw, wrong);
  if (wrong.length > 0) return { text, faults: wrong };
  if (text === undefined) return { text, faults: [{ at: "", text: "is required", missing: true }] };
  return { text, faults: findFaults(schema, read(text)) };
}
