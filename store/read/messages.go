package read

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

// sqlPersonMessages takes $1 the prefix of a channel's messages and $2 the error of those that wait at an inbox. The
// ids of the messages about a request are a range of the primary key: a semicolon follows the colon.
const sqlPersonMessages = `
SELECT q.handle, f.effect_id, f.state, f.attempts, coalesce(f.last_error, '') = CAST($2 AS text)
FROM requests AS q
JOIN effects AS f ON f.session_id = q.session_id
	AND f.effect_id > CAST($1 AS text) || q.handle || ':' AND f.effect_id < CAST($1 AS text) || q.handle || ';'`

// PersonMessages implements reads.Messages.
func (r *Reader) PersonMessages(ctx context.Context, channels, handles []string, limit int) (messages []reads.PersonMessage, whole bool, err error) {
	type row struct {
		handle, effectID, state string
		attempts                int64
		atInbox                 bool
	}
	targets := func(m *row) []any { return []any{&m.handle, &m.effectID, &m.state, &m.attempts, &m.atInbox} }
	found := make([][]row, len(channels))
	for part := range slices.Chunk(handles, maxKeysAsked) {
		queries := make([]Query, len(channels))
		for i, channel := range channels {
			f := filter{args: []any{model.NoticeIDPrefix(channel), model.HeldAtInbox}}
			f.oneOf("q.handle", part)
			statement := f.of(sqlPersonMessages) + "\nLIMIT CAST(" + f.argument(max(limit, 0)+1) + " AS bigint)"
			queries[i] = Query{statement, f.args, func(rows columns.Rows) error {
				var list []row
				err := columns.List(rows, targets, &list)
				found[i] = append(found[i], list...)
				return err
			}}
		}
		if len(queries) == 0 {
			break
		}
		if err := r.lists.AskAtOneMoment(ctx, queries...); err != nil {
			return nil, false, err
		}
	}
	whole = true
	for i, channel := range channels {
		whole = whole && len(found[i]) <= limit
		for _, m := range found[i][:min(len(found[i]), max(limit, 0))] {
			if place, is := model.PlaceOf(m.effectID, channel, m.handle); is {
				messages = append(messages, reads.PersonMessage{
					Handle: m.handle, Channel: channel, NoticePlace: place,
					State: api.EffectState(m.state), Attempts: m.attempts, AtInbox: m.atInbox,
				})
			}
		}
	}
	return messages, whole, nil
}
