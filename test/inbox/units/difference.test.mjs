// What differs between two texts, by lines and words.
import assert from "node:assert/strict";
import { test } from "node:test";

const { difference, differingRanges, numbered, paired, patchLines } = await import(process.env.HOLDPOINT_ASSETS + "/difference.js");

test("lines have their numbers before and after", () => {
  const lines = numbered(difference("a\nb\nc", "a\nx\ny\nc", Infinity));
  assert.deepEqual(lines.map(({ sign, text, old, now }) => [sign, text, old, now]), [[" ", "a", 1, 1], ["-", "b", 2, 0], ["+", "x", 0, 2], ["+", "y", 0, 3], [" ", "c", 3, 4]]);
});

test("a patch says where its hunks are, and all of it is shown", () => {
  const patch = "--- a/x\n+++ b/x\n@@ -10,2 +12,2 @@ func f()\n same\n-old\n+new\n@@\n-p\n+q\nodd";
  const lines = patchLines(patch);
  assert.deepEqual(lines.map(({ sign, old, now }) => [sign, old, now]), [["@", 0, 0], ["@", 0, 0], ["@", 0, 0], [" ", 10, 12], ["-", 11, 0], ["+", 0, 13], ["@", 0, 0], ["-", 0, 0], ["+", 0, 0], [" ", 0, 0]]);
  assert.deepEqual(lines.map(({ text }) => text), ["--- a/x", "+++ b/x", "@@ -10,2 +12,2 @@ func f()", "same", "old", "new", "@@", "p", "q", "odd"]);
});

test("a file without a line break at its end", () => {
  const lines = patchLines("@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+b\n+c\n--- d\n+++ d");
  assert.deepEqual(lines.map(({ sign, old, now }) => [sign, old, now]), [["@", 0, 0], ["-", 1, 0], ["@", 0, 0], ["+", 0, 1], ["+", 0, 2], ["@", 0, 0], ["@", 0, 0]]);
});

test("a line of a hunk is not a head, whatever it looks like", () => {
  const lines = patchLines("@@ -1,2 +1,2 @@\n--- a\n+++ b\n same\n--- c\n+++ c");
  assert.deepEqual(lines.map(({ sign, text }) => sign + text), ["@@@ -1,2 +1,2 @@", "--- a", "+++ b", " same", "@--- c", "@+++ c"]);
});

test("a patch that marks its files by stars has no other heads, and counts no lines", () => {
  const lines = patchLines("*** Begin Patch\n*** Update File: a\n@@ -1,90 +1,90 @@\n--- gone\n+++ new\n*** Delete File: b\n*** End Patch");
  assert.deepEqual(lines.map(({ sign, text }) => sign + text), ["@*** Begin Patch", "@*** Update File: a", "@@@ -1,90 +1,90 @@", "--- gone", "+++ new", "@*** Delete File: b", "@*** End Patch"]);
});

test("what a patch says about a file before its hunks is no line of it", () => {
  const patch = "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n-a\n+b\n rename to z";
  assert.equal(patchLines(patch).map(({ sign }) => sign).join(""), "@@@@@@@@@-+ ");
});

test("an empty text has no lines", () => {
  assert.deepEqual(difference("", "a\nb"), [["+", "a"], ["+", "b"]]);
  assert.deepEqual(difference("a", ""), [["-", "a"]]);
});

test("words that differ", () => {
  assert.deepEqual(differingRanges("sum += one.Price", "sum += one.Price * one.Count"), [[], [[16, 28]]]);
  assert.deepEqual(differingRanges("replicas: 3", "replicas: 8"), [[[10, 11]], [[10, 11]]]);
  assert.deepEqual(differingRanges("a b c", "x y z"), [[], []], "little is common");
  assert.deepEqual(differingRanges("", "x"), [[], []]);
  assert.deepEqual(differingRanges("x ".repeat(300), "x ".repeat(301)), [[], []], "long lines are not compared");
});

test("removed lines stand next to the added ones that take their place", () => {
  const rows = paired(numbered(difference("a\nb\nc\nd", "a\nB1\nd\ne", Infinity)));
  assert.deepEqual(rows.map(([x, y]) => [x?.text, y?.text]), [["a", "a"], ["b", "B1"], ["c", undefined], ["d", "d"], [undefined, "e"]]);
});

test("many changes of one input are compared no longer than a few", () => {
  const lines = n => Array.from({ length: 300 }, (_, i) => `${n} ${i % 7}`).join("\n"), kept = changes => difference(lines("a"), lines("a").replaceAll("a 3", "b"), 3, changes).filter(([sign]) => sign === " ").length;
  assert.ok(kept(40) > 200, "equal lines are found");
  assert.equal(kept(100), 5, "one block takes the place of the other");
  const words = Array.from({ length: 300 }, (_, i) => [`-${"w ".repeat(90)}${i}`, `+${"w ".repeat(90)}x`]).flat().map(text => ({ sign: text[0], text: text.slice(1) }));
  const grouped = [...words.filter(({ sign }) => sign === "-"), ...words.filter(({ sign }) => sign === "+")], marked = changes => paired(grouped.map(line => ({ ...line })), changes).filter(([before]) => before.ranges.length > 0).length;
  assert.deepEqual([marked(1), marked(4)], [122, 30], "the first ones");
});
