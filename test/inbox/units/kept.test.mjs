// What a tab keeps for its person, and what another person finds there.
import assert from "node:assert/strict";
import { test } from "node:test";

// storage is like the browser's: its keys are what is stored. When it is full it takes nothing more.
let full = false;
const storage = kept => Object.defineProperties(kept, {
  getItem: { value: key => kept[key] ?? null },
  setItem: { value: (key, value) => { if (full) throw new DOMException("full", "QuotaExceededError"); kept[key] = String(value); } },
  removeItem: { value: key => { delete kept[key]; } },
});
const keeps = { "mine": '["h"]', "draft:h:answer": "a secret plan", "who": "user:ada", "other": "1" };
globalThis.sessionStorage = storage(keeps);
const settings = {};
globalThis.localStorage = storage(settings);
let me, fails = 0;
const pauses = [];
globalThis.setTimeout = (does, ms) => { pauses.push(ms); queueMicrotask(does); };
globalThis.fetch = async () => {
  const ok = fails-- <= 0;
  return { ok, status: ok ? 200 : 503, text: async () => JSON.stringify(me) };
};

const { account, followAccount, keepPage, loadAgain, signedOut } = await import(process.env.HOLDPOINT_ASSETS + "/api.js");
const { claim, drafts, inbox, isMine } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
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

test("a storage that is full stops nothing", async () => {
  await is({ principal: "user:ada" });
  full = true;
  assert.doesNotThrow(() => { drafts.set("h:answer", "typed"); claim("h"); });
  full = false;
  assert.equal(isMine("h"), true, "while the page is open");
});

test("the page neither loads again nor asks for a sign-in while it shows a secret", async () => {
  let loads = 0;
  globalThis.location = { reload() { loads++; } };
  await is({ principal: "user:ada" });
  const sending = keepPage();
  signedOut();
  loadAgain();
  sending();
  const secret = keepPage();
  await null;
  assert.deepEqual([loads, account.signedOut], [0, false]);
  secret();
  await null;
  assert.deepEqual([loads, account.signedOut], [1, false], "another tab has signed in");
  const other = keepPage();
  loadAgain();
  signedOut();
  other();
  await null;
  assert.deepEqual([loads, account.signedOut], [2, false]);
  const last = keepPage();
  signedOut();
  last();
  await null;
  assert.deepEqual([loads, account.signedOut], [2, true]);
  account.signedOut = false;
  loadAgain();
  assert.equal(loads, 3);
});

test("reasons of recorded denials are offered for the next one, but not those that were taken back or refused, nor about sensitive requests", async () => {
  Object.assign(globalThis, { setInterval() {}, clearInterval() {}, location: { pathname: "/", search: "?prompt=k" }, addEventListener() {}, matchMedia: () => ({ matches: true, addEventListener() {} }), document: { addEventListener() {} } });
  Object.assign(settings, { "holdpoint.reasons of user:ada": '["a key of before"]', "holdpoint.reasons of user:ben": '["another"]' });
  Map.groupBy ??= (list, of) => list.reduce((groups, one) => groups.set(of(one), [...groups.get(of(one)) ?? [], one]), new Map());
  const { decide } = await import(process.env.HOLDPOINT_ASSETS + "/decide.js"), { takeBack } = await import(process.env.HOLDPOINT_ASSETS + "/undo.js");
  const reasons = () => Object.entries(settings).filter(([name]) => name.includes("reasons")).map(([, value]) => value);
  let status = 200, made = 0;
  globalThis.fetch = async () => ({ ok: status < 400, status, text: async () => "{}" });
  const deny = async (reason, ...requests) => {
    settings["holdpoint.wait"] = "0";
    await decide(requests.map(request => ({ kind: "approval", handle: "h" + ++made, run: "r", request })), { behavior: "deny", reason });
  };
  await deny("the key leaked", { sensitive: true });
  await deny("the key leaked", {}, { sensitive_paths: ["/token"] });
  status = 409;
  await deny("somebody was first", {});
  status = 200;
  settings["holdpoint.wait"] = "5";
  decide([{ kind: "approval", handle: "k", run: "r", request: {} }], { behavior: "deny", reason: "taken back" });
  takeBack();
  full = true;
  await deny("too risky", {});
  full = false;
  assert.deepEqual(reasons(), []);
  await deny("too risky", {});
  await deny("both of them", {}, {});
  assert.deepEqual(reasons(), ['["both of them","too risky"]']);
});
