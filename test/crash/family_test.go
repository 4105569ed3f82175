//go:build faults

package crash

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/rig"
)

// answerMessage is the id of the message with the answer of the parent's session.
var answerMessage = model.MessageIDOf("way")

func parentID(t *trial) string        { return "parent-of-" + t.sessionID }
func clarificationID(t *trial) string { return t.clarificationID }

// child creates a session with a parent, and a run in it with a lease of the caller.
var child = steps(
	does(func(t *trial) (*api.SessionView, error) {
		return t.client.CreateSession(t.ctx, client.CreateSessionParams{SessionID: parentID(t)})
	}),
	does(func(t *trial) (*api.SessionView, error) {
		return t.client.CreateSession(t.ctx, client.CreateSessionParams{SessionID: t.sessionID, AgentID: t.agentID, ParentSessionID: parentID(t)})
	}),
	held,
)

// askParent asks the parent's session, and parks the child or lets it continue.
func askParent(park bool) step {
	return func(t *trial) error {
		request := rig.Question("way")
		if t.dueAtMs != 0 {
			request.ExpiresAtMs = &t.dueAtMs
		}
		asked, err := t.client.AskParent(t.ctx, t.runID, t.fence, request, client.AskParentOptions{Park: park})
		if err == nil {
			t.clarificationID = asked.Clarification.RunID
		}
		return err
	}
}

// asking creates a child that has asked its parent's session.
func asking(park bool) step { return steps(child, askParent(park), carriedOut) }

var answerChild = does(func(t *trial) (*client.RunResult, error) {
	params := rig.Choose("way", "left")
	params.IdempotencyKey = "answer"
	return t.client.AnswerRunQuestion(t.ctx, t.clarificationID, params)
})

// carriedOut waits until no effect of the two sessions is pending. The lease of an effect whose
// process was killed continues for a while. An operator may retry the effect earlier, and must then
// find it completed if it was.
func carriedOut(t *trial) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		pending := 0
		for _, sessionID := range []string{t.sessionID, parentID(t)} {
			page, err := t.client.ListEffects(t.ctx, client.EffectListParams{SessionID: sessionID})
			if err != nil {
				return err
			}
			for _, effect := range page.Items {
				if effect.State == api.EffectFailed {
					return fmt.Errorf("effect %s failed: %s", effect.EffectID, effect.LastError)
				}
				if effect.State != api.EffectPending {
					continue
				}
				pending++
				if t.impatient && effect.DueAtMs > effect.CreatedAtMs {
					if _, err := t.client.RetryEffect(t.ctx, effect.SessionID, effect.EffectID); err != nil {
						return err
					}
				}
			}
		}
		if pending == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
}

// resumedByAnswer claims a parked child, checks that the claim has the answer and acknowledged the
// message, and completes the run.
func resumedByAnswer(declined bool) step {
	return steps(carriedOut, func(t *trial) error {
		claim, err := t.claimNext(longLeaseMs)
		if err != nil {
			return err
		}
		if err := (handed{fence: "2", attempt: 1}).check(claim); err != nil {
			return err
		}
		if claim.Resume == nil || claim.Resume.Clarification == nil {
			return errors.New("resumed without the answer")
		}
		got := claim.Resume.Clarification
		if got.RequestID != "way" || got.Declined != declined || len(got.Answers) == 0 != declined {
			return fmt.Errorf("resumed with %+v", got)
		}
		return nil
	}, messages(0), clarificationLog, complete)
}

func acknowledge(t *trial) error {
	return t.client.AcknowledgeMessage(t.ctx, t.sessionID, answerMessage)
}

// readAnswer reads the answer from the mailbox, acknowledges it, twice, and completes the run
// under the lease that it had all the time.
var readAnswer = steps(carriedOut, messages(1), acknowledge, acknowledge, messages(0), clarificationLog, complete)

// messages reads the mailbox and checks how many messages there are, and no dead letter.
func messages(want int) step {
	return func(t *trial) error {
		messages, err := t.client.Mailbox(t.ctx, t.sessionID)
		if err != nil {
			return err
		}
		dead, err := t.client.DeadLetters(t.ctx, t.sessionID)
		if err == nil && (len(messages) != want || len(dead) > 0) {
			err = fmt.Errorf("%d messages and %d dead letters are in the mailbox, want %d and 0", len(messages), len(dead), want)
		}
		return err
	}
}

// clarificationLog checks that the clarification's run was created and ended once.
var clarificationLog = hasLog(clarificationID,
	[]string{"accepted", "waiting_for_user_question", "output", "parent_clarification_resolved", "completed"})

// deadLetter creates an answer to a child that had ended before. Its session now works on another
// run.
var deadLetter = steps(asking(false), complete, answerChild, carriedOut, func(t *trial) error {
	t.runID += "-second"
	return held(t)
})

// delivered counts the answers that reached the child's run.
var delivered = logged("user_question_resolved")

// concluded counts the resolutions of the clarification.
var concluded = loggedIn(clarificationID, "parent_clarification_resolved")
