// A date and time in the person's time zone.
import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "America/New_York";
const { fromLocal, toLocal } = await import(process.env.HOLDPOINT_ASSETS + "/fields.js");

test("a date and time stays as it was typed while its year is typed", () => {
  let shown = "2026-11-24T18:30";
  for (const year of ["0002", "0020", "0202", "2027", "1850"]) {
    shown = year + shown.slice(4);
    for (let drawn = 0; drawn < 3; drawn++) shown = toLocal(fromLocal(shown));
    assert.equal(shown, year + "-11-24T18:30");
  }
});

test("a time of another zone is shown in the person's", () => {
  assert.equal(toLocal("2026-11-24T18:30:00Z"), "2026-11-24T13:30");
  assert.equal(toLocal("2026-07-24T18:30:00+02:00"), "2026-07-24T12:30");
  assert.equal(fromLocal("2026-07-24T12:30"), "2026-07-24T12:30:00-04:00");
  assert.deepEqual([toLocal(""), toLocal(undefined), toLocal("tomorrow"), fromLocal("")], ["", "", "", ""]);
});
