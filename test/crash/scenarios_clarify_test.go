package crash

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/rig"
)

// clarifying are the calls about questions that a child asks its parent's session,
// and the effects that carry the question there and the answer back.
var clarifying = []scenario{
	{
		name:    "ask the parent",
		prepare: (*attempt).makeChild,
		call:    func(a *attempt) error { return a.askParent(false) },
		inForce: asked,
		finish: func(a *attempt) error {
			if err := a.answerChild(left); err != nil {
				return err
			}
			return a.readAnswer()
		},
		events: unparkedLog,
	},
	{
		name:    "ask the parent and park",
		prepare: (*attempt).makeChild,
		call:    func(a *attempt) error { return a.askParent(true) },
		inForce: asked,
		finish: func(a *attempt) error {
			if err := a.answerChild(left); err != nil {
				return err
			}
			return a.goOn(false)
		},
		events: parkedLog,
	},
	{
		name:    "answer a clarification",
		prepare: func(a *attempt) error { return a.makeAsking(true) },
		call:    func(a *attempt) error { return a.answerChild(left) },
		inForce: concluded,
		finish:  func(a *attempt) error { return a.goOn(false) },
		events:  parkedLog,
	},
	{
		name:    "cancel a clarification",
		prepare: func(a *attempt) error { return a.makeAsking(true) },
		call: func(a *attempt) error {
			_, err := a.client.CancelQuestion(a.ctx, a.clarificationID, "way", client.CancelQuestionParams{IdempotencyKey: "cancel"})
			return err
		},
		inForce: concluded,
		finish:  func(a *attempt) error { return a.goOn(true) },
		events:  parkedLog,
	},
	{
		name:    "interrupt the parent",
		prepare: func(a *attempt) error { return a.makeAsking(true) },
		call: func(a *attempt) error {
			_, err := a.client.InterruptSession(a.ctx, a.parentID(), "")
			return err
		},
		inForce: concluded,
		finish:  func(a *attempt) error { return a.goOn(true) },
		events:  parkedLog,
	},
	{
		name:    "effect: the answer resumes a parked child",
		prepare: func(a *attempt) error { return a.makeAsking(true) },
		call: func(a *attempt) error {
			if err := a.answerChild(left); err != nil {
				return err
			}
			if _, err := a.client.AwaitRun(a.ctx, a.runID, client.UntilDecided, rig.Patience/2); err != nil {
				return err
			}
			return a.carriedOut()
		},
		again:   (*attempt).answeredAndCarriedOut,
		inForce: delivered,
		finish:  func(a *attempt) error { return a.goOn(false) },
		events:  parkedLog,
	},
	{
		name:    "effect: the answer reaches a mailbox",
		prepare: func(a *attempt) error { return a.makeAsking(false) },
		call: func(a *attempt) error {
			if err := a.answerChild(left); err != nil {
				return err
			}
			return a.carriedOut()
		},
		again:   (*attempt).answeredAndCarriedOut,
		inForce: delivered,
		finish:  (*attempt).readAnswer,
		events:  unparkedLog,
	},
	{
		name: "effect: a clarification expires",
		prepare: func(a *attempt) error {
			a.dueAtMs = time.Now().Add(400 * time.Millisecond).UnixMilli()
			return a.makeAsking(true)
		},
		// Nobody calls for it; the child that waits learns of it.
		call: func(a *attempt) error {
			run, err := a.client.AwaitRun(a.ctx, a.runID, client.UntilDecided, rig.Patience/2)
			if err == nil && model.Waiting(run.Status) {
				err = errors.New("the clarification did not expire")
			}
			return err
		},
		again: func(a *attempt) error {
			if err := a.wait(a.dueAtMs); err != nil {
				return err
			}
			run, err := a.client.AwaitRun(a.ctx, a.clarificationID, client.UntilTerminal, rig.Patience/2)
			if err != nil || run.Status != api.StatusCompleted {
				return errors.Join(err, errors.New("the clarification did not expire"))
			}
			return a.carriedOut()
		},
		inForce: delivered,
		finish:  func(a *attempt) error { return a.goOn(true) },
		events:  parkedLog,
		alone:   true,
	},
	{
		name: "acknowledge a message",
		prepare: func(a *attempt) error {
			if err := a.makeAsking(false); err != nil {
				return err
			}
			if err := a.answeredAndCarriedOut(); err != nil {
				return err
			}
			return a.messages(1)
		},
		call: func(a *attempt) error { return a.client.AcknowledgeMessage(a.ctx, a.sessionID, answerMessage) },
		// A message that was read and is not acknowledged cannot be told from one that is
		// by reading; but only the latter is unknown to a replay.
		inForce: func(a *attempt) (int, error) {
			_, err := a.client.ReplayMessage(a.ctx, a.sessionID, answerMessage)
			if errors.Is(err, client.ErrNotFound) {
				return 1, nil
			}
			return 0, err
		},
		finish: func(a *attempt) error { return errors.Join(a.messages(0), a.complete()) },
		events: unparkedLog,
	},
	{
		name:    "replay a dead letter",
		prepare: (*attempt).makeDeadLetter,
		call: func(a *attempt) error {
			_, err := a.client.ReplayMessage(a.ctx, a.sessionID, answerMessage)
			return err
		},
		inForce: func(a *attempt) (int, error) {
			dead, err := a.client.DeadLetters(a.ctx, a.sessionID)
			return 1 - len(dead), err
		},
		finish: func(a *attempt) error { return errors.Join(a.messages(1), a.complete()) },
		events: []string{"accepted", "started", "completed"},
	},
}

