// The level of a request's hints, as its row shows it.
import assert from "node:assert/strict";
import { test } from "node:test";

const { wordOf, worst } = await import(process.env.HOLDPOINT_ASSETS + "/hints.js");
const { nameOfRow } = await import(process.env.HOLDPOINT_ASSETS + "/groups.js");
const { Json } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");

test("the highest level counts, and is a word in the row's name", () => {
  for (const [levels, level, name] of [[[], undefined, ""], [["info"], "info", ""], [["info", "warn", "info"], "warn", "Warning: "], [["warn", "danger"], "danger", "Danger: "], [["loud"], undefined, ""]]) {
    const request = { tool_name: "bash", input: new Json('{"command":"ls"}'), hints: levels.map(level => ({ level, text: "x" })) };
    assert.equal(worst(request), level);
    assert.equal(nameOfRow({ kind: "approval", request }), name + "Run a command with bash: ls");
  }
  assert.equal(worst({}), undefined);
  assert.equal(wordOf(undefined), "");
});
