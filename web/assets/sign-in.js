// Asks for a token where the service asks for one.

import { html, useEffect, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { signIn } from "./api.js";
import { marked } from "./marks.js";

export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [sending, setSending] = useState(false);
  useEffect(() => { document.title = "Sign in · holdpoint"; }, []);
  const submit = event => {
    event.preventDefault();
    setSending(true);
    signIn(token.trim()).catch(error => { setProblem(error.message); setSending(false); });
  };
  return html`<header><a class="brand" href="/">holdpoint</a></header><main id="main" tabindex="-1"><h1>Sign in</h1>
    <form class="form settings" onSubmit=${submit}>
      <label>Token<input type="password" autocomplete="current-password" required value=${token} onInput=${e => setToken(e.target.value)} ref=${field => field && !token && field.focus()} /></label>
      <p class="quiet">It begins with <code>holdpoint_</code>. Whoever runs the service makes one: <code>holdpoint tokens create --name you --role operator</code></p>
      ${problem && html`<p class="error" role="alert">${marked(problem)}</p>`}
      <p><button class="allow" disabled=${sending}>Sign in</button></p></form></main>`;
}
