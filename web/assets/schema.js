// Says early what the service would refuse. It knows the common keywords of JSON Schema; the
// service checks all of them.

const kinds = {
  object: v => v !== null && typeof v === "object" && !Array.isArray(v), array: Array.isArray, string: v => typeof v === "string",
  number: v => typeof v === "number", integer: Number.isInteger, boolean: v => typeof v === "boolean", null: v => v === null,
};
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// faults returns what of a value does not fit a schema, with JSON pointers.
export function faults(schema, value, at = "") {
  if (schema === false) return [`${at || "/"}: nothing is allowed here`];
  if (schema === null || typeof schema !== "object") return [];
  const found = [], add = text => found.push(`${at || "/"}: ${text}`);
  const types = [schema.type ?? []].flat();
  if (types.length && !types.some(type => kinds[type]?.(value))) return [`${at || "/"}: must be ${types.join(" or ")}`];
  if (schema.enum && !schema.enum.some(one => same(one, value))) add("must be one of " + schema.enum.map(one => JSON.stringify(one)).join(", "));
  if ("const" in schema && !same(schema.const, value)) add("must be " + JSON.stringify(schema.const));
  if (typeof value === "number") {
    if (value < schema.minimum) add(`must be at least ${schema.minimum}`);
    if (value > schema.maximum) add(`must be at most ${schema.maximum}`);
  }
  if (typeof value === "string") {
    const length = [...value].length;
    if (length < schema.minLength) add(`must have at least ${schema.minLength} characters`);
    if (length > schema.maxLength) add(`must have at most ${schema.maxLength} characters`);
  }
  if (Array.isArray(value)) {
    if (value.length < schema.minItems) add(`must have at least ${schema.minItems} items`);
    if (value.length > schema.maxItems) add(`must have at most ${schema.maxItems} items`);
    if (schema.items !== undefined) value.forEach((one, i) => found.push(...faults(schema.items, one, `${at}/${i}`)));
  } else if (kinds.object(value)) {
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) add(`${name} is required`);
    for (const [name, one] of Object.entries(value)) {
      if (schema.properties && Object.hasOwn(schema.properties, name)) found.push(...faults(schema.properties[name], one, `${at}/${name}`));
      else if (schema.additionalProperties === false && !schema.patternProperties) add(`${name} is not known`);
    }
  }
  return found;
}
