// The sign of a row in the text of a page.
import assert from "node:assert/strict";
import { test } from "node:test";

const { iconOf } = await import(process.env.HOLDPOINT_ASSETS + "/link_row.js");
const { Json } = await import(process.env.HOLDPOINT_ASSETS + "/exact.js");

test("only what was allowed or answered has a tick", () => {
  for (const [outcome, icon] of [["allowed", "allowed"], ["answered", "allowed"], ["denied", "denied"], ["declined", "denied"], ["cancelled", "denied"], ["expired", "denied"], ["gone", "denied"], ["of a later version", "denied"]])
    assert.equal(iconOf({ resolution: { outcome } }), icon, outcome);
  assert.equal(iconOf({ kind: "approval", request: { tool_name: "Bash", input: new Json('{"command":"ls"}') } }), "command");
});
