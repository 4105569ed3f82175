// The headings of groups.
import assert from "node:assert/strict";
import { test } from "node:test";

// Browsers have it; Node has it from version 21.
Map.groupBy ??= (list, keyOf) => {
  const groups = new Map();
  for (const one of list) groups.set(keyOf(one), [...groups.get(keyOf(one)) ?? [], one]);
  return groups;
};
const { grouped } = await import(process.env.HOLDPOINT_ASSETS + "/groups.js");

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
  assert.deepEqual(names(ids.map((id, i) => prompt("s" + i, id)), "agent").map(([name]) => name), ["b7e6f1d2…", "b7e6f1d2…", "agent_06…", ...ids.slice(3)]);
});
