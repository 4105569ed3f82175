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

test("a time that the clock skips is shown as it is sent", () => {
  for (const [zone, typed, sent, shown] of [
    ["America/New_York", "2026-03-08T02:30", "2026-03-08T02:30:00-04:00", "2026-03-08T01:30"],
    ["Australia/Lord_Howe", "2026-10-04T02:10", "2026-10-04T02:10:00+11:00", "2026-10-04T01:40"],
    ["America/New_York", "2026-11-01T01:30", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30"],
  ]) {
    process.env.TZ = zone;
    assert.equal(fromLocal(typed), sent);
    assert.equal(toLocal(sent), shown, typed);
  }
});
