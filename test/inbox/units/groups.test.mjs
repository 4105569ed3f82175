// The headings of groups.
import assert from "node:assert/strict";
import { test } from "node:test";

// Browsers have it; Node has it from version 21.
Map.groupBy ??= (list, keyOf) => {
  const groups = new Map();
  for (const one of list) groups.set(keyOf(one), [...groups.get(keyOf(one)) ?? [], one]);
  return groups;
};
const { grouped, layout, shortID } = await import(process.env.HOLDPOINT_ASSETS + "/groups.js");

const prompt = (session, agent, about = {}) => ({ session, agent, kind: "approval", handle: session, request: {}, ...about });
const names = (list, by) => grouped(list, by).map(({ name, list }) => [name, list.length]);

test("a group of an agent is named by project, agent and host", () => {
  const shop = { origin: { project: "shop", directory: "~/src/shop", host: "ada-laptop" } };
  const list = [prompt("a", "claude-code", shop), prompt("b", "claude-code"), prompt("c", "claude-code", shop), prompt("d", "claude-code", { origin: { host: "ci" } })];
  assert.deepEqual(names(list, "agent"), [["shop · claude-code · ada-laptop", 2], ["claude-code", 1], ["claude-code · ci", 1]]);
});

test("a group of a session is named by its label, else by its shortened id", () => {
  const list = [prompt("session-0123456789abcdef", "coder"), prompt("b", "coder", { label: "Nightly build" })];
  assert.deepEqual(names(list, "session"), [["session-…", 1], ["Nightly build", 1]]);
});

test("an agent's id that a program has made up is shortened, and tells its group apart all the same", () => {
  const ids = ["b7e6f1d2-0c3a-4f5e-8b9a-6d7c8e9f0a1b", "b7e6f1d2-ffff-4f5e-8b9a-6d7c8e9f0a1b", "agent_06h1qjdq31yrs27qa1akrcxq8r", "the-production-deployment-agent", "customersupportassistant", "claude-3-5-sonnet-20241022"];
  assert.deepEqual(names(ids.map((id, i) => prompt("s" + i, id)), "agent").map(([name]) => name), ["…8e9f0a1b", "…8e9f0a1b", "…" + ids[2].slice(-8), ...ids.slice(3)]);
});

test("ids that were made at the same time are told apart", () => {
  const ids = ["session_06h1qjdq31yrs27qa1akrcxq8r", "session_06h1qjdq31yrs27qb9zmtp4k2w", "0198b2c4-7d6e-7f6b-9a51-1f2f3c4d5e6f", "session-0198b2c4-7d6e-7f6b-9a51-1f2f3c4d5e6e"];
  assert.equal(new Set(ids.map(shortID)).size, ids.length);
  assert.deepEqual(["release-42", "release-2026-11-28", "sha256:4cf29611a66934862f29acfcc817e30b905c1ab73d5e65831413eb6b454d49db"].map(shortID), ["release-42", "release-…", "4cf29611…"]);
});

test("each row has its own position, and all of them are counted", () => {
  const list = [prompt("a", "x"), { ...prompt("b", "y"), resolution: {} }, prompt("c", "x"), { ...prompt("d", "y"), resolution: {} }];
  const of = list => { const { rows, total } = layout(grouped(list, "agent"), "agent", 52); return [rows.map(({ position }) => position), total]; };
  assert.deepEqual(of(list), [[1, 2, 3, 4], 4]);
  assert.deepEqual(of([list[1]]), [[1], 1], "the last one was settled");
});
