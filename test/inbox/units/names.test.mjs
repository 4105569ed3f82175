// The name that goes with each call of a service that asks for no token.
import assert from "node:assert/strict";
import { test } from "node:test";

let name = "";
globalThis.localStorage = { getItem: key => key === "holdpoint.name" ? name : null };
const { account, headers, isName, myName } = await import(`${process.env.HOLDPOINT_ASSETS}/api.js`);

// sent is the name as the service reads it.
function sent(given) {
  name = given;
  const value = new Headers(headers()).get("X-Actor");
  return value === null ? undefined : Buffer.from(value, "latin1").toString();
}

test("a name of any script is recorded", () => {
  account.me = { via: "open" };
  for (const given of ["José", "Ada Lovelace", "李小龙", "नरेन्द्र", "O’Neill 🚀", "é".repeat(100)]) assert.equal(sent(given), given);
  assert.equal(sent(" Ada "), "Ada");
});

test("one that the service would refuse is not sent, and not shown as what is recorded", () => {
  for (const given of ["", "  ", "é".repeat(101), "a".repeat(201), "a\u200bb", "a\u00a0b", "\ud800", "a\nb"]) {
    assert.equal(sent(given), undefined, JSON.stringify(given));
    assert.equal(myName(), "");
    assert.equal(isName(given.trim()), false);
  }
});

test("where people sign in, who decides is who is signed in", () => {
  account.me = { via: "session", principal: "user:ada" };
  assert.equal(sent("José"), undefined);
});
