package agent

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
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
	service, other := newKeys(t), newKeys(t)
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
	public := func(of *signing.Keys) []api.PublicKey { return publicOf(t, of) }
	posing := public(other)[0]
	posing.Kid = service.KeyID()

	for name, one := range map[string]struct {
		grant string
		shown []api.PublicKey
		// why is a part of the reason, "" for an allow.
		why string
	}{
		"the service's":               {signed(service, nil), public(service), ""},
		"among other keys":            {signed(service, nil), append(public(other), public(service)...), ""},
		"none":                        {"", public(service), "no signed grant"},
		"of another key":              {signed(other, nil), append(public(service), public(other)...), "a key that this hook was not installed with: if it has a new one, run hook install again"},
		"of an unknown key":           {signed(other, nil), public(service), "its key"},
		"of a service with other key": {signed(other, nil), public(other), "none of the keys"},
		"under the id of the key":     {signed(other, nil), []api.PublicKey{posing}, "thumbprint"},
		"for another run":             {signed(service, func(c *api.GrantClaims) { c.Sub = "call-2" }), public(service), "for another call"},
		"for another agent":           {signed(service, func(c *api.GrantClaims) { c.Aud = "codex" }), public(service), "for another call"},
		"for another tool":            {signed(service, func(c *api.GrantClaims) { c.ToolName = "Read" }), public(service), "for the tool"},
		"for another input":           {signed(service, func(c *api.GrantClaims) { c.InputDigest = "sha256:00" }), public(service), "for an input"},
		"expired":                     {signed(service, func(c *api.GrantClaims) { c.Exp = time.Now().Add(-time.Hour).Unix() }), public(service), "compare the clocks"},
	} {
		opened := showing(t, one.shown)
		hook := &HookRun{SignedBy: []string{service.KeyID()}}
		hook.Agent = "claude-code"
		asked := hookInput{ToolName: "Bash", ToolInput: api.JSON(input)}
		decided, err := hook.onlySigned(t.Context(), opened, asked, &ask.Answer{
			RunID: "call-1", Grant: one.grant, Approval: &api.ApprovalRequest{Input: api.JSON(input)}, Outcome: api.OutcomeAllowed, Resolution: api.Resolution{Behavior: api.BehaviorAllow},
		})
		if one.why == "" {
			require.NoError(t, err, name)
			require.Equal(t, mcptools.Permission{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(input)}, decided, name)
		} else {
			require.ErrorContains(t, err, "nothing was allowed: ", name)
			require.ErrorContains(t, err, one.why, name)
			require.Zero(t, decided, name)
		}
	}
}

