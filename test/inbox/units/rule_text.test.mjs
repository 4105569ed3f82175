// The text of a rule, with short ids and local times.
import assert from "node:assert/strict";
import { test } from "node:test";

const { partsOf } = await import(`${process.env.HOLDPOINT_ASSETS}/rule_parts.js`);

const digest = "sha256:" + "0123456789abcdef".repeat(4), session = "fdae6276-e988-48c9-af7a-cc7956202889";
const shortened = (text, known) => partsOf(text, known).filter(one => one.short || one.time).map(one => one.time ? new Date(one.time).toISOString() : one.short);
const whole = (text, known) => partsOf(text, known).map(one => one.text).join("");

test("what the service says about a rule is shortened, and nothing is lost", () => {
  const text = `Allow the tool Bash with exactly the input whose digest is ${digest} for the one call "toolu_01b8f0c2d4e6a8901b3c5d7e", in session ${session}, for agent deployer-of-releases, until 2026-12-28T20:00:00Z.`;
  assert.deepEqual(shortened(text), ["01234567…", '"…1b3c5d7e"', "…56202889", "deployer-of-releases", "2026-12-28T20:00:00.000Z"]);
  assert.equal(whole(text), text);
});

test("what a caller wrote stays as it is", () => {
  const text = `Allow the tool Bash with exactly this input: {"command":"pull \\"app@${digest}\\", in session ${session}, until 2026-12-28T20:00:00Z"}, in every session, until 2026-12-28T20:00:00Z.`;
  assert.deepEqual(shortened(text, digest.replace("0123", "3210")), ["2026-12-28T20:00:00.000Z"]);
});

test("a cut input ends where its digest follows", () => {
  const mine = "sha256:" + "f".repeat(64), input = `{"command":"say … (cut, 9 bytes in all, ${digest}) and then`;
  const text = `Allow the tool Bash with exactly this input: ${input}… (cut, 900 bytes in all, ${mine}) for the one call "c1", in session ${session}, until the session ends.`;
  assert.deepEqual(shortened(text, mine), ["ffffffff…", '"c1"', "…56202889"]);
  assert.equal(whole(text, mine), text);
});
