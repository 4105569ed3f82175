package watch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// served is a service that records decisions. It refuses ones about the request "late".
type served struct {
	decided  []api.ApprovalResolution
	explains []api.ExplainRulesBody
	// mostMs is the longest lifetime of rules; 0 for no limit.
	mostMs int64
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v1/rules/explain" {
		var asked api.ExplainRulesBody
		if err := json.Unmarshal(body, &asked); err != nil {
			panic(err)
		}
		s.explains = append(s.explains, asked)
		if forMs := *asked.RememberForMs; s.mostMs != 0 && (forMs == 0 || forMs > s.mostMs) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"code":"invalid_request","status":422,"title":"Invalid","detail":"see errors","errors":[{"pointer":"/remember_for_ms","detail":"the service lets no rule hold longer"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"decision":"ask","rules":[],"remember":{"choices":[
			{"as":"exact","session":"Allow exactly this, in session s.","always":"Allow exactly this."},
			{"as":"prefix","about":"npm test","session":"Allow npm test, in session s.","always":"Allow npm test.","also":["h-b2","h-b3","h-long","h-late","h-changed"]},
			{"as":"newer","session":"Something else."}]}}`)
		return
	}
	var sent api.ResolveApprovalsBody
	if err := json.Unmarshal(body, &sent); err != nil {
		panic(err)
	}
	if sent.Resolutions[0].RequestID == "late" {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"approval_not_open","status":409,"title":"Not open","detail":"it is settled"}`)
		return
	}
	s.decided = append(s.decided, sent.Resolutions...)
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"run_id":"r","session_id":"s","status":"running"}`)
}

// serve gives a screen a service.
func serve(t *testing.T, s *screen) *served {
	t.Helper()
	service := &served{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	opened, err := client.New(server.URL)
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	s.ctx, s.client = t.Context(), opened
	return service
}

// does carries out what a key has started.
func does(t *testing.T, s *screen, command tea.Cmd) {
	t.Helper()
	require.NotNil(t, command)
	s.Update(command())
}

// Marked requests are decided together after a question, without ones that were not read, were settled
// meanwhile or came later.
func TestMarkedRequestsAreDecidedTogether(t *testing.T) {
	t.Parallel()
	long := `{"command":"` + strings.Repeat(`echo step\n`, 300) + `"}`
	s := screenOf(asked("a1", `{"command":"ls"}`), asked("a2", long), asked("a3", `{"command":"make"}`), asked("late", `{"command":"rm"}`), asked("gone", `{"command":"go"}`))
	service := serve(t, s)
	for range 5 {
		s.press("j")
		reads(s)
		s.press("x")
	}
	require.Contains(t, s.text(), "5 marked")
	require.Contains(t, s.text(), ">*bash: go")
	require.Nil(t, s.press("a"))
	require.Contains(t, s.text(), "Allow 4 requests?")
	require.Contains(t, s.text(), "1 not read to the end: left out")
	require.Nil(t, s.press("n"), "any other key leaves")
	require.Contains(t, s.text(), "nothing was decided")
	require.Contains(t, s.text(), "5 marked")

	s.press("a")
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"gone","outcome":"denied","resolved_by":"ada","via":"api:inbox"}]}`)}})
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r2", Event: api.JSON(
		`{"type":"waiting_for_approval","requests":[{"id":"new","handle":"h-new","tool_call_id":"c","tool_name":"bash","input":1}]}`)}})
	does(t, s, s.press("y"))
	require.Len(t, service.decided, 2)
	for i, id := range []string{"a1", "a3"} {
		require.Equal(t, id, service.decided[i].RequestID)
		require.Equal(t, "h-"+id, service.decided[i].Handle)
		require.Equal(t, api.BehaviorAllow, service.decided[i].Behavior)
	}
	require.Contains(t, s.note, "allowed: 2 of 3 requests")
	require.Contains(t, s.note, "it is settled")
	require.Empty(t, s.marked)

	// A denial needs no reading.
	for _, key := range []string{"home", "home", "j"} {
		s.press(key)
	}
	require.Equal(t, "h-a2", s.chosen)
	s.press("x")
	s.press("d")
	does(t, s, s.press("y"))
	require.Equal(t, "a2", service.decided[2].RequestID)
	require.Equal(t, api.BehaviorDeny, service.decided[2].Behavior)

	// Escape takes the marks back, and another input of the same request is not marked.
	s.press("x")
	changed := asked("a2", `{"command":"other"}`)
	changed.InputDigest = "sha256:other"
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingApprovals: []api.PendingApprovalView{{SessionID: "s", RunID: "r", Request: changed}}}})
	require.Empty(t, s.marked)
	s.press("x")
	s.press("esc")
	require.Empty(t, s.marked)
}

