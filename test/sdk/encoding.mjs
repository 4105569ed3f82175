// Holds encodeJSON and decodeJSON to what their comments say.
import { ExactNumber, HoldpointError, decodeJSON, inputDigest, encodeJSON } from "@holdpoint/sdk";

let failed = 0;
const same = (got, want) => {
  if (got === want) return;
  failed++;
  console.log(`${got} and not ${want}`);
};

// An object or array is written as it was.
for (const text of [
  `{"id":9007199254740993,"x":1.0,"2":1,"1":2,"big":1e300}`, `[1.50,{"a":[-0.0,-0]},0.1234567890123456789]`, `{"a" : [ 1 ,2 ] }`, `[ ]`, `{"a":1,"a":2}`,
  `{"a":"\\u003c\\"\\\\","b":"\\\\"}`, `{"__proto__":{"x":1.0},"toJSON":1.0,"é":"é"}`, `{"":{"":[]},"10":{"9":1,"8":[]}}`, `[9007199254740992,-9007199254740991]`,
]) {
  const value = decodeJSON(`${text}\n`);
  same(encodeJSON(value), text);
  same(encodeJSON([{ value }, value]), `[{"value":${text}},${text}]`);
  same(encodeJSON(decodeJSON(` {"in" : ${text} , "n":1.0}`).in), text);
}

// Integers are read with all their digits, other numbers as numbers.
same(decodeJSON(`{"id":9007199254740993}`).id, 9007199254740993n);
same(decodeJSON("9007199254740991"), 9007199254740991);
for (const id of ["9007199254740992", "9007199254740994", "-9007199254740994", "100000000000000000000"]) {
  same(decodeJSON(`{"id":${id}}`).id, BigInt(id));
  same(decodeJSON(`[${id}]`)[0], BigInt(id));
}
same(decodeJSON(`{"id":9007199254740991,"name":"9007199254740994"}`).id, 9007199254740991);
same(decodeJSON("[1.0]")[0], 1);
same(decodeJSON(`"1.0"`), "1.0");

// A changed value is written as it is now, and what was not changed in it as it was.
const changed = decodeJSON(`{"x":1.0,"id":9007199254740993,"in":{"x":1.0}}`);
changed.x = 2;
same(encodeJSON(changed), `{"x":2,"id":9007199254740993,"in":{"x":1.0}}`);
delete changed.id;
same(encodeJSON(changed), `{"x":2,"in":{"x":1.0}}`);
const item = decodeJSON("[1.0,[2.0]]");
item[1].push(3);
same(encodeJSON(item), "[1,[2,3]]");

// A number alone has no text of its own: JSON.rawJSON gives it one.
same(encodeJSON(decodeJSON("1.0")), "1");
if (JSON.rawJSON) same(encodeJSON({ value: JSON.rawJSON("1.0"), list: [JSON.rawJSON("0.1234567890123456789")] }), `{"value":1.0,"list":[0.1234567890123456789]}`);

// A number with more digits than a double is none of JavaScript's, wherever it is put.
for (const text of ["0.1234567890123456789", "-12345678901234567890.5", "1.00000000000000000000001", "123456789.12345678901e-300", "9007199254740993.0", "1e-400", "0.12345678901234567"]) {
  const { amount } = decodeJSON(`{"amount":${text}}`);
  same(amount instanceof ExactNumber, true);
  same(encodeJSON({ to: amount }), `{"to":${text}}`);
  same(encodeJSON(decodeJSON(text)), text);
  same(`${amount}`, text);
  same(amount * 1, Number(text));
  if (JSON.rawJSON) same(JSON.stringify([amount]), `[${text}]`);
  same(await inputDigest(amount), await inputDigest(Number(text)));
}
for (const text of ["0.1", "1.0", "1.50", "1e3", "-0.0", "0e5", "0.30000000000000004", "5e-324", "1.7976931348623157e308", "100.0E-2"]) {
  same(decodeJSON(text), Number(text));
  same(typeof decodeJSON(`{"a":${text}}`).a, "number");
}
same(typeof decodeJSON("true"), "boolean");
// A number beyond a double has no canonical form, and is not null.
for (const text of ["1E400", "-1E400", '{"a":[1e309]}']) {
  const refused = await inputDigest(decodeJSON(text)).catch((error) => error);
  same(refused instanceof HoldpointError && refused.is("invalid"), true);
}
const exact = decodeJSON(`{"a":0.1234567890123456789,"b":[1.0]}`);
exact.a = decodeJSON("0.1234567890123456780");
same(encodeJSON(exact), `{"a":0.1234567890123456780,"b":[1.0]}`);

// The rest is as JSON.stringify has it.
const date = new Date(0);
for (const value of [undefined, () => 1, [undefined, () => 1], { a: undefined, b: null }, date, { date }, [new Number(1), new String("x")], [, 1], { a: Array(2) }, "\ud800", new Map([[1, 2]])]) {
  same(encodeJSON(value), JSON.stringify(value));
}
same(encodeJSON({ n: 1n << 70n }), `{"n":1180591620717411303424}`);
const circle = {};
circle.circle = [circle];
for (const refused of [Number.NaN, [Infinity], circle]) {
  let thrown;
  try { encodeJSON(refused); } catch (error) { thrown = error; }
  same(thrown instanceof HoldpointError && thrown.is("invalid"), true);
}
console.log(`${failed} failed`);
