package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Withdrawer is a channel that changes or removes a message that it sent. Its Send may set
// [Message.Reference].
type Withdrawer interface {
	Channel
	// Withdraw puts m in the place of a message about a request that is settled. If m is nil it removes the
	// message, because another one to the person follows. address is empty if the person does not have it
	// any more. It returns nil if the message does not exist, and errors as Send does. It is repeated
	// after a crash.
	Withdraw(ctx context.Context, address string, sent *SentMessage, m *Message) error
}

// KeepSentMs is how long a message is remembered. It is not withdrawn after that.
const KeepSentMs = 180 * 86_400_000

// SentMessage is a row of sent_messages.
type SentMessage struct {
	RequestHandle, Channel, Principal string
	// MessageID is the Message.ID.
	MessageID string
	// Reference is the Message.Reference; empty if it is not known whether the message was sent.
	Reference string
	BegunAtMs int64
	SentAtMs  int64 // 0 if it is not known whether the message was sent
}

// SentStore stores the messages of channels that withdraw them. It returns the same errors as [Store].
type SentStore interface {
	// SentMessages returns the messages about a request on a channel, one for each person.
	SentMessages(ctx context.Context, handle, channel string) ([]SentMessage, error)
	// PutSentMessage writes a message in place of the person's message about the same request, and deletes some
	// that are older than KeepSentMs.
	PutSentMessage(ctx context.Context, m *SentMessage) error
	// RemoveSentMessage deletes a message unless a newer one has taken its place.
	RemoveSentMessage(ctx context.Context, m *SentMessage) error
}

// sendingMs is longer than an attempt to send a message takes.
const sendingMs = model.WebhookLeaseMs

// withdrawingMs is how long an attempt to withdraw messages begins new ones.
const withdrawingMs = 5_000

// KindSettled is the Kind of a message that takes the place of one about a settled request.
const KindSettled = "settled"

// sendOnce sends a message on a channel that withdraws messages. The row is written first, so that a
// withdrawal finds a message that is being sent. A newer message to the person takes the place of an older
// one.
func (s *Service) sendOnce(ctx context.Context, channel Withdrawer, addresses []Address, notice *runs.PersonNotice, m *Message) error {
	all, err := s.options.Store.SentMessages(ctx, notice.RequestHandle, notice.Channel)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(sent SentMessage) bool { return sent.Principal == notice.Principal }); i >= 0 {
		earlier := &all[i]
		switch {
		case earlier.MessageID != m.ID:
			if err := channel.Withdraw(ctx, addresses[0].Address, earlier, nil); err != nil {
				return err
			}
		case earlier.SentAtMs != 0:
			return nil // only the end of the effect was not recorded
		default:
			m.Repeated = true
		}
	}
	row := &SentMessage{
		RequestHandle: notice.RequestHandle, Channel: notice.Channel, Principal: notice.Principal, MessageID: m.ID, BegunAtMs: s.options.NowMs(),
	}
	if err := s.options.Store.PutSentMessage(ctx, row); err != nil {
		return err
	}
	// A request that was settled before the row was written has had its withdrawal.
	request, _, err := s.open(ctx, notice.RequestHandle)
	if err != nil {
		return err
	}
	if request == nil {
		if m.Repeated {
			return nil // an earlier attempt may have sent it, and the withdrawal finds the row
		}
		return s.options.Store.RemoveSentMessage(ctx, row)
	}
	if err := s.sendAll(ctx, channel, addresses, m); err != nil {
		return err
	}
	row.Reference, row.SentAtMs = m.Reference, s.options.NowMs()
	return s.options.Store.PutSentMessage(ctx, row)
}

// withdraw withdraws the messages of a channel about a settled request.
func (s *Service) withdraw(ctx context.Context, channel Channel, notice *runs.PersonNotice) (permanent bool, failure error) {
	withdrawer, is := channel.(Withdrawer)
	if !is {
		return false, nil
	}
	all, err := s.options.Store.SentMessages(ctx, notice.RequestHandle, notice.Channel)
	if err != nil || len(all) == 0 {
		return false, err
	}
	m, err := s.settledMessage(ctx, notice.RequestHandle)
	if err != nil {
		return false, err
	}
	nowMs := s.options.NowMs()
	var refused, failed error
	putOffMs := int64(0)
	for i := range all {
		sent := &all[i]
		if s.options.NowMs() > nowMs+withdrawingMs {
			putOffMs = max(putOffMs, 1)
			break
		}
		if leftMs := sent.BegunAtMs + sendingMs - nowMs; sent.SentAtMs == 0 && leftMs > 0 {
			putOffMs = max(putOffMs, min(leftMs, sendingMs))
			continue
		}
		switch err := s.withdrawOne(ctx, withdrawer, sent, m); {
		case errors.Is(err, ErrPermanent):
			refused = err
		case err != nil:
			failed = err
		default:
			if err := s.options.Store.RemoveSentMessage(ctx, sent); err != nil {
				return false, err
			}
		}
	}
	switch {
	case failed != nil:
		return false, failed
	case putOffMs != 0:
		return false, &runs.PutOffError{Ms: putOffMs}
	}
	return refused != nil, refused
}

func (s *Service) withdrawOne(ctx context.Context, channel Withdrawer, sent *SentMessage, m *Message) error {
	addresses, err := s.addresses(ctx, &runs.PersonNotice{Principal: sent.Principal, Channel: sent.Channel})
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return channel.Withdraw(ctx, "", sent, m)
	}
	var failure error
	for i := range addresses {
		if err := channel.Withdraw(ctx, addresses[i].Address, sent, m); err != nil && !errors.Is(err, ErrGone) {
			failure = err
		}
	}
	return failure
}

// settledMessage returns the message that takes the place of the ones about a settled request, or nil if
// the request does not exist any more.
func (s *Service) settledMessage(ctx context.Context, handle string) (*Message, error) {
	found, err := s.options.Reader.DecisionByHandle(ctx, handle)
	switch {
	case refusal.CodeOf(err) == api.CodeRequestNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	request := &found.Request
	m := &Message{ID: handle, Thread: request.SessionID, Kind: KindSettled}
	m.Path, m.Link = s.linkTo(handle)
	about := "Question"
	if request.Kind == model.KindApproval {
		m.Tool = clean(request.Approval().ToolName)
		about = "Approval of " + m.Tool
	}
	m.Subject = about + ": " + string(request.Outcome)
	line := about + " is not open any more."
	if !request.Open() {
		line = about + ": " + SettledText(request)
	}
	return m.with(line), nil
}

// SettledText says how a request was settled, and by whom: "allowed by user:ada".
func SettledText(request *model.Request) string {
	resolution := request.Recorded()
	switch by := clean(resolution.ResolvedBy); {
	case resolution.Outcome == api.OutcomeExpired:
		return "expired without a decision"
	case by == "" || resolution.ResolvedBy == api.ResolvedBySystem:
		return string(resolution.Outcome)
	default:
		return fmt.Sprintf("%s by %s", resolution.Outcome, by)
	}
}
