// JSON stays its text.
import assert from "node:assert/strict";
import { test } from "node:test";

const { encode, Json, parse, pretty, read } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");

test("what others wrote goes through as its text", () => {
  for (const text of ['{"id":9007199254740993}', '{"n":1.0,"m":1e2,"k":-0}', '{"b":1,"2":2,"1":3}', '"a \\"quoted\\" {text}"', "[1.10,[],{}]", "true", '{"input":{"value":1.0}}', '{"t":"\\u0041\\\\"}']) {
    const view = parse(`{"items":[{"request":{"id":"a","input": ${text} ,"reason":"input"},"n":1}]}`);
    assert.equal(view.items[0].request.input.text, text);
    assert.equal(view.items[0].request.reason, "input");
    assert.equal(encode({ resolutions: [{ updated_input: view.items[0].request.input, none: undefined }] }), `{"resolutions":[{"updated_input":${text}}]}`);
    assert.equal(pretty(read(text), "").replaceAll(/\s/g, "").length > 0, true);
  }
  assert.equal(pretty(read('{"b":1.0,"2":[9007199254740993]}'), ""), '{"b":1.0,"2":[9007199254740993]}');
  assert.equal(pretty(read('{ "a" : [ 1 , { } ] }')), '{\n  "a": [\n    1,\n    {}\n  ]\n}');
  assert.equal(encode([new Json("1.0"), undefined, "a"]), '[1.0,null,"a"]');
});

test("what is not JSON, or would not come through, is refused with its place", () => {
  for (const [text, says] of [["", /ends early at line 1, column 1/], ['{"a":1,"a":2}', /"a" is given twice at line 1, column 8/], ['{"a":1,}', /name is missing/], ["[1,]", /value is missing/],
    ["{\n  'a': 1}", /name is missing at line 2, column 3/], ["01", /more text after/], ["1 2", /more text/], ['"\\ud800"', /surrogate/], ['"a', /broken string/], ["NaN", /value is missing/], ["[".repeat(70), /64 levels/]])
    assert.throws(() => read(text), error => error instanceof SyntaxError && says.test(error.message), text);
});
