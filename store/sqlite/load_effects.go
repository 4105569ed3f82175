package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
)

// loadOwed loads the effects and the messages that commands need, with at most one
// statement for each way in which they are named.
func (b *batch) loadOwed(ctx context.Context, loads []committer.Load) error {
	var effects, messages, ofRuns [][2]string
	for i := range loads {
		load := &loads[i]
		if b.states[load.SessionID].Session == nil {
			continue
		}
		for _, effectID := range load.EffectIDs {
			effects = append(effects, [2]string{load.SessionID, effectID})
		}
		for _, messageID := range load.MessageIDs {
			messages = append(messages, [2]string{load.SessionID, messageID})
		}
		for _, runID := range load.MessageRunIDs {
			ofRuns = append(ofRuns, [2]string{load.SessionID, runID})
		}
		for _, mailbox := range []struct {
			state  api.MessageState
			wanted bool
		}{{api.MessagePending, load.Mailbox}, {api.MessageDeadLetter, load.DeadLetters}} {
			if !mailbox.wanted {
				continue
			}
			err := b.addMessages(ctx, `SELECT `+messageColumns+` FROM messages
				WHERE session_id = ? AND state = ? AND acknowledged_at_ms IS NULL
				ORDER BY created_at_ms, message_id LIMIT ?`, load.SessionID, string(mailbox.state), model.MaxMailboxMessages)
			if err != nil {
				return err
			}
		}
	}
	if err := b.addEffects(ctx, effects); err != nil {
		return err
	}
	if err := b.addNamedMessages(ctx, `messages.message_id = wanted.value ->> 1`, messages); err != nil {
		return err
	}
	return b.addNamedMessages(ctx, `messages.run_id = wanted.value ->> 1 AND messages.acknowledged_at_ms IS NULL`, ofRuns)
}

// addEffects puts effects, each named by its session and its id, into the states of
// their sessions.
func (b *batch) addEffects(ctx context.Context, wanted [][2]string) error {
	if len(wanted) == 0 {
		return nil
	}
	argument, err := jsonList(wanted)
	if err != nil {
		return err
	}
	return b.write.each(ctx, `SELECT `+effectColumns+` FROM json_each(?) AS wanted
		CROSS JOIN effects ON effects.session_id = wanted.value ->> 0 AND effects.effect_id = wanted.value ->> 1`,
		[]any{argument}, func(rows *sql.Rows) error {
			effect, err := scanEffect(rows)
			if err == nil {
				b.states[effect.SessionID].Effects[effect.EffectID] = &effect
			}
			return err
		})
}

// addNamedMessages puts the messages that fit one of the pairs, of which the first
// is the session, into the states of their sessions.
func (b *batch) addNamedMessages(ctx context.Context, fits string, wanted [][2]string) error {
	if len(wanted) == 0 {
		return nil
	}
	argument, err := jsonList(wanted)
	if err != nil {
		return err
	}
	return b.addMessages(ctx, `SELECT `+messageColumns+` FROM json_each(?) AS wanted
		CROSS JOIN messages ON messages.session_id = wanted.value ->> 0 AND `+fits, argument)
}

func (b *batch) addMessages(ctx context.Context, query string, args ...any) error {
	return b.write.each(ctx, query, args, func(rows *sql.Rows) error {
		message, err := scanMessage(rows)
		if err == nil {
			b.states[message.SessionID].Messages[message.MessageID] = &message
		}
		return err
	})
}
