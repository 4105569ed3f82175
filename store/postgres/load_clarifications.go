package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
)

// clarificationsOfKey reaches the clarifications of a session by their open
// questions: each of them waits from its first moment until it is over. The runs of
// the session may be many, what it waits for is little.
const clarificationsOfKey = `
CROSS JOIN LATERAL (
	SELECT DISTINCT one.session_id, one.run_id FROM requests AS one
	WHERE one.kind = 'question' AND one.session_id = s.session_id AND one.settled_number IS NULL
) AS k` + runOfKey

const (
	waitingClarification = `
WHERE r.kind = 'parent_clarification' AND r.finished_at_ms IS NULL`

	sqlLoadClarifications = `
SELECT` + runColumns + `
FROM unnest($1::text[]) AS s (session_id)` + clarificationsOfKey + waitingClarification

	sqlLoadClarificationRequests = `
SELECT` + requestColumns + `
FROM unnest($1::text[]) AS s (session_id)` + clarificationsOfKey + shownRequests + waitingClarification
)

// sqlLoadSessionRequestRuns loads the runs of the requests that
// sqlLoadSessionRequests loads, each once.
const sqlLoadSessionRequestRuns = `
SELECT` + runColumns + `
FROM (
	SELECT DISTINCT q.session_id, q.run_id
	FROM unnest($1::text[], $2::text[]) AS u (session_id, request_id)
	CROSS JOIN LATERAL (
		SELECT one.session_id, one.run_id FROM requests AS one
		WHERE one.session_id = u.session_id AND one.request_id = u.request_id OFFSET 0
	) AS q
) AS k` + runOfKey

const sqlLoadEffects = `
SELECT` + effectColumns + `
FROM unnest($1::text[], $2::text[]) AS k (session_id, effect_id)
CROSS JOIN LATERAL (
	SELECT * FROM effects AS one
	WHERE one.session_id = k.session_id AND one.effect_id = k.effect_id LIMIT 1
) AS f`

const (
	sqlLoadMessages = `
SELECT` + messageColumns + `
FROM unnest($1::text[], $2::text[]) AS k (session_id, message_id)
CROSS JOIN LATERAL (
	SELECT * FROM messages AS one
	WHERE one.session_id = k.session_id AND one.message_id = k.message_id LIMIT 1
) AS m`

	sqlLoadRunMessages = `
SELECT` + messageColumns + `
FROM unnest($1::text[], $2::text[]) AS k (session_id, run_id)
CROSS JOIN LATERAL (
	SELECT * FROM messages AS one
	WHERE one.session_id = k.session_id AND one.run_id = k.run_id AND one.acknowledged_at_ms IS NULL OFFSET 0
) AS m`

	// sqlLoadMailbox loads the oldest messages of each session and state.
	sqlLoadMailbox = `
SELECT` + messageColumns + `
FROM unnest($1::text[], $2::text[]) AS k (session_id, state)
CROSS JOIN LATERAL (
	SELECT * FROM messages AS one
	WHERE one.session_id = k.session_id AND one.state = k.state AND one.acknowledged_at_ms IS NULL
	ORDER BY one.created_at_ms, one.message_id LIMIT $3::bigint
) AS m`
)

// queueClarifications asks for what only clarifications, their messages and the
// effects of decisions need.
func (l *loader) queueClarifications(batch *pgx.Batch, loads []committer.Load) {
	var clarifications []string
	var sessionRequests, effects, messages, runMessages, mailboxes keys
	for i := range loads {
		load := &loads[i]
		if load.Clarifications {
			clarifications = append(clarifications, load.SessionID)
			for _, id := range load.SessionRequestIDs {
				sessionRequests.add(load.SessionID, id)
			}
		}
		if load.Mailbox {
			mailboxes.add(load.SessionID, string(api.MessagePending))
		}
		if load.DeadLetters {
			mailboxes.add(load.SessionID, string(api.MessageDeadLetter))
		}
		for _, id := range load.EffectIDs {
			effects.add(load.SessionID, id)
		}
		for _, id := range load.MessageIDs {
			messages.add(load.SessionID, id)
		}
		for _, id := range load.MessageRunIDs {
			runMessages.add(load.SessionID, id)
		}
	}
	if len(sessionRequests[0]) > 0 {
		batch.Queue(sqlLoadSessionRequestRuns, sessionRequests[0], sessionRequests[1]).Query(l.takeStarted)
	}
	if len(clarifications) > 0 {
		batch.Queue(sqlLoadClarifications, clarifications).Query(l.takeStarted)
		batch.Queue(sqlLoadClarificationRequests, clarifications).Query(l.takeRequests)
	}
	if len(effects[0]) > 0 {
		batch.Queue(sqlLoadEffects, effects[0], effects[1]).Query(l.takeEffects)
	}
	if len(messages[0]) > 0 {
		batch.Queue(sqlLoadMessages, messages[0], messages[1]).Query(l.takeMessages)
	}
	if len(runMessages[0]) > 0 {
		batch.Queue(sqlLoadRunMessages, runMessages[0], runMessages[1]).Query(l.takeMessages)
	}
	if len(mailboxes[0]) > 0 {
		batch.Queue(sqlLoadMailbox, mailboxes[0], mailboxes[1], model.MaxMailboxMessages).Query(l.takeMessages)
	}
}

// takeStarted takes runs that have asked for something: none of them has a place in
// the queue.
func (l *loader) takeStarted(rows pgx.Rows) error {
	return each(rows, runTargets, func(r *model.Run) { l.states[r.SessionID].Runs[r.RunID] = r })
}

func (l *loader) takeEffects(rows pgx.Rows) error {
	return each(rows, effectTargets, func(f *model.Effect) { l.states[f.SessionID].Effects[f.EffectID] = f })
}

func (l *loader) takeMessages(rows pgx.Rows) error {
	return each(rows, messageTargets, func(m *model.Message) { l.states[m.SessionID].Messages[m.MessageID] = m })
}
