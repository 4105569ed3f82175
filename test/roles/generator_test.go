//go:build faults

package roles

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// call is one call. Its session is that which it is about, "" for none that the path or the body names; its run
// likewise.
type call struct {
	method, path, body, session, run, key, actor string
	// list: what is out of reach is left out of the reply.
	list bool
}

type generator struct {
	rand     *rand.Rand
	progress int
	// requests are some that replies have named.
	requests []known
}

type known struct{ handle, session, run string }

const keptRequests = 200

var handleInReply = regexp.MustCompile(`"handle":"([^"]+)"`)

// hear remembers the requests of a run that was made.
func (g *generator) hear(c call, text string) {
	if c.path != "/v1/runs" || c.method != "POST" || c.run == "" {
		return
	}
	for _, found := range handleInReply.FindAllStringSubmatch(text, -1) {
		one := known{handle: found[1], session: c.session, run: c.run}
		if len(g.requests) < keptRequests {
			g.requests = append(g.requests, one)
		} else {
			g.requests[g.rand.IntN(keptRequests)] = one
		}
	}
}

// agentOf returns the agent of a run, which its id tells: a session has runs of both.
func agentOf(run string) string {
	if run == "" || (run[len(run)-1]-'0')%2 == 0 {
		return "coder"
	}
	return "other"
}

func (g *generator) pick(of ...string) string { return of[g.rand.IntN(len(of))] }

// run returns the id of a run of a session: one of a few that are new, or were lately.
func (g *generator) run(session string) string {
	return fmt.Sprintf("run-%s-%d", session, g.progress/400+g.rand.IntN(4))
}

// call draws a call: mostly about a session that the caller reaches, so that it comes to something.
func (g *generator) call(by *caller) call {
	session := g.pick("a-1", "a-2", "b-1", "b-2", "own-1", "own-2")
	if by.prefix != "" && g.rand.IntN(3) > 0 {
		session = by.prefix + g.pick("1", "2", "new")
	}
	if by.own && g.rand.IntN(3) > 0 {
		session = g.pick("own-1", "own-2")
	}
	c := call{session: session}
	if g.rand.IntN(10) == 0 {
		c.key = g.pick("k1", "k2", "k3")
	}
	if g.rand.IntN(10) == 0 {
		c.actor = g.pick("user:admin", "user:operator", "agent:other")
	}
	g.fill(&c, by)
	if g.rand.IntN(20) == 0 && len(c.body) > 2 {
		// Torn bodies are refused from every caller. A missing body names no session.
		c.body = c.body[:1+g.rand.IntN(len(c.body)-1)]
	}
	return c
}

