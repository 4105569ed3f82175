// Decimal numbers by their JSON text. A double would round them.

// partsOf returns a number as sign, significant digits and power of ten.
function partsOf(text) {
  const [, minus, whole, fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text);
  const digits = (whole + fraction).replace(/^0+/, ""), significant = digits.replace(/0+$/, "");
  if (!significant) return { sign: 0, digits: "", power: 0 };
  return { sign: minus ? -1 : 1, digits: significant, power: Number(power) - fraction.length + digits.length - significant.length };
}

export function compare(one, other) {
  const a = partsOf(one), b = partsOf(other);
  if (a.sign !== b.sign) return a.sign < b.sign ? -1 : 1;
  if (a.sign === 0) return 0;
  const size = (a.digits.length + a.power) - (b.digits.length + b.power);
  if (size !== 0) return Math.sign(size) * a.sign;
  const length = Math.max(a.digits.length, b.digits.length), x = a.digits.padEnd(length, "0"), y = b.digits.padEnd(length, "0");
  return x === y ? 0 : (x < y ? -1 : 1) * a.sign;
}

// isWhole reports whether a number is an integer, even if it is written as 1.0 or 1e3.
export const isWhole = text => partsOf(text).power >= 0;

const widest = 1000; // powers of ten; the service checks the rest

export function isMultiple(text, of) {
  const a = partsOf(text), b = partsOf(of);
  if (a.sign === 0 || b.sign === 0 || Math.abs(a.power - b.power) > widest) return true;
  const least = Math.min(a.power, b.power), scaled = ({ digits, power }) => BigInt(digits + "0".repeat(power - least));
  return scaled(a) % scaled(b) === 0n;
}

// typedNumber returns what a person typed as a JSON number with the same digits, undefined when it is not a number.
export function typedNumber(typed) {
  const found = /^([-+]?)(\d*)(?:\.(\d*))?((?:[eE][-+]?\d+)?)$/.exec(typed.trim());
  if (!found || !found[2] && !found[3]) return undefined;
  const [, sign, whole, fraction, power] = found;
  return (sign === "-" ? "-" : "") + (whole.replace(/^0+(?=\d)/, "") || "0") + (fraction ? "." + fraction : "") + power;
}
