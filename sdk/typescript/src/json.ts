import { invalid } from "./errors.js";

/**
 * The source text of each decoded object and array that JSON.stringify would write differently: with
 * `1.0`, with members in an order that JavaScript does not keep, or with white space.
 */
const sources = new WeakMap<object, string>();

/**
 * A number with more digits than a JavaScript number holds, such as 0.1234567890123456789. It is an
 * object: it counts and compares (`<`, `==`) as the nearest number, and `typeof` and `===` tell it
 * from one. `encodeJSON`, and JSON.stringify where JSON.rawJSON exists, write all of its digits.
 */
export class ExactNumber extends Number {
  /** All of the digits, as they were written. */
  readonly source: string;

  /** @internal */
  constructor(source: string) {
    super(source);
    this.source = source;
  }

  override toString(): string {
    return this.source;
  }

  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    return rawJSON ? rawJSON(this.source) : this.valueOf();
  }
}

// longInteger finds an integer that may be beyond 2^53, and now and then a part of a text that looks like one.
const longInteger = /(?:^|[\s[:,])-?\d{16,}(?:[\s,\]}]|$)/;

/**
 * Decodes JSON without rounding. An integer beyond 2^53 is a bigint, and a fraction with more digits
 * than a number holds is an `ExactNumber`. Objects and arrays remember their text, and `encodeJSON`
 * writes it again if they have not been changed. A number by itself keeps its value and not its
 * spelling: `1.0` is written as `1`. Throws a SyntaxError for text that is not JSON.
 */
export function decodeJSON(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  // An integer beyond 2^53 may be written as it was, such as 9007199254740994.
  return JSON.stringify(plain) === text.trim() && !longInteger.test(text) ? plain : new Reader(text).value().value;
}

/**
 * Encodes a value as JSON.stringify does, but writes a bigint as an integer, an `ExactNumber` with all
 * of its digits, and an object or array of `decodeJSON` as it was written. It is undefined for a value without a JSON form. Throws an error of
 * the kind `invalid` for NaN, an infinity, or a circular value.
 */
export function encodeJSON(value: unknown): string | undefined {
  return written(value, "", []);
}

/** Returns a value as its JSON is now: the caller may change it before it is sent. It is undefined for a value without a JSON form. */
export function copied<T>(value: T): T | undefined {
  const text = encodeJSON(value);
  return text === undefined ? undefined : decodeJSON(text) as T;
}

/** The canonical form of docs/spec/v1.md: RFC 8785, but integers keep their digits. It is undefined for a value without a JSON form. */
export function canonicalJSON(value: unknown): string | undefined {
  const text = encodeJSON(value);
  return text === undefined ? undefined : canonical(decodeJSON(text));
}

/** JavaScript writes numbers and sorts texts as RFC 8785 says. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "bigint") return String(value);
  if (value instanceof ExactNumber) {
    const nearest = value.valueOf();
    // JSON.stringify writes null: each of these would be equal to the other, and to null.
    if (!Number.isFinite(nearest)) throw invalid(`${value.source} is beyond a double and has no canonical form`);
    return JSON.stringify(nearest);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = value as Record<string, unknown>;
  return `{${Object.keys(members).sort().map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`).join(",")}}`;
}

/** A decoded value. It is the same when encoding it without its source writes its source. */
interface Read {
  value: unknown;
  same: boolean;
}

/** Reads text that JSON.parse has accepted. */
class Reader {
  readonly #text: string;
  #at = 0;
  /** How much white space was skipped. */
  #spaces = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): Read {
    this.#space();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object();
      case "[":
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(): Read {
    const spaces = this.#spaces;
    const from = this.#at++;
    const object: Record<string, unknown> = {};
    const names: string[] = [];
    let same = true;
    while (this.#goesOn("}")) {
      const name = this.#string();
      this.#space();
      this.#at++;
      const member = this.value();
      names.push(name.value as string);
      // An assignment to __proto__ would set the prototype.
      Object.defineProperty(object, name.value as string, { value: member.value, writable: true, enumerable: true, configurable: true });
      same &&= name.same && member.same;
    }
    const kept = Object.keys(object);
    return this.#remembered(object, from, same && spaces === this.#spaces && kept.length === names.length && kept.every((name, i) => name === names[i]));
  }