// The logs of children that asked: one that was parked and one that went on.
var (
	parkedLog = []string{
		"accepted", "started", "parent_clarification_requested", "waiting_for_user_question", "user_question_resolved",
		"started", "completed",
	}
	unparkedLog = []string{"accepted", "started", "parent_clarification_requested", "user_question_resolved", "completed"}
)

// answerMessage is the id of the message with the answer.
var answerMessage = model.MessageIDOf("way")

func (a *attempt) parentID() string { return "parent-of-" + a.sessionID }

// makeChild makes a session with a parent, and a run in it whose lease the caller
// has.
func (a *attempt) makeChild() error {
	if _, err := a.client.CreateSession(a.ctx, client.CreateSessionParams{SessionID: a.parentID()}); err != nil {
		return err
	}
	_, err := a.client.CreateSession(a.ctx, client.CreateSessionParams{
		SessionID: a.sessionID, AgentID: a.agentID, ParentSessionID: a.parentID(),
	})
	if err != nil {
		return err
	}
	return a.makeHeld()
}

func (a *attempt) askParent(park bool) error {
	request := question().Questions[0]
	if a.dueAtMs != 0 {
		request.ExpiresAtMs = &a.dueAtMs
	}
	asked, err := a.client.AskParent(a.ctx, a.runID, a.fence, request, client.AskParentOptions{Park: park})
	if err == nil {
		a.clarificationID = asked.Clarification.RunID
	}
	return err
}

// makeAsking makes a child that has asked, and sees that nothing is owed for it any
// more.
func (a *attempt) makeAsking(park bool) error {
	if err := a.makeChild(); err != nil {
		return err
	}
	if err := a.askParent(park); err != nil {
		return err
	}
	return a.carriedOut()
}

func (a *attempt) answerChild(answers ...api.UserQuestionAnswer) error {
	_, err := a.client.AnswerRunQuestion(a.ctx, a.clarificationID, client.AnswerQuestionParams{
		Resolution:     api.UserQuestionResolution{RequestID: "way", Answers: answers},
		IdempotencyKey: "answer",
	})
	return err
}

func (a *attempt) answeredAndCarriedOut() error {
	if err := a.answerChild(left); err != nil {
		return err
	}
	return a.carriedOut()
}

