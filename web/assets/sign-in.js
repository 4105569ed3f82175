// Asks for a token where the service asks for one.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, get, newKey, signIn } from "./api.js";
import { isTyping } from "./guard.js";
import { marked } from "./marks.js";
import { showCount } from "./told.js";

const isToken = /^[!-~]+$/; // a header takes no other character
const isLoopback = host => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [sending, setSending] = useState(false);
  const [issuer, setIssuer] = useState(null);
  useEffect(() => {
    document.title = "Sign in · holdpoint";
    showCount(0); // nobody is signed in whose requests could be counted
    get("/v1/oidc").then(found => found.name && setIssuer(found), () => { /* people sign in with tokens alone */ });
  }, []);
  // A session may end while somebody types: the rest of the sentence is not a token.
  const field = useRef();
  useLayoutEffect(() => { if (!isTyping()) field.current.focus(); }, []);
  // The callback signs in the tab that knows this state: a page of another port can lead a person there too.
  const [state] = useState(() => newKey() + newKey());
  const back = () => `${issuer.start_path}?state=${state}&return_to=${encodeURIComponent(location.pathname + location.search)}`;
  const begin = event => {
    try { sessionStorage.setItem("signingIn", state); } catch {
      if (!isLoopback(location.hostname)) return; // elsewhere a cookie alone signs in
      event.preventDefault();
      setProblem("This tab's storage is full. Open the inbox in a new tab, and sign in there.");
    }
  };
  const submit = event => {
    event.preventDefault();
    if (!isToken.test(token.trim())) return setProblem("This token has a space, a curly quote or another character that tokens do not have. Copy it again.");
    setSending(true);
    signIn(token.trim()).catch(error => { setProblem(error.message); setSending(false); });
  };
  return html`<header><a class="brand" href="/">holdpoint</a></header><main id="main" class="sign-in" tabindex="-1"><h1>Sign in</h1>
    ${account.unsure && html`<p class="error" role="alert">Your sign-in ended while a decision was being sent. It may have been recorded: look at the request before you decide again.</p>`}
    ${issuer && html`<p><a class="button allow" target="_self" href=${back()} onClick=${begin}>Sign in with ${issuer.name}</a></p>`}
    <form class="form settings" onSubmit=${submit}>
      <label>Token<input type="password" autocomplete="current-password" required value=${token} onInput=${e => setToken(e.target.value)} ref=${field} /></label>
      <p class="quiet">It begins with <code>holdpoint_</code>. Ask an administrator of the service for one, who runs:</p><pre><code>holdpoint tokens create --name you --role operator</code></pre>
      ${problem && html`<p class="error" role="alert">${marked(problem)}</p>`}
      <p><button class="allow" disabled=${sending}>Sign in</button></p></form></main>`;
}
