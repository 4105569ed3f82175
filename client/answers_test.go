package client_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// TestVerifyAnswer: what a worker was handed as an answer is what the service signed, and a grant is
// not an answer, nor an answer a grant.
func TestVerifyAnswer(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	made := must(c.CreateRun(t.Context(), client.CreateRunParams{Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "a", ToolName: "bash", Input: api.JSON(`{"command":"ls"}`)}},
		Questions: []api.UserQuestionRequest{
			{ID: "q", ToolCallID: "q", Questions: []api.UserQuestion{{ID: "when", Question: "When?", Options: []api.QuestionOption{{ID: "now", Label: "Now"}, {ID: "later", Label: "Later"}}}}},
			{ID: "d", ToolCallID: "d", Questions: []api.UserQuestion{{ID: "why", Question: "Why?"}}},
		},
	}}))(t)
	must(c.AnswerRunQuestion(t.Context(), made.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "when", SelectedOptionIDs: []string{"later"}}},
	}}))(t)
	must(c.AnswerRunQuestion(t.Context(), made.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{RequestID: "d", Declined: true}}))(t)
	must(c.ResolveRunApprovals(t.Context(), made.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "a", Behavior: api.BehaviorAllow}}}))(t)
	keys := *must(c.Keys(t.Context()))(t)
	claim := must(c.ClaimRun(t.Context(), made.RunID, api.ClaimOptions{WorkerID: "w"}))(t)
	given := map[string]api.SettledQuestion{}
	for _, one := range claim.Resume.Questions {
		given[one.Resolution.RequestID] = one
	}
	answered := given["q"].Resolution

	claims := must(client.VerifyAnswer(keys, &answered))(t)
	require.Equal(t, made.RunID, claims.Sub)
	require.Equal(t, claim.Lease.Fence, claims.Fence)
	require.Equal(t, claims.Exp, claim.Lease.ExpiresAtMs/1000)
	require.Equal(t, given["q"].Request.Handle, claims.JTI)
	require.Empty(t, given["d"].Resolution.Signature, "a decline is not signed")
	grant := claim.Resume.Approvals[0].Resolution.Grant.JWS
	_, err := client.VerifyGrant(keys, answered.Signature, "bash", api.JSON(`{"command":"ls"}`))
	require.ErrorIs(t, err, client.ErrGrantInvalid)
	_, err = c.RedeemGrant(t.Context(), client.RedeemGrantParams{Grant: answered.Signature, Input: answered.Signed()})
	require.ErrorIs(t, err, client.ErrGrantInvalid)

	changed := func(change func(*api.AnswerForWorker)) *api.AnswerForWorker {
		copied := answered
		copied.Answers = append([]api.LabelledAnswer{}, answered.Answers...)
		change(&copied)
		return &copied
	}
	strangers, forge := signer(t)
	for name, one := range map[string]*api.AnswerForWorker{
		"a grant":           changed(func(a *api.AnswerForWorker) { a.Signature = grant }),
		"none":              changed(func(a *api.AnswerForWorker) { a.Signature = "" }),
		"a stranger's":      changed(func(a *api.AnswerForWorker) { a.Signature = forge(api.AnswerPurpose, claims) }),
		"cut":               changed(func(a *api.AnswerForWorker) { a.Signature = a.Signature[:strings.LastIndex(a.Signature, ".")] }),
		"other words":       changed(func(a *api.AnswerForWorker) { a.Answers[0].FreeformAnswer = "never" }),
		"other question":    changed(func(a *api.AnswerForWorker) { a.Answers[0].Question = "Delete it when?" }),
		"other option":      changed(func(a *api.AnswerForWorker) { a.Answers[0].SelectedOptionIDs = []string{"now"} }),
		"no answer":         changed(func(a *api.AnswerForWorker) { a.Answers = nil }),
		"a value":           changed(func(a *api.AnswerForWorker) { a.Value = api.JSON(`1`) }),
		"another request":   changed(func(a *api.AnswerForWorker) { a.RequestID = "d" }),
		"another principal": changed(func(a *api.AnswerForWorker) { a.ResolvedBy = "user:mallory" }),
		"another outcome":   changed(func(a *api.AnswerForWorker) { a.Outcome = api.OutcomeDeclined }),
	} {
		_, err := client.VerifyAnswer(keys, one)
		require.ErrorIs(t, err, client.ErrAnswerInvalid, name)
	}
	old := *claims
	old.Exp = time.Now().Unix()
	_, err = client.VerifyAnswer(strangers, changed(func(a *api.AnswerForWorker) { a.Signature = forge(api.AnswerPurpose, old) }))
	require.ErrorIs(t, err, client.ErrAnswerExpired)
}

// The service adds the schema of a question with only a kind.
func TestAnAnswerToAQuestionWithOnlyAKind(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	question := api.UserQuestionRequest{ID: "note", Kind: "note"}
	created := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x", Claim: &api.ClaimOptions{WorkerID: "before"}}))(t)
	runID, fence := created.RunID, created.Claim.Lease.Fence
	must(c.Suspend(t.Context(), runID, fence, api.Suspension{Hold: true, Questions: []api.UserQuestionRequest{question}}))(t)
	must(c.AnswerRunQuestion(t.Context(), runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{RequestID: "note", Value: api.JSON(`"soon"`)}}))(t)
	must(c.ReleaseRun(t.Context(), runID, fence, nil))(t)

	work(t, c, func(ctx context.Context, task *client.Task) error {
		other := question
		other.ResponseSchema = api.JSON("false")
		_, err := task.Ask(ctx, other)
		require.ErrorIs(t, err, client.ErrIDConflict)
		var answers []api.JSON
		for _, schema := range []api.JSON{nil, api.JSON("null"), api.JSON(" true")} {
			same := question
			same.ResponseSchema = schema
			answer, err := task.Ask(ctx, same)
			if err != nil {
				return err
			}
			answers = append(answers, answer.Value)
		}
		return task.Complete(ctx, answers)
	})
	ended := must(c.WaitRun(t.Context(), runID, client.UntilTerminal))(t)
	require.Equal(t, `["soon","soon","soon"]`, string(ended.Output), ended.Error)
}
