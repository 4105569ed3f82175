// Which failed reads a page repeats, when, and what it says.
import assert from "node:assert/strict";
import { test } from "node:test";

const { Refused, account, call, failureWords, isPassing, persist, problemWords, retryIn } = await import(`${process.env.HOLDPOINT_ASSETS}/api.js`);

test("what may pass is repeated, and a refusal is not", () => {
  assert.deepEqual([408, 429, 500, 503].map(status => isPassing(new Refused(status, {}))), [true, true, true, true]);
  assert.deepEqual([400, 401, 403, 404, 409, 413].map(status => isPassing(new Refused(status, {}))), [false, false, false, false, false, false]);
  assert.equal(isPassing(new TypeError("Failed to fetch")), true);
});

test("the pauses grow to half a minute and no further", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 2000].map(retryIn), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test("people are told that the page tries again only where it does", async () => {
  globalThis.localStorage ??= { getItem: () => null };
  for (const broken of [async () => { throw new TypeError("NetworkError when attempting to fetch resource."); }, async () => ({ text: async () => { throw new TypeError("terminated"); } })]) {
    globalThis.fetch = broken;
    const lost = await call("GET", "/v1/runs").catch(error => error);
    assert.equal(problemWords(lost), "The service cannot be reached.");
    assert.equal(failureWords(lost), "The service cannot be reached. Trying again…");
    assert.equal(isPassing(lost), true);
  }
  assert.equal(problemWords(new Refused(503, { detail: "busy" })), "The service failed (503).");
  assert.equal(failureWords(new Refused(503, { detail: "busy" })), "The service failed (503). Trying again…");
  assert.equal(failureWords(new Refused(404, { detail: "No session \"x\"" })), "No session \"x\"");
});

test("what another program answers is not the service's reply", async () => {
  globalThis.localStorage ??= { getItem: () => null };
  const answers = (status, text, to, method = "GET") => {
    globalThis.fetch = async path => ({ ok: status < 300, status, text: async () => text, redirected: to !== undefined, url: "https://holdpoint.example" + (to ?? path) });
    return call(method, "/v1/runs/a%20b?limit=1").catch(error => error);
  };
  for (const other of [await answers(200, "<!doctype html><title>Sign in</title>"), await answers(200, ""), await answers(200, "{}", "/login"), await answers(403, "{}", "/login")]) {
    assert.equal(other.message, "The service cannot be reached.");
    assert.equal(isPassing(other), true);
  }
  assert.deepEqual(await answers(200, '{"a":1}'), { a: 1 });
  assert.deepEqual(await answers(200, '{"a":1}', "/v1/runs/a%20b"), { a: 1 }, "the same address");
  assert.equal(await answers(204, ""), null);
  const failed = await answers(502, "<title>Bad gateway</title>");
  assert.deepEqual([failed.status, isPassing(failed)], [502, true]);
});

test("a sign-in that ends after a lost answer leaves open what was recorded", async () => {
  globalThis.localStorage ??= { getItem: () => null };
  const says = (status, document) => ({ ok: status < 300, status, text: async () => JSON.stringify(document) });
  for (const [lost, unsure] of [[0, false], [1, true]]) {
    let tries = 0;
    Object.assign(account, { me: { principal: "user:ada", role: "operator" }, signedOut: false, unsure: false });
    globalThis.fetch = async () => {
      if (++tries > lost) return says(401, { code: "unauthenticated" });
      throw new TypeError("Failed to fetch");
    };
    const error = await persist("POST", "/v1/runs/r/approvals", {}, "key").catch(error => error);
    assert.deepEqual([error.status, account.signedOut, account.unsure], [401, true, unsure]);
  }
});
