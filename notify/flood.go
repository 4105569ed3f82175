package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// floodOf returns the row of a notice whose message counts a flood, until it is sent. The notices that it counts have ended, so
// the row must outlive the request and the count of the person's messages.
func floodOf(notice *model.PersonNotice) *SentMessage {
	id := countedAs(notice)
	return &SentMessage{RequestHandle: "flood:" + id, Channel: kindFlood, Principal: notice.Principal, MessageID: id}
}

// countedAs returns the id by which a notice is counted, the same at all addresses of its person.
func countedAs(notice *model.PersonNotice) string {
	return fmt.Sprintf("%s:%d", notice.RequestHandle, notice.Step)
}

// floodBegun reports whether the message of a notice counts a flood, and was not sent yet. The number of attempts says nothing about
// that: an admin who retries a message that was given up sets it to 0.
func (s *Service) floodBegun(ctx context.Context, notice *model.PersonNotice) (bool, error) {
	row := floodOf(notice)
	all, err := s.options.Store.SentMessages(ctx, row.RequestHandle, row.Channel)
	return slices.ContainsFunc(all, func(one SentMessage) bool { return one.Principal == row.Principal }), err
}

// count counts the message of a notice, and returns whether it counts a flood. It returns runs.ErrNotSent if another
// message has counted its request, and a *runs.PutOffError if the request was raised after that message.
func (s *Service) count(ctx context.Context, effect *model.Effect, notice *model.PersonNotice, request *model.Request) (flood bool, err error) {
	counted := &NoticeToCount{
		ID: countedAs(notice), RaisedAtMs: request.CreatedAtMs, Held: effect.LastError == model.HeldByFlood,
		Urgent: notice.Urgent, Flood: floodOf(notice),
	}
	if counted.Held {
		open, err := s.countOpen(ctx, notice.Principal)
		if err != nil {
			return false, err
		}
		counted.Alone = open <= 1
	}
	// The database's clock, by which requests are raised.
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return false, err
	}
	counted.Flood.BegunAtMs = nowMs
	number, holdMs, err := s.options.Store.CountNotice(ctx, notice.Principal, counted, nowMs)
	switch {
	case err != nil:
		return false, err
	case number == 0 && holdMs > 0:
		return false, &runs.PutOffError{Ms: holdMs, Why: model.HeldByFlood}
	case number == 0:
		return false, runs.ErrNotSent
	}
	return number > api.FloodMessages, nil
}

// openNow returns the message that counts a flood, or runs.ErrNotSent if nothing is open any more, or the person has no
// credential any more: theirs bound what is counted.
func (s *Service) openNow(ctx context.Context, effectID string, notice *model.PersonNotice) (*Message, error) {
	if s.options.HasCredential != nil {
		has, err := s.options.HasCredential(ctx, notice.Principal)
		switch {
		case err != nil:
			return nil, err
		case !has:
			s.endFlood(ctx, notice)
			return nil, runs.ErrNotSent
		}
	}
	open, err := s.countOpen(ctx, notice.Principal)
	switch {
	case err != nil:
		return nil, err
	case open == 0:
		s.endFlood(ctx, notice)
		return nil, runs.ErrNotSent
	}
	return s.floodMessage(effectID, open), nil
}

// endFlood records that the message was sent, or is not needed any more.
func (s *Service) endFlood(ctx context.Context, notice *model.PersonNotice) {
	if err := s.options.Store.RemoveSentMessage(context.WithoutCancel(ctx), floodOf(notice)); err != nil {
		s.options.Logger.WarnContext(ctx, "a row of a message that counts a flood could not be removed; it is deleted later", errorAttr(err))
	}
}
