// Equal calls of different sessions share one row of the list. A call joins a row while one of its calls is open: a
// settled row keeps its outcome.

import { shortID } from "./groups.js";

const mostNames = 5; // sessions that are named; the rest is a number

const rows = new Map(); // by tool and digest: the rows of equal calls
let made = 0;

// joinRow puts a call into the row of its equals. Two calls of one session have a row each.
export function joinRow(one) {
  leaveRow(one);
  if (one.kind !== "approval" || !one.digest) return;
  const key = `${one.request.tool_name}\n${one.digest}`, same = rows.get(key) ?? [];
  const takes = ({ members }) => members.some(other => !other.resolution) && members.every(other => other.resolution || other.session !== one.session);
  one.row = same.find(takes) ?? { id: "row-" + ++made, key, members: [], lead: one };
  if (one.row.members.length === 0) rows.set(key, [...same, one.row]);
  one.row.members.push(one);
}

// leaveRow takes out a call that is gone from the page or has another input now.
export function leaveRow(one) {
  const { row } = one;
  if (!row) return;
  one.row = undefined;
  row.members.splice(row.members.indexOf(one), 1);
  if (row.members.length > 0) return;
  const left = rows.get(row.key).filter(other => other !== row);
  if (left.length > 0) rows.set(row.key, left); else rows.delete(row.key);
}

// leadOf is the call that stands for its row: the one with the handle that was asked for while it is open. Otherwise it
// changes only when it is settled and another one is open.
export function leadOf(row, members, asked = "") {
  const kept = members.includes(row.lead) && row.lead;
  return row.lead = members.find(one => one.handle === asked && !one.resolution) || (kept && !kept.resolution && kept) || members.find(one => !one.resolution) || kept || members.at(-1);
}

// labelOf is what people call the session of a request: its label, else its project; "" for none.
export const labelOf = one => one.label || one.origin?.project || "";

// sessionName names the session of a call: by what people call it, else by its id. Among others of the same name it has
// the end of its id as well.
export function sessionName(one, among = []) {
  const name = labelOf(one);
  if (!name) return shortID(one.session);
  return among.some(other => other.session !== one.session && labelOf(other) === name) ? `${name} …${one.session.slice(-8)}` : name;
}

// namesOf names the sessions of calls: "shop, shop2, shop3".
export function namesOf(list) {
  const more = list.length - mostNames;
  return list.slice(0, mostNames).map(one => sessionName(one, list)).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

// callsOf is how many calls, and whose: "3 calls: shop, shop2, shop3".
export const callsOf = list => `${list.length} ${list.length === 1 ? "call" : "calls"}${list.length > 0 ? ": " + namesOf(list) : ""}`;

// waitsElsewhere says where a call also waits: in the sessions of its row, in other prompts of the page, and as often as the
// service knows of more that the page does not have.
export function waitsElsewhere(shared, others, beyond) {
  const sessions = count => `${count} other ${count === 1 ? "session" : "sessions"}`;
  const more = others.length - shared.length + beyond, times = `${more} more ${more === 1 ? "time" : "times"}`;
  if (shared.length > 0) return `The same call waits in ${sessions(shared.length)}: ${namesOf(shared)}. Allow and Deny ask about all of them.` + (more > 0 ? ` It waits ${times}, which they leave out.` : "");
  if (more === 0) return "";
  const apart = new Set(others.map(one => one.session)).size === others.length;
  return apart && beyond === 0 ? `The same call waits in ${sessions(more)}.` : `The same call waits ${times}.`;
}
