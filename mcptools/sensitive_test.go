package mcptools_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// The text of a rule about an input with sensitive values is the text of the rule that is written.
func TestARuleAboutASensitiveInput(t *testing.T) {
	t.Parallel()
	keys, err := sealing.Parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	require.NoError(t, err)
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Sealer: keys})
	s := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
	run, err := s.person.CreateRun(t.Context(), client.CreateRunParams{SessionID: "work", AgentID: "coder", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
		ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"npm test x","token":"x"}`), SensitivePaths: []string{"/token"},
	}}}})
	require.NoError(t, err)
	assistant := s.connect(mcptools.Options{For: mcptools.ForPeople})
	digest := s.pending().Request.InputDigest
	decision := `{"run_id":"` + run.RunID + `","request_id":"a","behavior":"deny","input_digest":"` + digest + `","remember":"session"`
	require.Contains(t, s.refused(assistant, "resolve", decision+`,"remember_as":"prefix"}`), "cannot create such a rule")
	shown := s.told(assistant, "resolve", decision+`}`).RuleText
	require.Contains(t, shown, digest)
	require.True(t, s.told(assistant, "resolve", decision+`,"rule_text":"`+shown+`"}`).Decided)
	settled, err := s.person.ListDecisions(t.Context(), client.DecisionListParams{})
	require.NoError(t, err)
	require.Equal(t, shown, settled.Items[0].Resolution.Rule.Text)
}

// The answer to a sensitive question is left out, not returned as its mask.
func TestASensitiveAnswerIsLeftOut(t *testing.T) {
	t.Parallel()
	keys, err := sealing.Parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	require.NoError(t, err)
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Sealer: keys})
	s := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
	raised, err := (&ask.Asker{Client: s.person}).Raise(t.Context(), ask.Call{Question: &api.UserQuestionRequest{
		Payload: api.JSON(`{"message":"Which code?"}`), ResponseSchema: api.JSON(`{"type":"string"}`), Sensitive: true,
	}})
	require.NoError(t, err)
	run, err := s.person.GetRun(t.Context(), raised.RunID)
	require.NoError(t, err)
	_, err = s.person.AnswerRunQuestion(t.Context(), raised.RunID, client.AnswerQuestionParams{
		Resolution: api.UserQuestionResolution{RequestID: run.PendingQuestions[0].ID, Value: api.JSON(`"1234"`)},
	})
	require.NoError(t, err)
	checked := s.told(s.connect(mcptools.Options{}), "check_decision", `{"run_id":"`+raised.RunID+`"}`)
	require.Equal(t, "answered", checked.Status)
	require.Empty(t, checked.Value)
}
