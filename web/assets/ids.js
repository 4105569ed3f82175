// Ids of runs and sessions: small, shortened and to be copied. What people know stands before them.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { path } from "./api.js";
import { Copy, useRead } from "./components.js";
import { nameOfAgent, shortID } from "./groups.js";
import { marked } from "./marks.js";

export const ID = ({ id, to }) => html`${to ? html`<a href=${to} title=${id}>${marked(shortID(id))}</a>` : html`<code title=${id}>${marked(shortID(id))}</code>`} <${Copy} text=${id} />`;
export const SmallID = ({ id, to, of }) => html`<div class="quiet id">${of} <${ID} id=${id} to=${to} /></div>`;

export const runAddress = id => "/runs/" + encodeURIComponent(id);
export const sessionAddress = id => "/sessions/" + encodeURIComponent(id);

// nameOfSession is what people call a session: its label, else its project, else its agent.
export const nameOfSession = (id, about) => about?.label || about?.origin?.project || (about?.agent_id ? nameOfAgent(about.agent_id) : shortID(id));

// SessionName leads to a session.
export const SessionName = ({ id, about }) => html`<a href=${sessionAddress(id)} title=${id}>${marked(nameOfSession(id, about))}</a>`;

// ReadSessionName reads how people call a session.
export const ReadSessionName = ({ id }) => html`<${SessionName} id=${id} about=${useRead(path("sessions", id)).data} />`;
