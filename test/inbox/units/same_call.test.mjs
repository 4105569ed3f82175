// Equal calls of different sessions share a row.
import assert from "node:assert/strict";
import { test } from "node:test";

const { callsOf, joinRow, labelOf, leadOf, leaveRow, waitsElsewhere } = await import(process.env.HOLDPOINT_ASSETS + "/same_call.js");

let n = 0;
const call = (session, digest = "d", tool_name = "Bash", kind = "approval") => { const one = { kind, handle: "h" + ++n, session, digest, request: { tool_name } }; joinRow(one); return one; };
const together = (a, b) => !!a.row && a.row === b.row;

test("the same tool and digest in different sessions", () => {
  const a = call("shop"), b = call("shop2");
  assert.ok(together(a, b));
  assert.ok(!together(a, call("shop3", "other")));
  assert.ok(!together(a, call("shop3", "d", "Edit")));
  assert.ok(!together(a, call("shop3", "d", "Bash", "question")));
  const twice = call("shop");
  assert.ok(!together(a, twice), "two calls of one session have a row each");
  assert.ok(together(a, call("shop4")));
  for (const one of [...a.row.members, twice]) one.resolution = {};
  assert.ok(!together(a, call("shop5")), "a settled row keeps its outcome");
});

test("the lead changes only when it is settled and another one is open", () => {
  const a = call("s1", "lead"), b = call("s2", "lead"), c = call("s3", "lead"), lead = () => leadOf(a.row ?? b.row, b.row.members);
  assert.equal(lead(), a);
  b.resolution = {};
  assert.equal(lead(), a);
  a.resolution = {};
  assert.equal(lead(), c);
  c.resolution = {};
  assert.equal(lead(), c);
  leaveRow(c);
  assert.equal(lead(), b);
  leaveRow(a); leaveRow(b);
  assert.ok(!together(c, call("s4", "lead")));
});

test("the call that was asked for leads its row while it is open", () => {
  const a = call("a1", "asked"), b = call("a2", "asked"), lead = asked => leadOf(a.row, a.row.members, asked);
  assert.equal(lead(b.handle), b);
  assert.equal(lead(""), b, "the row keeps it");
  b.resolution = {};
  assert.equal(lead(b.handle), a);
  assert.equal(lead("elsewhere"), a);
});

test("a changed input leaves the row", () => {
  const a = call("c1", "before"), b = call("c2", "before");
  b.digest = "after";
  joinRow(b);
  assert.ok(!together(a, b));
  assert.deepEqual(a.row.members, [a]);
});

test("sessions are named, and the rest counted", () => {
  const list = ["shop", "shop2", "shop3", "shop4", "shop5", "shop6", "shop7"].map(session => ({ session }));
  assert.equal(callsOf(list.slice(0, 3)), "3 calls: shop, shop2, shop3");
  assert.equal(callsOf(list), "7 calls: shop, shop2, shop3, shop4, shop5 and 2 more");
  assert.equal(callsOf([{ session: "1", label: "Shop" }]), "1 call: Shop");
  assert.equal(callsOf([{ session: "1", origin: { project: "shop" } }, { session: "2", label: "Cart", origin: { project: "shop" } }]), "2 calls: shop, Cart");
  assert.equal(callsOf(["fdae6276-e988-48c9-af7a-cc7956202889", "0473e510-6df7-4e35-80b3-3a2116da44c3"].map(session => ({ session, origin: { project: "shop" } }))), "2 calls: shop …56202889, shop …16da44c3");
  assert.equal(callsOf([]), "0 calls");
});

test("where a call also waits, with what only the service knows of", () => {
  const [a, b, again] = [{ session: "a", label: "shop" }, { session: "b", label: "cart" }, { session: "b", label: "cart" }];
  assert.equal(waitsElsewhere([], [], 0), "");
  assert.equal(waitsElsewhere([a, b], [a, b], 0), "The same call waits in 2 other sessions: shop, cart. Allow and Deny ask about all of them.");
  assert.equal(waitsElsewhere([a], [a, b], 3), "The same call waits in 1 other session: shop. Allow and Deny ask about all of them. It waits 4 more times, which they leave out.");
  assert.equal(waitsElsewhere([], [a, b], 0), "The same call waits in 2 other sessions.");
  assert.equal(waitsElsewhere([], [b, again], 0), "The same call waits 2 more times.");
  assert.equal(waitsElsewhere([], [], 1), "The same call waits 1 more time.");
});

test("a session is called by its label, else by its project", () => {
  assert.equal(labelOf({ label: "Nightly build", origin: { project: "shop" } }), "Nightly build");
  assert.equal(labelOf({ origin: { project: "shop" } }), "shop");
  assert.equal(labelOf({ origin: { directory: "~/src" } }), "", "the folder has its own place");
});
