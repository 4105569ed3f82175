// JSON by levels.
import assert from "node:assert/strict";
import { test } from "node:test";

const { depthOf, toLevel } = await import(process.env.HOLDPOINT_ASSETS + "/json.js");
const text = value => JSON.stringify(value, null, 2);

test("deeper levels are left out, with how many lines", () => {
  const value = { a: { b: { c: 1, d: [2, 3] } }, e: { f: 4 }, g: [{ h: 5 }, {}], i: "{ … }" };
  assert.equal(depthOf(text(value)), 4);
  assert.equal(toLevel(text(value), 1), '{\n  "a": { … 7 lines … },\n  "e": { … 1 line … },\n  "g": [ … 4 lines … ],\n  "i": "{ … }"\n}');
  assert.equal(toLevel(text(value), 3).split("\n")[3], '      "c": 1,');
  assert.equal(toLevel(text(value), Infinity), text(value));
  assert.equal(toLevel(text(value), 4), text(value));
});

test("a text that looks like an indent is a text", () => {
  assert.equal(toLevel('{\n  "a": "x\\n      y"\n}', 1), '{\n  "a": "x\\n      y"\n}');
});
