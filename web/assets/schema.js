// Checks a value before it is sent. The service checks every keyword of JSON Schema; the page checks the common ones.
// It does not run patterns: an agent's pattern could stall the page.

import { member, pretty } from "./exact.js";
import { compare, isMultiple, isWhole } from "./numbers.js";

const kinds = {
  __proto__: null,
  object: v => v.kind === "object", array: v => v.kind === "array", string: v => v.kind === "string", number: v => v.kind === "number",
  integer: v => v.kind === "number" && isWhole(v.text), boolean: v => v.kind === "word" && v.value !== null, null: v => v.kind === "word" && v.value === null,
};
const deepest = 32;
const mostSteps = 20000; // references may lead in circles; the service checks the rest

export const pointer = (at, name) => `${at}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
// stepOf returns the name in one step of a pointer.
export const stepOf = part => part.replaceAll("~1", "/").replaceAll("~0", "~");

// sorted returns a value with the members of its objects in one order.
const sorted = node => node.kind === "object" ? { ...node, members: node.members.map(([name, one]) => [name, sorted(one)]).sort(([a], [b]) => a < b ? -1 : 1) }
  : node.kind === "array" ? { ...node, items: node.items.map(sorted) } : node;

// same reports whether two values are equal: 1 and 1.0 are.
export function same(a, b) {
  if (a.kind === "number" && b.kind === "number") return compare(a.text, b.text) === 0;
  return a.kind === b.kind && pretty(sorted(a), "") === pretty(sorted(b), "");
}

// target returns the schema that a reference names, undefined when it is not in this document.
export function target(root, ref) {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let node = root;
  try {
    for (const step of ref.slice(2).split("/").map(part => stepOf(decodeURIComponent(part))))
      node = node?.kind === "array" ? node.items[Number(step)] : member(node, step);
  } catch { return undefined; }
  return node;
}

// isTime checks hh:mm:ss with a zone. A leap second is the last one of a day in UTC.
function isTime(text) {
  const parts = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([-+])(\d\d):(\d\d))$/.exec(text);
  if (!parts) return false;
  const [hour, minute, second, zoneHour = 0, zoneMinute = 0] = [1, 2, 3, 5, 6].map(i => parts[i] && Number(parts[i])), zone = zoneHour * 60 + zoneMinute;
  if (hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) return false;
  return second < 60 || (hour * 60 + minute + (parts[4] === "+" ? 1440 - zone : zone)) % 1440 === 1439;
}

const mailbox = /^(?:[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*|"[^"\\]*")$/;
const host = /^(?=.{1,253}\.?$)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*\.?$/i;
function isEmail(text) {
  const at = text.lastIndexOf("@"), literal = /^\[(IPv6:)?(.*)\]$/.exec(text.slice(at + 1));
  return text.length <= 254 && at > 0 && at <= 64 && mailbox.test(text.slice(0, at)) && (literal ? formats[literal[1] ? "ipv6" : "ipv4"](literal[2]) : host.test(text.slice(at + 1)));
}

// Formats as the service checks them (runs/document/schema_format.go), which alone checks the parts of a URL.
export const formats = {
  date: text => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text),
  "date-time": text => /^[Tt]$/.test(text[10]) && formats.date(text.slice(0, 10)) && isTime(text.slice(11)),
  email: isEmail,
  uri: text => /^[A-Za-z][A-Za-z0-9+.-]*:[^\s]+$/.test(text),
  uuid: text => /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text),
  ipv4: text => /^\d{1,3}(\.\d{1,3}){3}$/.test(text) && text.split(".").every(part => String(Number(part)) === part && Number(part) < 256),
  ipv6: text => /^[0-9a-fA-F:.]+$/.test(text) && URL.canParse(`http://[${text}]/`),
};
const formatNames = {
  date: "a date, such as 2026-12-24", "date-time": "a date and time, such as 2026-12-24T18:00:00Z", email: "an email address", uri: "a URL with its scheme, such as https://example.com",
  uuid: "a UUID", ipv4: "an IPv4 address", ipv6: "an IPv6 address",
};

// faults returns what of a value's tree does not fit a schema's tree, as lines that begin with a JSON pointer.
export const faults = (schema, value) => findFaults(schema, value).map(({ at, text }) => `${at || "/"}: ${text}`);