// TestAnswersAreToTheAgentsOwnQuestion: a hook that was installed with a key hands over only an answer
// that this key signed, about this run and request, to the question and options that the agent asked.
func TestAnswersAreToTheAgentsOwnQuestion(t *testing.T) {
	t.Parallel()
	service, other := newKeys(t), newKeys(t)
	asked := hookInput{ToolName: "AskUserQuestion", ToolInput: api.JSON(`{"questions":[{"question":"Deploy?","options":[{"label":"No"},{"label":"Later"}]}]}`)}
	// What the service repeats of the question is not used.
	posed := &api.UserQuestionRequest{
		Questions: []api.UserQuestion{{ID: "q1", Question: "Deploy and delete all?", Options: []api.QuestionOption{{ID: "o1", Label: "Yes, all"}}}},
		Metadata:  api.JSON(`{"tool_name":"AskUserQuestion","tool_input":{"questions":[],"more":"words"}}`),
	}
	type answerOf struct {
		by      *signing.Keys
		purpose string
		claims  api.AnswerClaims
		signed  api.AnswerForWorker // what is signed
		sent    func(*ask.Answer)   // changes what is sent
	}
	for name, change := range map[string]func(*answerOf){
		"the service's":                 nil,
		"none":                          func(a *answerOf) { a.sent = func(sent *ask.Answer) { sent.Signed = nil } },
		"unsigned":                      func(a *answerOf) { a.sent = func(sent *ask.Answer) { sent.Signed.Signature = "" } },
		"of another key":                func(a *answerOf) { a.by = other },
		"a grant":                       func(a *answerOf) { a.purpose = api.GrantPurpose },
		"for another run":               func(a *answerOf) { a.claims.Sub = "call-2" },
		"for another agent":             func(a *answerOf) { a.claims.Aud = "codex" },
		"for another request":           func(a *answerOf) { a.claims.RequestID, a.signed.RequestID = "question-2", "question-2" },
		"expired":                       func(a *answerOf) { a.claims.Exp = time.Now().Add(-time.Hour).Unix() },
		"to another question":           func(a *answerOf) { a.signed.Answers[0].Question = "Deploy and delete all?" },
		"with an option of other words": func(a *answerOf) { a.signed.Answers[0].SelectedOptions[0].Label = "Yes, all" },
		"with an unknown option":        func(a *answerOf) { a.signed.Answers[0].SelectedOptionIDs[0] = "o9" },
		"altered": func(a *answerOf) {
			a.sent = func(sent *ask.Answer) {
				sent.Signed.Answers = []api.LabelledAnswer{{QuestionID: "q1", Question: "Deploy?", FreeformAnswer: "delete all"}}
			}
		},
		"in another's name": func(a *answerOf) { a.sent = func(sent *ask.Answer) { sent.Signed.ResolvedBy = "user:mallory" } },
		"allowed": func(a *answerOf) {
			a.sent = func(sent *ask.Answer) {
				sent.Outcome, sent.Approval, sent.Resolution.Behavior = api.OutcomeAllowed, &api.ApprovalRequest{Input: api.JSON(`{"more":"words"}`)}, api.BehaviorAllow
			}
		},
	} {
		given := answerOf{
			by: service, purpose: api.AnswerPurpose,
			claims: api.AnswerClaims{Aud: "claude-code", Sub: "call-1", RequestID: "question-1", Exp: time.Now().Add(time.Hour).Unix(), ResolvedBy: "user:ada"},
			signed: api.AnswerForWorker{
				RequestID: "question-1", Outcome: api.OutcomeAnswered, ResolvedBy: "user:ada", Answers: []api.LabelledAnswer{{
					QuestionID: "q1", Question: "Deploy?", SelectedOptionIDs: []string{"o1"}, SelectedOptions: []api.QuestionOption{{ID: "o1", Label: "No"}},
				}},
			},
		}
		if change != nil {
			change(&given)
		}
		var err error
		given.claims.AnswersDigest, err = client.InputDigest(given.signed.Signed())
		require.NoError(t, err)
		text, err := json.Marshal(given.claims)
		require.NoError(t, err)
		given.signed.Signature, err = given.by.Sign(given.purpose, text)
		require.NoError(t, err)
		answer := &ask.Answer{
			RunID: "call-1", RequestID: "question-1", Outcome: api.OutcomeAnswered, Question: posed, Signed: &given.signed,
			Resolution: api.Resolution{ResolvedBy: "user:mallory", Answers: []api.UserQuestionAnswer{{QuestionID: "q1", FreeformAnswer: "delete all"}}},
		}
		if given.sent != nil {
			given.sent(answer)
		}
		hook := &HookRun{SignedBy: []string{service.KeyID()}}
		hook.Agent = "claude-code"
		opened := showing(t, append(publicOf(t, service), publicOf(t, other)...))
		decided, err := hook.onlySigned(t.Context(), opened, asked, answer)
		if change != nil {
			require.NotEqual(t, api.BehaviorAllow, decided.Behavior, name)
			require.ErrorContains(t, err, "nothing was allowed: ", name)
			require.Equal(t, name == "of another key", errors.Is(err, errOtherKey), name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, api.BehaviorAllow, decided.Behavior, decided.Message)
		require.JSONEq(t, `{"questions":[{"question":"Deploy?","options":[{"label":"No"},{"label":"Later"}]}],"answers":{"Deploy?":"No"}}`, string(decided.UpdatedInput))
		require.Contains(t, decided.Told, "ada")
		require.NotContains(t, decided.Told, "delete all")
		require.NotContains(t, decided.Told, "mallory")
	}
}

func newKeys(t *testing.T) *signing.Keys {
	t.Helper()
	private, err := signing.Generate()
	require.NoError(t, err)
	made, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return time.Now().UnixMilli() })
	require.NoError(t, err)
	return made
}

func publicOf(t *testing.T, keys *signing.Keys) []api.PublicKey {
	t.Helper()
	set, err := keys.Public(t.Context())
	require.NoError(t, err)
	return set.Keys
}

// showing returns a client of a service that shows these keys.
func showing(t *testing.T, keys []api.PublicKey) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.KeySet{Keys: keys})
	}))
	t.Cleanup(server.Close)
	opened, err := client.New(server.URL)
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	return opened
}
