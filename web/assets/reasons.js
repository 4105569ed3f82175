// The person's last reasons of a denial, which the next one offers.

import { account, settings } from "./api.js";
import { sensitive } from "./kept.js";

const reasonsKept = 4;
const usual = ["Not needed", "Too risky", "Wrong target", "Ask me first"];

// Earlier versions kept reasons of sensitive requests too.
for (const name of Object.keys(localStorage)) if (name.startsWith("holdpoint.reasons of ")) localStorage.removeItem(name);

const nameOf = () => `denial reasons of ${account.me?.on_behalf_of ?? account.me?.principal}`; // another person in this browser has others
const lastReasons = () => { try { return JSON.parse(settings.get(nameOf(), "[]")); } catch { return []; } };

export const offeredReasons = () => [...new Set([...lastReasons(), ...usual])].slice(0, reasonsKept);

// keepReason keeps the reason of a denial that was recorded.
export function keepReason(denied, reason) {
  if (!reason || denied.length === 0 || denied.some(sensitive)) return;
  const reasons = JSON.stringify([reason, ...lastReasons().filter(other => other !== reason)].slice(0, reasonsKept));
  try { settings.set(nameOf(), reasons); } catch { /* the storage is full, and the decision does not need it */ }
}