// findFaults returns [{at, text, missing}]. Both schema and value are trees.
export function findFaults(schema, value, within = { root: schema, left: mostSteps }, at = "", depth = 0) {
  if (schema?.kind === "word" && schema.value === false) return [{ at, text: "nothing is allowed here" }];
  if (schema?.kind !== "object" || depth > deepest || within.left-- <= 0) return [];
  const found = [], add = text => found.push({ at, text });
  const of = name => member(schema, name), bound = name => of(name)?.kind === "number" ? of(name).text : undefined;
  const inner = (one, of = value, to = at) => findFaults(one, of, within, to, depth + 1);

  if (of("$ref")?.kind === "string") found.push(...inner(target(within.root, of("$ref").value)));
  for (const one of of("allOf")?.items ?? []) found.push(...inner(one));
  for (const keyword of ["anyOf", "oneOf"]) found.push(...alternatives(of(keyword)?.items, inner, at));

  const types = (of("type")?.items ?? [of("type")]).map(one => one?.value).filter(one => typeof one === "string");
  if (types.length && !types.some(type => kinds[type]?.(value))) return [...found, { at, text: `must be ${types.join(" or ")}` }];
  const choices = of("enum")?.items, fixed = of("const");
  if (choices && !choices.some(one => same(one, value))) add("must be one of " + choices.map(one => pretty(one, "")).join(", "));
  if (fixed && !same(fixed, value)) add("must be " + pretty(fixed, ""));

  if (value.kind === "number") {
    const text = value.text;
    if (bound("minimum") && compare(text, bound("minimum")) < 0) add(`must be at least ${bound("minimum")}`);
    if (bound("maximum") && compare(text, bound("maximum")) > 0) add(`must be at most ${bound("maximum")}`);
    if (bound("exclusiveMinimum") && compare(text, bound("exclusiveMinimum")) <= 0) add(`must be more than ${bound("exclusiveMinimum")}`);
    if (bound("exclusiveMaximum") && compare(text, bound("exclusiveMaximum")) >= 0) add(`must be less than ${bound("exclusiveMaximum")}`);
    if (bound("multipleOf") && !isMultiple(text, bound("multipleOf"))) add(`must be a multiple of ${bound("multipleOf")}`);
  }
  if (value.kind === "string") {
    const length = [...value.value].length, format = of("format")?.value;
    if (length < Number(bound("minLength"))) add(`must have at least ${bound("minLength")} characters`);
    if (length > Number(bound("maxLength"))) add(`must have at most ${bound("maxLength")} characters`);
    if (Object.hasOwn(formats, format) && !formats[format](value.value)) add(`must be ${formatNames[format]}`);
  }
  if (value.kind === "array") {
    const { items } = value, before = of("prefixItems")?.items ?? [];
    if (items.length < Number(bound("minItems"))) add(`must have at least ${bound("minItems")} ${bound("minItems") === "1" ? "item" : "items"}`);
    if (items.length > Number(bound("maxItems"))) add(`must have at most ${bound("maxItems")} ${bound("maxItems") === "1" ? "item" : "items"}`);
    if (of("uniqueItems")?.value === true && new Set(items.map(one => pretty(sorted(one), ""))).size < items.length) add("must not have an item twice");
    items.forEach((one, i) => { const rule = before[i] ?? of("items"); if (rule) found.push(...inner(rule, one, pointer(at, i))); });
  }
  if (value.kind === "object") {
    const properties = of("properties"), names = new Set(value.members.map(([name]) => name));
    for (const { value: name } of of("required")?.items ?? []) if (!names.has(name)) found.push({ at: pointer(at, name), text: "is required", missing: true });
    for (const [name, one] of value.members) {
      const rule = member(properties, name), others = of("additionalProperties");
      if (rule) found.push(...inner(rule, one, pointer(at, name)));
      else if (others && !of("patternProperties")) {
        if (others.value === false) found.push({ at: pointer(at, name), text: "is not known" });
        else found.push(...inner(others, one, pointer(at, name)));
      }
    }
  }
  return found;
}

// alternatives checks anyOf and oneOf. Of several that do not fit it tells the faults of the nearest one.
function alternatives(list, inner, at) {
  if (!list?.length) return [];
  const results = list.map(one => inner(one));
  if (results.some(one => one.length === 0)) return []; // the service knows whether oneOf fits exactly once
  const near = results.filter(one => one.some(fault => !(fault.at === at && /^must be (object|array|string|number|integer|boolean|null)/.test(fault.text)))).sort((a, b) => a.length - b.length);
  if (near.length === 1) return near[0];
  return [{ at, text: list.every(one => member(one, "const")) ? "must be one of the choices" : "does not fit any of the alternatives" }];
}
