package storetest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// TestGeneratorReaches checks the coverage of the differential test's commands: every command of
// clarifications is accepted and rejected, and every state is reached. No decision spans
// sessions.
func TestGeneratorReaches(t *testing.T) {
	t.Parallel()
	reached := map[string]int{}
	for example := range uint64(1000) {
		random := rand.New(rand.NewPCG(example, 7))
		clock := storetest.NewClock()
		model := storetest.NewModel(storetest.Counter(), notifyAfter)
		g := storetest.NewGenerator(model)
		for range 60 {
			seed := random.Uint64()
			clock.Advance(storetest.Pause(seed))
			command := g.Draw(seed, clock.NowMs())()
			reply, err := model.Do(command, clock.NowMs())
			note(reached, command, reply, err)
		}
		require.Empty(t, model.Spanning())
		noteRules(reached, model)
		for _, effect := range model.Effects() {
			reached[fmt.Sprintf("effect %s %s", effect.Kind, effect.State)]++
		}
	}
	if testing.Verbose() {
		t.Log(reached)
	}
	for _, least := range []struct {
		what  string
		times int
	}{
		{"*runs.AskClarification accepted", 50},
		{"*runs.AskClarification existing", 3},
		{"*runs.AskClarification id_conflict", 5},
		{"*runs.AskClarification no_parent_session", 5},
		{"*runs.AskClarification lease_lost", 5},
		{"*runs.AskClarification parked", 20},
		{"*runs.OpenClarification accepted", 20},
		{"*runs.OpenClarification existing", 5},
		{"*runs.OpenClarification id_conflict", 5},
		{"*runs.OpenClarification session_not_found", 5},
		{"*runs.OpenClarification session_ended", 1},
		{"*runs.DeliverAnswer accepted", 20},
		{"*runs.DeliverAnswer existing", 5},
		{"*runs.DeliverAnswer session_not_found", 5},
		{"*runs.ReadMailbox accepted", 20},
		{"*runs.AcknowledgeMessage accepted", 5},
		{"*runs.AcknowledgeMessage message_not_found", 5},
		{"*runs.ReplayMessage accepted", 5},
		{"*runs.ReplayMessage message_not_found", 5},
		{"*runs.ClaimEffect accepted", 20},
		{"*runs.ClaimEffect existing", 5},
		{"*runs.ClaimEffect effect_not_found", 5},
		{"*runs.FinishEffect accepted", 20},
		{"*runs.FinishEffect existing", 3},
		{"*runs.RetryEffect accepted", 2},
		{"*runs.RetryEffect existing", 5},
		{"a claim with an answer", 5},
		{"message pending", 20},
		{"message dead_letter", 20},
		{"message acknowledged", 5},
		{"effect open_clarification pending", 5},
		{"effect open_clarification done", 5},
		{"effect open_clarification failed", 2},
		{"effect deliver_answer pending", 5},
		{"effect deliver_answer done", 2},
		{"outcome answered", 2},
		{"outcome declined", 1},
		{"outcome cancelled", 2},
		{"outcome expired", 2},
		{"*runs.AddRule accepted", 50},
		{"*runs.AddRule existing", 5},
		{"*runs.AddRule id_conflict", 5},
		{"*runs.AddRule session_ended", 2},
		{"*runs.RevokeRule accepted", 20},
		{"*runs.RevokeRule existing", 5},
		{"*runs.RevokeRule rule_not_found", 5},
		{"*runs.DecideRequests accepted", 50},
		{"*runs.DecideRequests invalid_request", 5},
		{"*runs.NameSegment accepted", 20},
		{"*runs.NameSegment id_conflict", 5},
		{"*runs.AmendSession accepted", 20},
		{"*runs.AmendSession existing", 5},
		{"effect review_approval pending", 5},
		{"effect review_approval done", 2},
		{"a rule of all sessions", 20},
		{"a rule of a session", 20},
		{"a rule with a bound that is used", 5},
		{"a rule with a bound that is used up", 2},
		{"a rule that a decision wrote", 20},
		{"a rule that was revoked", 20},
		{"allowed by a rule", 20},
		{"denied by a rule", 10},
		{"answered in part", 5},
		{"a part that was settled", 5},
		{"a rule about params that a decision wrote", 20},
		{"*runs.AdvanceRequest accepted", 50},
		{"effect advance_request done", 20},
		{"effect notify pending", 20},
		{"effect notify failed", 5},
		{"event notification_failed", 5},
		{"at deadline keep, now allowed", 5},
		{"at deadline deny, now expired", 5},
		{"at deadline decline, now expired", 5},
		{"at deadline answer, now expired", 5},
		{"at deadline cancel_run, now expired", 5},
	} {
		require.GreaterOrEqual(t, reached[least.what], least.times, least.what)
	}
}

// noteRules records the states of rules and partial answers.
func noteRules(reached map[string]int, model *storetest.Model) {
	for _, record := range model.Rules() {
		rule := record.Rule
		for what, is := range map[string]bool{
			"a rule of all sessions":              rule.SessionID == rules.AllSessions,
			"a rule of a session":                 rule.SessionID != rules.AllSessions,
			"a rule with a bound that is used":    rule.Uses > 0,
			"a rule with a bound that is used up": rule.Uses > 0 && rule.Uses == rule.MaxUses,
			"a rule that a decision wrote":        rule.SourceRunID != "",
			"a rule that was revoked":             rule.RevokedAtMs != 0,

			"a rule about params that a decision wrote": rule.SourceRunID != "" && len(rule.Match.Params) > 0,
		} {
			if is {
				reached[what]++
			}
		}
	}
	for _, handle := range model.Handles() {
		request := model.RequestByHandle(handle).Request
		if request.RuleID != "" {
			reached[string(request.Outcome)+" by a rule"]++
		}
		if request.PartialAnswers != nil {
			reached["answered in part"]++
		}
		noteEscalation(reached, &request)
	}
	for _, event := range model.Events() {
		reached["event "+string(event.Type)]++
		if event.Type == api.EventUserQuestionAnswered {
			if request := model.Request(event.SessionID, event.RunID, requestOf(event)); request != nil && !request.Open() {
				reached["a part that was settled"]++
			}
		}
	}
}

// noteEscalation records what the deadlines of requests did.
func noteEscalation(reached map[string]int, request *model.Request) {
	e := request.Escalation()
	if e == nil {
		return
	}
	reached["at deadline "+string(e.AtDeadline)+", now "+string(request.Outcome)]++
}

// requestOf returns the request that an event is about.
func requestOf(event *model.Event) string {
	var body struct {
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(event.Body, &body); err != nil {
		panic("an event is not readable: " + err.Error())
	}
	return body.RequestID
}

func note(reached map[string]int, command runs.Command, reply runs.Reply, err error) {
	how := "accepted"
	switch {
	case err != nil:
		how = string(refusal.CodeOf(err))
	case reply.Existing:
		how = "existing"
	}
	reached[fmt.Sprintf("%T %s", command, how)]++
	if ask, is := command.(*runs.AskClarification); is && how == "accepted" && ask.Park {
		reached["*runs.AskClarification parked"]++
	}
	if reply.Claim != nil && reply.Claim.Resume != nil && reply.Claim.Resume.Clarification != nil {
		reached["a claim with an answer"]++
	}
	for _, message := range reply.Messages {
		reached["message "+string(message.State)]++
	}
	if reply.Run != nil && reply.Run.Run.Kind == api.KindParentClarification && how == "accepted" {
		for _, request := range reply.Run.Requests {
			reached["outcome "+string(request.Outcome)]++
		}
	}
}