// "Allow and …" writes the rule whose text is on the screen, for the lifetime that it says.
func TestAllowAndARule(t *testing.T) {
	t.Parallel()
	first := asked("a1", `{"command":"npm test"}`)
	first.Directory, first.InputDigest, first.SensitivePaths = "/srv/app", "hmac-sha256:1", []string{"/token"}
	s := screenOf()
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingApprovals: []api.PendingApprovalView{
		{SessionID: "s", AgentID: "agent_019aa0b1c2d3e4f5a6b7c8d9e0", RunID: "r", Request: first}, {SessionID: "s", RunID: "r", Request: asked("a2", `{"command":"ls"}`)},
	}}})
	service := serve(t, s)
	s.press("j")
	reads(s)
	load := s.press("r")
	require.Nil(t, s.press("enter"), "no rule is shown yet")
	does(t, s, load)
	require.Contains(t, s.text(), `> 1  this exact call, in this session`)
	require.Contains(t, s.text(), "Rule: Allow exactly this, in session s.")
	require.NotContains(t, s.text(), "newer")
	require.Nil(t, s.press("9"))
	require.Nil(t, s.press("4"))
	require.Contains(t, s.text(), `> 4  commands that start with "npm test", in all sessions`)
	require.Contains(t, s.text(), "[30 days]")
	load = s.press("left")
	require.Nil(t, s.press("enter"), "the text is about another lifetime")
	again := s.press("left")
	does(t, s, load)
	require.Nil(t, s.press("enter"), "the answer is about another lifetime")
	does(t, s, again)
	require.Contains(t, s.text(), "Rule: Allow npm test.")

	s.height = 12
	require.Nil(t, s.press("enter"))
	require.Contains(t, s.note, "too small")
	s.height = 24
	reads(s)
	does(t, s, s.press("enter"))
	require.Equal(t, []api.ApprovalResolution{{
		RequestID: "a1", Handle: "h-a1", Behavior: api.BehaviorAllow, Remember: api.RememberAlways, RememberAs: api.RememberPrefix, RememberForMs: new((time.Hour - endInView).Milliseconds()), InputDigest: "hmac-sha256:1",
	}}, service.decided)
	require.Equal(t, "s", *service.explains[0].SessionID)
	require.Nil(t, service.explains[0].AgentID)
	require.JSONEq(t, `{"command":"npm test"}`, string(service.explains[0].Input))
	require.Equal(t, "/srv/app", service.explains[0].Directory)
	require.Equal(t, "hmac-sha256:1", service.explains[0].InputDigest)
	require.Equal(t, []string{"/token"}, service.explains[0].SensitivePaths)

	// When somebody else is first, the sheet closes, and a late answer does not open it.
	s.press("j")
	reads(s)
	load = s.press("r")
	s.take(&client.StreamEvent{Inbox: &api.InboxView{}})
	does(t, s, load)
	require.Nil(t, s.sheet)
	require.Nil(t, s.press("enter"))
	require.Len(t, service.decided, 1)
}

// A service may limit the lifetime of rules, so that the first one of the sheet is refused.
func TestAllowAndARuleOfAShorterLifetime(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"npm test"}`))
	service := serve(t, s)
	service.mostMs = 3_600_000
	s.press("j")
	reads(s)
	does(t, s, s.press("r"))
	require.Contains(t, s.text(), "the service lets no rule hold longer")
	require.Contains(t, s.text(), "[30 days]")
	require.Nil(t, s.press("enter"), "there is no rule")
	s.press("left")
	does(t, s, s.press("left"))
	require.Contains(t, s.text(), "Rule: Allow exactly this, in session s.")
	does(t, s, s.press("right"))
	require.Contains(t, s.text(), "the service lets no rule hold longer")
	require.Nil(t, s.press("enter"), "the rule on the screen is of another lifetime")
	does(t, s, s.press("left"))
	reads(s)
	does(t, s, s.press("enter"))
	require.Len(t, service.decided, 1)
	require.Equal(t, (time.Hour - endInView).Milliseconds(), *service.decided[0].RememberForMs)
}

// The rule ends when its text said, however long the person has looked at it.
func TestARuleEndsWhenItsTextSaid(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"npm test"}`))
	service := serve(t, s)
	now := time.Date(2026, 3, 2, 23, 58, 0, 0, time.UTC).Add(-endInView)
	s.now = func() time.Time { return now }
	s.press("j")
	s.text()
	now = now.Add(endInView)
	does(t, s, s.press("r"))
	does(t, s, s.press("left"))
	require.Contains(t, s.text(), "[today]")
	now = now.Add(90 * time.Second)
	does(t, s, s.press("enter"))
	require.Equal(t, int64(30_000), *service.decided[0].RememberForMs)
}

// An edited input goes to the request that was edited, whatever is selected then.
func TestAnEditedInput(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"make"}`), asked("a2", `{"command":"ls"}`))
	service := serve(t, s)
	require.Nil(t, s.press("e"), "nothing is chosen")
	s.press("j")
	reads(s)
	one := s.current()
	s.editInput = func(context.Context, api.JSON) (api.JSON, error) { return nil, errors.New("no editor") }
	require.NotNil(t, s.press("e"))
	s.Update(edited{one: one, err: errors.New("no editor")})
	require.Contains(t, s.note, "no editor")
	s.press("j")
	_, command := s.Update(edited{one: one, input: api.JSON(`{"command":"make test"}`)})
	does(t, s, command)
	require.Len(t, service.decided, 1)
	require.Equal(t, "a1", service.decided[0].RequestID)
	require.JSONEq(t, `{"command":"make test"}`, string(service.decided[0].UpdatedInput))
	require.Equal(t, "h-a2", s.chosen)
}