func (g *generator) fill(c *call, by *caller) {
	session, run := c.session, g.run(c.session)
	agent := agentOf(run)
	fence := g.pick("1", "2", "3")
	request := g.pick("ap", "q")
	get := func(list bool, path string) { c.method, c.path, c.list = "GET", path, list }
	post := func(path, body string) { c.method, c.path, c.body = "POST", path, body }
	// A word for each prefix tells whose input a reply shows; who may not write there has none to show.
	word := "nothing"
	if by.reaches(session) {
		word = wordOf(session[:strings.Index(session, "-")+1])
	}
	approval := fmt.Sprintf(`{"id":"ap","tool_call_id":"t","tool_name":"bash","input":{"command":%q},"pattern_keys":["k"]}`, word)
	question := `{"id":"q","tool_call_id":"q","response_schema":{}}`
	behavior := g.pick("allow", "deny")
	remember := g.pick("", "", `,"remember":"session"`, `,"remember":"always"`)
	decision := fmt.Sprintf(`{"resolutions":[{"request_id":"ap","behavior":%q%s}]}`, behavior, remember)
	answer := `{"resolution":{"request_id":"q","value":1}}`
	asked := known{handle: "guessed-1", session: session}
	if len(g.requests) > 0 {
		asked = g.requests[g.rand.IntN(len(g.requests))]
	}
	switch g.rand.IntN(52) {
	case 0, 1, 2, 3:
		post("/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"agent_id":%q,"input":%q,"suspend":{"approvals":[%s],"questions":[%s]}}`, run, session, agent, word, approval, question))
		c.run = run
	case 4:
		post("/v1/sessions/"+session+"/runs", fmt.Sprintf(`{"run_id":%q,"agent_id":%q,"input":%q}`, run, agent, word))
	case 5:
		post("/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, session))
	case 6, 7:
		post("/v1/runs/claim", fmt.Sprintf(`{"worker_id":"w","agent_ids":[%q]}`, agent))
		c.session = ""
	case 8:
		post("/v1/runs/"+run+"/claim", `{"worker_id":"w"}`)
	case 9, 10:
		post("/v1/runs/"+run+"/approvals", decision)
	case 11:
		post("/v1/sessions/"+session+"/approvals", decision)
	case 12, 13:
		post("/v1/runs/"+run+"/questions", answer)
	case 14:
		post("/v1/sessions/"+session+"/questions", answer)
	case 15:
		post("/v1/runs/"+run+"/cancel", `{}`)
	case 16:
		post("/v1/runs/"+run+"/questions/q/cancel", `{}`)
	case 17:
		post("/v1/sessions/"+session+"/interrupt", `{}`)
	case 18:
		post("/v1/runs/"+run+"/suspend", fmt.Sprintf(`{"fence":%q,"approvals":[%s]}`, fence, approval))
	case 19:
		post("/v1/runs/"+run+"/complete", fmt.Sprintf(`{"fence":%q,"output":%q}`, fence, word))
	case 20:
		post("/v1/runs/"+run+g.pick("/heartbeat", "/release", "/fail", "/requests/"+request+"/withdraw"), fmt.Sprintf(`{"fence":%q,"error":"e"}`, fence))
	case 21:
		post("/v1/runs/"+run+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"note","text":%q}]}`, fence, word))
	case 22:
		get(false, "/v1/runs/"+run)
	case 23:
		get(false, "/v1/runs/"+run+g.pick("/events", "/outputs", "/resume?fence="+fence))
	case 24:
		get(false, "/v1/sessions/"+session)
	case 25:
		get(false, "/v1/sessions/"+session+"/events")
	case 26:
		// A session that is out of reach has no rows, as one that is not there.
		get(true, "/v1/sessions/"+session+g.pick("/approvals", "/questions"))
	case 27:
		get(true, "/v1/"+g.pick("runs", "sessions", "approvals", "questions", "decisions", "workers", "effects", "rules")+g.pick("", "?session_id="+session))
	case 28:
		post("/v1/rules", fmt.Sprintf(`{"session_id":%q,"effect":%q,"match":{"pattern_keys":["k%d"]}}`, session, g.pick("allow", "deny", "ask"), g.rand.IntN(9)))
	case 29:
		post("/v1/rules", fmt.Sprintf(`{"effect":"ask","match":{"pattern_keys":["all%d"]}}`, g.rand.IntN(9)))
		c.session = ""
	case 30:
		post("/v1/rules/explain", fmt.Sprintf(`{"session_id":%q,"tool_name":"bash","input":{"command":"ls"}}`, session))
		c.list = true
	case 31:
		post("/v1/tokens", `{"name":"more","role":"admin"}`)
		c.session = ""
	case 32:
		get(true, "/v1/"+g.pick("tokens", "webhooks", "me", "audit/export"))
	case 33:
		c.method, c.path, c.session = "DELETE", "/v1/tokens/"+g.pick("token_x", "token_y"), ""
		if by.role == "admin" {
			c.method = "GET" // 204, also for one that is not there
		}
	case 34:
		post("/v1/webhooks", `{"url":"ftp://nowhere"}`)
		c.session = ""
	case 35:
		get(false, "/v1/sessions/"+session+"/mailbox"+g.pick("", "/dead-letter"))
	case 36:
		get(true, "/api/approval/pending?session_id="+session)
	case 37:
		post("/api/approval/respond", fmt.Sprintf(`{"session_id":%q,"choice":%q}`, session, g.pick("once", "session", "always", "deny")))
		c.list = true // nothing is open there, which this face does not treat as an error
	case 38:
		get(true, "/api/sessions/"+session+g.pick("/approvals", "/transcript", "/tool-input"))
	case 39:
		post("/api/approvals/"+g.pick("ap", "codex-appr-1")+"/decision", `{"decision":"accept"}`)
		c.session = ""
	case 40:
		get(true, "/runs/"+run+"/events") // one that is not there has expired on this face
	case 41:
		post("/cancel/"+run, `{}`)
	case 42:
		post("/chat/relay/"+g.pick("ap", "relay_1"), `{"approved":true}`)
		c.session = ""
	case 43:
		get(true, g.pick("/livez", "/readyz", "/version", "/v1/keys", "/v1/me"))
	case 44, 45:
		get(false, "/v1/requests/"+asked.handle+g.pick("", "?context=5", "/explain"))
		c.session, c.run = asked.session, asked.run
	case 46:
		c.method, c.path, c.body = "PUT", "/v1/requests/"+asked.handle+"/acknowledgement", g.pick(`{"state":"acknowledged"}`, `{"state":"none"}`)
		c.session, c.run = asked.session, asked.run
	case 47:
		post("/v1/sessions/"+session+"/approval-runs", decision)
	case 48:
		get(true, "/v1/me/"+g.pick("addresses", "quiet-hours", "push"))
	case 49:
		get(true, "/v1/channels")
	case 50:
		get(false, "/v1/runs/"+run+"/explain")
	case 51:
		get(false, "/kheish/v1/"+g.pick("sessions/"+session, "runs/"+run, "runs/"+run+"/events"))
	}
	if strings.HasPrefix(c.path, "/v1/runs/run-") {
		c.run = run
	}
}