  #array(): Read {
    const spaces = this.#spaces;
    const from = this.#at++;
    const items: unknown[] = [];
    let same = true;
    while (this.#goesOn("]")) {
      const item = this.value();
      items.push(item.value);
      same &&= item.same;
    }
    return this.#remembered(items, from, same && spaces === this.#spaces);
  }

  #remembered(value: object, from: number, same: boolean): Read {
    if (!same) sources.set(value, this.#text.slice(from, this.#at));
    return { value, same };
  }

  /** Skips a comma and returns true, or the end of an object or an array and returns false. */
  #goesOn(end: string): boolean {
    this.#space();
    const found = this.#text[this.#at];
    if (found === end || found === ",") this.#at++;
    if (found === end) return false;
    this.#space();
    return true;
  }

  #string(): Read {
    const from = this.#at;
    do {
      this.#at = this.#text.indexOf('"', this.#at + 1);
    } while (this.#isEscaped());
    this.#at++;
    return this.#parsed(this.#text.slice(from, this.#at));
  }

  #isEscaped(): boolean {
    let before = this.#at;
    while (this.#text[before - 1] === "\\") before--;
    return (this.#at - before) % 2 === 1;
  }

  #scalar(): Read {
    const token = match(/[^\s,\]}]+/y, this.#text, this.#at);
    this.#at += token.length;
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))) return { value: BigInt(token), same: true };
    return isHeld(token) ? this.#parsed(token) : { value: new ExactNumber(token), same: true };
  }

  #parsed(token: string): Read {
    const value: unknown = JSON.parse(token);
    return { value, same: JSON.stringify(value) === token };
  }

  #space(): void {
    const length = match(/[ \t\r\n]*/y, this.#text, this.#at).length;
    this.#at += length;
    this.#spaces += length;
  }
}

/** Whether a JavaScript number has the value of the token: a number or a name, such as `true`. */
function isHeld(token: string): boolean {
  return !/^-?\d/.test(token) || decimal(token) === decimal(JSON.stringify(Number(token)));
}

/** The value of a number as its digits without zeros at the ends, and their exponent: one text for 1.50, 15e-1 and 1.5. */
function decimal(token: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(token) ?? ["", "", token];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  return kept === "" ? "0" : `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

function written(given: unknown, name: string, above: object[]): string | undefined {
  let value = given;
  if (typeof value === "bigint") return String(value);
  if (value instanceof ExactNumber) return value.source;
  if (typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === "function") value = (value as { toJSON(name: string): unknown }).toJSON(name);
  if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt) value = value.valueOf();
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) throw invalid(`${value} has no JSON form`);
  // What JSON.rawJSON returns is written by JSON.stringify alone.
  if (typeof value !== "object" || value === null || isRaw(value)) return JSON.stringify(value);
  if (above.includes(value)) throw invalid("a circular value has no JSON form");
  const source = sources.get(value);
  if (source !== undefined && isEqual(value, decodeJSON(source))) return source;
  const within = [...above, value];
  // map would keep the holes of a sparse array.
  if (Array.isArray(value)) return `[${Array.from(value, (item, i) => written(item, String(i), within) ?? "null").join(",")}]`;
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    const text = written(member, key, within);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

function isRaw(value: object): boolean {
  return (JSON as { isRawJSON?: (value: unknown) => boolean }).isRawJSON?.(value) ?? false;
}

/** Whether an object or array still has what was decoded. */
function isEqual(value: unknown, decoded: unknown): boolean {
  if (typeof value !== "object" || value === null || typeof decoded !== "object" || decoded === null) return Object.is(value, decoded);
  if (value instanceof ExactNumber || decoded instanceof ExactNumber) {
    return value instanceof ExactNumber && decoded instanceof ExactNumber && value.source === decoded.source;
  }
  const names = Object.keys(value);
  return Array.isArray(value) === Array.isArray(decoded) && names.length === Object.keys(decoded).length &&
    names.every((name) => Object.hasOwn(decoded, name) && isEqual((value as Record<string, unknown>)[name], (decoded as Record<string, unknown>)[name]));
}
