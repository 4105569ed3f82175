// Where each row of the list stands: rows by group, all of the same height.

import { describe, rowOf } from "./kinds.js";
import { headingOf, questionOf } from "./headings.js";
import { wordOf, worst } from "./hints.js";

const headingHeight = 28;
export const groupings = [["agent", "Agent"], ["session", "Session"], ["call", "Same call"], ["none", "None"]];

// madeUp matches ids that a program has made up. handle.go of the terminal has the same.
const madeUp = /^(?:\w+[_-])?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=(?:\D*\d){4})[0-9a-z]{24,})$/i;
const digest = /^sha256:/;

// shortID shortens an id that says nothing. What a program has made up begins with the time: its end tells it apart.
export const shortID = id => id.length <= 12 ? id : madeUp.test(id) ? "…" + id.slice(-8) : id.replace(digest, "").slice(0, 8) + "…";

// nameOfAgent shortens the id of an agent that a program has made up: it says nothing as a name.
export const nameOfAgent = id => madeUp.test(id) ? shortID(id) : id;

// A label or an origin is what the agent's side says: it is shown as text, with its marks.
const nameOf = { agent: agentName, session: one => one.label ?? [one.origin?.project, shortID(one.session)].filter(Boolean).join(" · "), call: one => one.request.tool_name ?? "Question", none: () => "" };
const keyOf = { agent: one => agentName(one, id => id), session: one => one.session, call: one => one.digest ? `${one.request.tool_name}\n${one.digest}` : one.handle, none: () => "" };

export function agentName({ agent, origin }, nameOf = nameOfAgent) {
  return [origin?.project, nameOf(agent), origin?.host].filter(Boolean).join(" · ");
}

// groupKey tells the groups apart.
const groupKey = (one, by) => keyOf[by](one);

// grouped returns [{key, name, list}] in the order in which each group has its first prompt.
export function grouped(list, by) {
  const groups = Map.groupBy(list, one => groupKey(one, by));
  return [...groups].map(([key, of]) => ({ key, name: nameOf[by](of[0]), list: of }));
}

// layout returns where headings and rows stand: {headings: [{key, name, count, top}], rows: [{one, top, position}], height}.
export function layout(groups, by, rowHeight) {
  const headings = [], rows = [];
  let top = 0;
  for (const { key, name, list } of groups) {
    if (by !== "none") {
      headings.push({ key, name, count: list.filter(one => !one.resolution).length, top });
      top += headingHeight;
    }
    for (const one of list) {
      rows.push({ one, top, position: rows.length + 1 });
      top += rowHeight;
    }
  }
  return { headings, rows, height: top, total: rows.length };
}

// endOf returns where a prompt would stand that joins its group.
export function endOf(one, { groups, by, rowHeight }) {
  const key = groupKey(one, by);
  let top = 0;
  for (const group of groups) {
    top += (by === "none" ? 0 : headingHeight) + group.list.length * rowHeight;
    if (group.key === key) return top;
  }
  return top;
}

// about returns what a prompt is about, with the first line of its row. It is worked out once for an input.
export function about(one) {
  const { input, directory } = one.request;
  if (one.about && one.about.input === input) return one.about;
  if (one.kind === "question") return one.about = { input, title: "Question", row: { icon: "question", what: questionOf(one) } };
  const found = describe(one.request);
  return one.about = { ...found, ...directory && { folder: { text: directory } }, input, row: rowOf(one.request, found) };
}

// nameOfRow is what a row is called: what is asked, with which tool, about what.
export function nameOfRow(one) {
  const level = worst(one.request);
  if (level === "warn" || level === "danger") return `${wordOf(level)}: ${plainName(one)}`;
  return plainName(one);
}

function plainName(one) {
  const { title, row } = about(one), { tool_name: tool } = one.request;
  if (one.kind === "question") return ["Question", ...new Set([headingOf(one), row.what])].join(": ");
  const what = [row.strong !== tool && row.strong, row.what, row.hint].filter(Boolean).join(" ");
  return `${title.startsWith("Use ") ? title : `${title} with ${tool}`}: ${what}`;
}
