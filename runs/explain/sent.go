package explain

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// maxListed bounds the messages of a channel that are read for a list.
const maxListed = 4_000

// sent returns the newest message to each person about each row, by handle and [model.PersonInID]. It is nil if there are too
// many to read: the rows then say to whom there were messages, and not what became of them.
func (c *Collector) sent(ctx context.Context, rows []model.PendingRequest) (map[string]map[string]reads.PersonMessage, error) {
	if c.Messages == nil || len(c.Channels) == 0 {
		return nil, nil
	}
	var handles []string
	for i := range rows {
		if request := &rows[i].Request; request.Open() && request.EscalationState != nil && len(request.Progress().Told) > 0 {
			handles = append(handles, request.Handle)
		}
	}
	if len(handles) == 0 {
		return nil, nil
	}
	messages, whole, err := c.Messages.PersonMessages(ctx, c.Channels, handles, maxListed)
	if err != nil || !whole {
		return nil, err
	}
	sent := make(map[string]map[string]reads.PersonMessage, len(handles))
	for _, message := range messages {
		to := sent[message.Handle]
		if to == nil {
			to = map[string]reads.PersonMessage{}
			sent[message.Handle] = to
		}
		if before, is := to[message.Person]; !is || before.Before(message.NoticePlace) {
			to[message.Person] = message
		}
	}
	return sent, nil
}

// messagesText says to whom there were messages about an open request, and what became of them. It is "" without any.
func messagesText(request *model.Request, sent map[string]reads.PersonMessage) string {
	if request.EscalationState == nil {
		return ""
	}
	// Failures come first, because someone has to act on them.
	var failed, pending, others []string
	nameless := "" // the one person of a service that asks for no credentials
	for _, told := range request.Progress().Told {
		message, read := sent[model.PersonInID(told.Who)]
		if !named(told.Who) {
			if read {
				nameless = " Message by " + outcomeText(&message) + "."
			}
			continue
		}
		text := shortName(told.Who)
		if read {
			text += " (" + outcomeText(&message) + ")"
		}
		switch {
		case read && message.State == api.EffectFailed:
			failed = append(failed, text)
		case read && message.State == api.EffectPending:
			pending = append(pending, text)
		default:
			others = append(others, text)
		}
	}
	people := slices.Concat(failed, pending, others)
	if len(people) == 0 {
		return nameless
	}
	return " Messages to " + allNames(people) + "."
}

// outcomeText says by which channel a message goes, and what became of it unless it was sent.
func outcomeText(m *reads.PersonMessage) string {
	switch {
	case m.State == api.EffectFailed:
		return m.Channel + ": not reached"
	case m.State == api.EffectPending && m.AtInbox:
		return m.Channel + ": held back while their inbox is open"
	case m.State == api.EffectPending:
		return m.Channel + ": not sent yet"
	case m.Attempts == 0:
		return m.Channel + ": no message of its own"
	}
	return m.Channel
}
