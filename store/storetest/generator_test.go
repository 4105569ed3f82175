package storetest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// TestGeneratorReaches holds that the random commands of the differential test come
// to what it is there for: each command of the clarifications is accepted and
// refused, and each state is reached.
func TestGeneratorReaches(t *testing.T) {
	t.Parallel()
	reached := map[string]int{}
	for example := range uint64(150) {
		random := rand.New(rand.NewPCG(example, 7))
		clock := storetest.NewClock()
		model := storetest.NewModel(storetest.Counter())
		g := storetest.NewGenerator(model)
		for range 60 {
			seed := random.Uint64()
			clock.Advance(storetest.Pause(seed))
			command := g.Draw(seed, clock.NowMs())()
			reply, err := model.Do(command, clock.NowMs())
			note(reached, command, reply, err)
		}
		for _, effect := range model.Effects() {
			reached[fmt.Sprintf("effect %s %s", effect.Kind, effect.State)]++
		}
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
	} {
		require.GreaterOrEqual(t, reached[least.what], least.times, least.what)
	}
}

func note(reached map[string]int, command runs.Command, reply runs.Reply, err error) {
	how := "accepted"
	switch {
	case err != nil:
		how = string(runs.ErrorCode(err))
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
	if reply.Run != nil && reply.Run.Run.Kind == runs.KindParentClarification && how == "accepted" {
		for _, request := range reply.Run.Requests {
			reached["outcome "+string(request.Outcome)]++
		}
	}
}
