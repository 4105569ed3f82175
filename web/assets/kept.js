// What a tab keeps for its person: which decisions are theirs, and what they have typed. A storage that is full keeps nothing
// more, and stops nothing.

import { account, onAccount } from "./api.js";

const keep = (name, value) => { try { sessionStorage.setItem(name, value); } catch { /* full */ } };

// mine are the handles about which the service has taken this browser's decision.
const mine = new Set(JSON.parse(sessionStorage.getItem("mine") ?? "[]"));
export const isMine = handle => mine.has(handle);
export function claim(handle) {
  mine.add(handle);
  keep("mine", JSON.stringify([...mine].slice(-500)));
}

// What is sensitive is kept nowhere in the browser.
export const sensitive = ({ request }) => request.sensitive || request.sensitive_paths || request.questions?.some(asked => asked.sensitive);

export const drafts = {
  get: key => account.me ? sessionStorage.getItem("draft:" + key) : null, // until then they may be another person's
  set: (key, value) => { if (account.me) keep("draft:" + key, value); },
  drop(handle) {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(`draft:${handle}:`)) sessionStorage.removeItem(key);
  },
};

// onAnother is told when this tab is another person's than before, and whether this page has been somebody's already.
let another = () => {};
export const onAnother = listener => { another = listener; };

// Another person in this tab begins with nothing of the one before, neither decisions nor typed texts. What was typed
// before the page knew who they are is theirs.
let here;
onAccount(() => {
  const who = account.me && (account.me.on_behalf_of ?? account.me.principal), before = sessionStorage.getItem("who");
  if (!who) return;
  const was = here;
  here = who;
  if (who === before) return;
  if (before !== null) {
    mine.clear();
    for (const key of Object.keys(sessionStorage)) if (key === "mine" || key.startsWith("draft:")) sessionStorage.removeItem(key);
  }
  keep("who", who);
  if (before !== null) another(was !== undefined);
});
