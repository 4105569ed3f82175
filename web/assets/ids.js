// Ids of runs and sessions: small, shortened and to be copied. What people know stands before them.

import { html, useEffect, useReducer } from "./vendor/htm-preact-standalone-3.1.1.js";
import { get, isPassing, onAccount, path } from "./api.js";
import { Copy } from "./components.js";
import { nameOfAgent, shortID } from "./groups.js";
import { marked } from "./marks.js";

export const ID = ({ id, to }) => html`${to ? html`<a href=${to} title=${id}>${marked(shortID(id))}</a>` : html`<code title=${id}>${marked(shortID(id))}</code>`} <${Copy} text=${id} />`;
export const SmallID = ({ id, to, of }) => html`<div class="quiet id">${of} <${ID} id=${id} to=${to} /></div>`;

export const runAddress = id => "/runs/" + encodeURIComponent(id);
export const sessionAddress = id => "/sessions/" + encodeURIComponent(id);

// nameOfSession is what people call a session: its label, else its project, else its agent.
export const nameOfSession = (id, about) => about?.label || about?.origin?.project || (about?.agent_id ? nameOfAgent(about.agent_id) : shortID(id));

// What the service has said about sessions to this person. Lists of leases and effects have only their ids.
const known = new Map();
const mostKnown = 1000; // the oldest are read again
const mostRead = 50; // sessions, one after the other
onAccount(() => known.clear());

// useSessions returns what is known about sessions, by id, and reads the rest.
export function useSessions(ids) {
  const [, tick] = useReducer(n => n + 1, 0);
  useEffect(() => {
    let late = false;
    const read = async () => {
      for (const id of [...new Set(ids)].filter(id => !known.has(id)).slice(0, mostRead)) {
        let about = {};
        try {
          const { label, origin, agent_id } = await get(path("sessions", id));
          about = { label, origin, agent_id };
        } catch (error) { if (isPassing(error)) return; }
        if (late) return;
        if (known.size >= mostKnown) known.delete(known.keys().next().value);
        known.set(id, about);
        tick();
      }
    };
    void read();
    return () => { late = true; };
  }, [ids.join("\n")]);
  return known;
}

// SessionName leads to a session.
export const SessionName = ({ id, about }) => html`<a href=${sessionAddress(id)} title=${id}>${marked(nameOfSession(id, about))}</a>`;