// carriedOut waits until nothing is owed between the two sessions. An effect whose
// process was killed is leased for a while yet; an operator need not wait for that,
// and what was done already must then be found done.
func (a *attempt) carriedOut() error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		owed := 0
		for _, sessionID := range []string{a.sessionID, a.parentID()} {
			page, err := a.client.ListEffects(a.ctx, client.EffectListParams{SessionID: sessionID})
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
				owed++
				if a.impatient && effect.DueAtMs > effect.CreatedAtMs {
					if _, err := a.client.RetryEffect(a.ctx, effect.SessionID, effect.EffectID); err != nil {
						return err
					}
				}
			}
		}
		if owed == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
	}
}

// goOn claims a child that was parked, checks that it is handed the answer, and that
// this acknowledged the message, and completes it.
func (a *attempt) goOn(declined bool) error {
	if err := a.carriedOut(); err != nil {
		return err
	}
	claim, err := a.claimOnce("2")
	if err != nil {
		return err
	}
	if claim.Resume == nil || claim.Resume.Clarification == nil {
		return errors.New("resumed without the answer")
	}
	answer := claim.Resume.Clarification
	if answer.RequestID != "way" || answer.Declined != declined || len(answer.Answers) == 0 != declined {
		return fmt.Errorf("resumed with %+v", answer)
	}
	return errors.Join(a.messages(0), a.clarificationLog(), a.complete())
}

// readAnswer reads the answer from the mailbox, acknowledges it, twice, and completes
// the run of the lease that it had all the time.
func (a *attempt) readAnswer() error {
	if err := a.carriedOut(); err != nil {
		return err
	}
	if err := a.messages(1); err != nil {
		return err
	}
	for range 2 {
		if err := a.client.AcknowledgeMessage(a.ctx, a.sessionID, answerMessage); err != nil {
			return err
		}
	}
	return errors.Join(a.messages(0), a.clarificationLog(), a.complete())
}

// messages reads the mailbox and checks how many messages there are.
func (a *attempt) messages(want int) error {
	messages, err := a.client.Mailbox(a.ctx, a.sessionID)
	if err != nil {
		return err
	}
	dead, err := a.client.DeadLetters(a.ctx, a.sessionID)
	if err == nil && (len(messages) != want || len(dead) > 0) {
		err = fmt.Errorf("%d messages and %d dead letters are in the mailbox, want %d and 0", len(messages), len(dead), want)
	}
	return err
}

// clarificationLog checks that the clarification's run was made and ended once.
func (a *attempt) clarificationLog() error {
	types, _, err := a.log(a.clarificationID)
	want := []string{"accepted", "waiting_for_user_question", "output", "parent_clarification_resolved", "completed"}
	if err == nil && !slices.Equal(types, want) {
		err = fmt.Errorf("the clarification's log is\n\t%q, want\n\t%q", types, want)
	}
	return err
}

// makeDeadLetter makes an answer to a child that was over when it came. Its session
// works again now.
func (a *attempt) makeDeadLetter() error {
	if err := a.makeAsking(false); err != nil {
		return err
	}
	if err := a.complete(); err != nil {
		return err
	}
	if err := a.answeredAndCarriedOut(); err != nil {
		return err
	}
	a.runID += "-second"
	return a.makeHeld()
}

// asked counts the questions that stand in the parent's session.
func asked(a *attempt) (int, error) {
	page, err := a.client.ListRuns(a.ctx, client.RunListParams{SessionID: a.parentID()})
	if err != nil {
		return 0, err
	}
	return len(page.Items), nil
}

// concluded counts the resolutions of the clarification.
func concluded(a *attempt) (int, error) {
	types, _, err := a.log(a.clarificationID)
	return count(types, "parent_clarification_resolved"), err
}

// delivered counts the answers that reached the child's run.
func delivered(a *attempt) (int, error) { return logged("user_question_resolved")(a) }
