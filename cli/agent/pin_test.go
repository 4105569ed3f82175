package agent

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// TestOnlyTheServicesGrantAllows: a hook that was installed with a key allows a call only with a grant
// of that key about this run, this tool and the input that will run.
func TestOnlyTheServicesGrantAllows(t *testing.T) {
	t.Parallel()
	const input = `{"command":"ls"}`
	keys := func() *signing.Keys {
		private, err := signing.Generate()
		require.NoError(t, err)
		made, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return time.Now().UnixMilli() })
		require.NoError(t, err)
		return made
	}
	service, other := keys(), keys()
	digest, err := client.InputDigest(api.JSON(input))
	require.NoError(t, err)
	signed := func(by *signing.Keys, change func(*api.GrantClaims)) string {
		claims := api.GrantClaims{Aud: "claude-code", Sub: "call-1", ToolName: "Bash", InputDigest: digest, Exp: time.Now().Add(time.Hour).Unix()}
		if change != nil {
			change(&claims)
		}
		text, err := json.Marshal(claims)
		require.NoError(t, err)
		grant, err := by.Sign(api.GrantPurpose, text)
		require.NoError(t, err)
		return grant
	}
	public := func(of *signing.Keys) []api.PublicKey {
		set, err := of.Public(t.Context())
		require.NoError(t, err)
		return set.Keys
	}
	posing := public(other)[0]
	posing.Kid = service.KeyID()

	for name, one := range map[string]struct {
		grant string
		shown []api.PublicKey
		allow bool
	}{
		"the service's":               {signed(service, nil), public(service), true},
		"among other keys":            {signed(service, nil), append(public(other), public(service)...), true},
		"none":                        {"", public(service), false},
		"of another key":              {signed(other, nil), append(public(service), public(other)...), false},
		"of a service with other key": {signed(other, nil), public(other), false},
		"under the id of the key":     {signed(other, nil), []api.PublicKey{posing}, false},
		"for another run":             {signed(service, func(c *api.GrantClaims) { c.Sub = "call-2" }), public(service), false},
		"for another agent":           {signed(service, func(c *api.GrantClaims) { c.Aud = "codex" }), public(service), false},
		"for another tool":            {signed(service, func(c *api.GrantClaims) { c.ToolName = "Read" }), public(service), false},
		"for another input":           {signed(service, func(c *api.GrantClaims) { c.InputDigest = "sha256:00" }), public(service), false},
		"expired":                     {signed(service, func(c *api.GrantClaims) { c.Exp = time.Now().Add(-time.Hour).Unix() }), public(service), false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(api.KeySet{Keys: one.shown})
		}))
		opened, err := client.New(server.URL)
		require.NoError(t, err)
		hook := &HookRun{SignedBy: []string{service.KeyID()}}
		hook.Agent = "claude-code"
		asked := hookInput{ToolName: "Bash", ToolInput: api.JSON(input)}
		allowed := mcptools.Permission{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(input)}
		decided := hook.onlySigned(t.Context(), opened, asked, &ask.Answer{RunID: "call-1", Grant: one.grant}, allowed)
		if one.allow {
			require.Equal(t, allowed, decided, name)
		} else {
			require.Equal(t, api.BehaviorDeny, decided.Behavior, name)
			require.Contains(t, decided.Message, "nothing was allowed: ", name)
		}
		opened.Close()
		server.Close()
	}
}

// A service cannot change what a question tool asks, nor allow one without an answer.
func TestAnswersAreToTheAgentsOwnQuestion(t *testing.T) {
	t.Parallel()
	hook := &HookRun{SignedBy: []string{"key"}}
	asked := hookInput{ToolName: "AskUserQuestion", ToolInput: api.JSON(`{"questions":[{"question":"Deploy?","options":[{"label":"No"},{"label":"Later"}]}]}`)}
	posed := &api.UserQuestionRequest{
		Questions: []api.UserQuestion{{ID: "q1", Question: "Deploy and delete all?", Options: []api.QuestionOption{{ID: "o1", Label: "Yes, all"}}}},
		Metadata:  api.JSON(`{"tool_name":"AskUserQuestion","tool_input":{"questions":[],"more":"words"}}`),
	}
	answer := &ask.Answer{RunID: "call-1", Outcome: api.OutcomeAnswered, Question: posed, Resolution: api.Resolution{
		ResolvedBy: "user:ada", Answers: []api.UserQuestionAnswer{{QuestionID: "q1", SelectedOptionIDs: []string{"o1"}}},
	}}
	decided := hook.onlySigned(t.Context(), nil, asked, answer, mcptools.PermissionOf(answer, nil))
	require.Equal(t, api.BehaviorAllow, decided.Behavior, decided.Message)
	require.JSONEq(t, `{"questions":[{"question":"Deploy?","options":[{"label":"No"},{"label":"Later"}]}],"answers":{"Deploy?":"No"}}`, string(decided.UpdatedInput))
	require.NotContains(t, decided.Told, "delete all")

	unknown := *answer
	unknown.Resolution.Answers = []api.UserQuestionAnswer{{QuestionID: "q1", SelectedOptionIDs: []string{"o9"}}}
	allowed := mcptools.Permission{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"more":"words"}`)}
	for _, one := range []*ask.Answer{{RunID: "call-1", Outcome: api.OutcomeAllowed}, {RunID: "call-1"}, &unknown} {
		require.Equal(t, api.BehaviorDeny, hook.onlySigned(t.Context(), nil, asked, one, allowed).Behavior)
	}
}
