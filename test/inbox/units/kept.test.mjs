// What a tab keeps for its person, and what another person finds there.
import assert from "node:assert/strict";
import { test } from "node:test";

// storage is like the browser's: its keys are what is stored.
const storage = kept => Object.defineProperties(kept, {
  getItem: { value: key => kept[key] ?? null },
  setItem: { value: (key, value) => { kept[key] = String(value); } },
  removeItem: { value: key => { delete kept[key]; } },
});
const keeps = { "mine": '["h"]', "draft:h:answer": "a secret plan", "who": "user:ada", "other": "1" };
globalThis.sessionStorage = storage(keeps);
globalThis.localStorage = storage({});
let me, fails = 0;
const pauses = [];
globalThis.setTimeout = (does, ms) => { pauses.push(ms); queueMicrotask(does); };
globalThis.fetch = async () => {
  const ok = fails-- <= 0;
  return { ok, status: ok ? 200 : 503, text: async () => JSON.stringify(me) };
};

const { account, followAccount, signedOut } = await import(process.env.HOLDPOINT_ASSETS + "/api.js");
const { drafts, inbox, isMine } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
const is = who => { me = who; Object.assign(account, { me: null, signedOut: false }); return followAccount(); };

test("the same person finds what they typed, also with another token", async () => {
  assert.equal(drafts.get("h:answer"), null, "nobody knows yet who is there");
  await is({ principal: "user:ada" });
  assert.deepEqual([drafts.get("h:answer"), isMine("h")], ["a secret plan", true]);
  signedOut();
  assert.equal(drafts.get("h:answer"), null);
  await is({ principal: "token:phone", on_behalf_of: "user:ada" });
  assert.deepEqual([drafts.get("h:answer"), isMine("h")], ["a secret plan", true]);
});

test("another person finds nothing of them", async () => {
  inbox.prompts.set("h", { handle: "h", drafts: { answer: "a secret plan" } });
  signedOut();
  await is({ principal: "user:ben" });
  assert.deepEqual([drafts.get("h:answer"), isMine("h"), inbox.prompts.get("h").drafts], [null, false, undefined]);
  assert.deepEqual({ ...keeps }, { who: "user:ben", other: "1" });
});

test("the first person of a tab keeps what is there", async () => {
  delete keeps.who;
  drafts.set("h:answer", "mine");
  await is({ principal: "user:ada" });
  assert.deepEqual([drafts.get("h:answer"), keeps.who], ["mine", "user:ada"]);
});

test("who it is is asked for until the service says it", async () => {
  fails = 3;
  await is({ principal: "user:ada" });
  assert.deepEqual([pauses, drafts.get("h:answer")], [[1000, 2000, 4000], "mine"]);
});

test("what somebody types before the page knows who they are is theirs, and replaces no other draft", async () => {
  keeps["draft:g:answer"] = "before";
  account.me = null;
  drafts.set("g:answer", "typed");
  await is({ principal: "user:ada" });
  assert.equal(drafts.get("g:answer"), "before");
});
