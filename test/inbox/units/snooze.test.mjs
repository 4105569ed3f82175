// A request is put off, and woken.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.localStorage = globalThis.sessionStorage = { getItem: () => null };
globalThis.setInterval = globalThis.addEventListener = () => {};
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.location = new URL("http://inbox/");
globalThis.document = { addEventListener() {} };
globalThis.fetch = async () => ({ ok: true, status: 200, text: async () => "{}" });

const { acknowledged } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
const { snooze } = await import(process.env.HOLDPOINT_ASSETS + "/snooze.js");

test("a list that was asked for before a request was put off is older", async () => {
  const one = { handle: "one" }, earlier = {};
  acknowledged(earlier);
  assert.ok(await snooze(one, Date.now() + 60_000));
  assert.ok(one.acknowledged > earlier.acknowledged);
});
