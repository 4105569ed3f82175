package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// KeepSentMs is how long a message is remembered. It is not withdrawn after that.
const KeepSentMs = 180 * 86_400_000

// SentMessage is a row of sent_messages.
type SentMessage struct {
	RequestHandle, Channel, Principal string
	// MessageID is the Message.ID.
	MessageID string
	// Reference is the Message.Reference, or the id of the only address to which the message went or may have gone. It is
	// empty if it may have gone to several.
	Reference string
	// BegunAtMs is when the last attempt to send the message began, or at least sendingMs ago if that attempt
	// failed.
	BegunAtMs int64
	SentAtMs  int64 // 0 if it is not known whether the message was sent
}

// wentToAddress reports whether Reference is the id of an address.
func (m *SentMessage) wentToAddress() bool { return strings.HasPrefix(m.Reference, PrefixAddress+"_") }

// SentStore stores the messages of channels that withdraw them, and the ones that count a flood until they are sent. It returns the same errors as [Store].
type SentStore interface {
	// SentMessages returns the messages about a request on a channel, one for each person.
	SentMessages(ctx context.Context, handle, channel string) ([]SentMessage, error)
	// Told returns what is open of a session, of what a person had a message about on a channel.
	Told(ctx context.Context, sessionID, channel, principal string) (Told, error)
	// PutSentMessage writes a message in place of another one to the person about the same request, nil for none.
	// It returns false, and changes nothing, if the row is not the one before. It deletes some messages that are
	// older than KeepSentMs.
	PutSentMessage(ctx context.Context, m, before *SentMessage) (bool, error)
	// RemoveSentMessage deletes a message unless a newer one has taken its place.
	RemoveSentMessage(ctx context.Context, m *SentMessage) error
}

// sendingMs is longer than an attempt to send a message takes.
const sendingMs = model.WebhookLeaseMs

// earlierTimeout bounds the withdrawal of an earlier message at another address. It leaves the rest of model.WebhookAttemptMs for
// the newer one.
const earlierTimeout = 3 * time.Second

// lostRaceMs is the pause after another attempt to send to the person began at the same moment.
const lostRaceMs = 1_000

// underWayCheckMs is how often a message or a withdrawal looks again whether the message before it was
// sent, which mostly takes a moment.
const underWayCheckMs = 5_000

// underWayMs returns after how long to look again while a replica may still be sending the message; 0 if
// none does.
func (m *SentMessage) underWayMs(nowMs int64) int64 {
	if m.SentAtMs != 0 {
		return 0
	}
	return max(min(m.BegunAtMs+sendingMs-nowMs, underWayCheckMs), 0)
}

// sendOnce sends a message on a channel that withdraws messages. The row is written first, so that a
// withdrawal finds a message that is being sent. A newer message to the person takes the place of an older
// one. Messages to a person about a request, also attempts of different replicas, follow one another: it returns
// a *runs.PutOffError while another one is being sent.
func (s *Service) sendOnce(ctx context.Context, channel Withdrawer, addresses []Address, notice *model.PersonNotice, m *Message) error {
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return err
	}
	all, err := s.options.Store.SentMessages(ctx, notice.RequestHandle, notice.Channel)
	if err != nil {
		return err
	}
	row := &SentMessage{RequestHandle: notice.RequestHandle, Channel: notice.Channel, Principal: notice.Principal, MessageID: m.ID, BegunAtMs: nowMs}
	if channel.Kind() != api.ChannelPush {
		row.Reference = addresses[0].AddressID
	}
	var earlier *SentMessage
	if i := slices.IndexFunc(all, func(sent SentMessage) bool { return sent.Principal == notice.Principal }); i >= 0 {
		earlier = &all[i]
		leftMs := earlier.underWayMs(nowMs)
		switch {
		case leftMs > 0:
			return &runs.PutOffError{Ms: leftMs}
		case earlier.MessageID != m.ID:
			if err := s.withdrawEarlier(ctx, channel, earlier, &addresses[0], notice); err != nil {
				return err
			}
		case earlier.SentAtMs != 0:
			return nil // only the end of the effect was not recorded
		default:
			m.Repeated = true
			if earlier.Reference != row.Reference {
				row.Reference = ""
			}
		}
	}
	switch first, err := s.options.Store.PutSentMessage(ctx, row, earlier); {
	case err != nil:
		return err
	case !first:
		return &runs.PutOffError{Ms: lostRaceMs}
	}
	// A request that was settled before the row was written has had its withdrawal.
	request, _, err := s.open(ctx, notice.RequestHandle)
	switch {
	case err != nil:
		return s.failedSending(ctx, row, err)
	case request == nil && m.Repeated:
		return s.failedSending(ctx, row, nil) // an earlier attempt may have sent it, and the withdrawal finds the row
	case request == nil:
		return cmp.Or(s.options.Store.RemoveSentMessage(ctx, row), runs.ErrNotSent)
	}
	if err := s.together(ctx, channel, row.Principal, m); err != nil {
		return s.failedSending(ctx, row, err)
	}
	if err := s.sendAll(ctx, channel, addresses, m); err != nil {
		return s.failedSending(ctx, row, err)
	}
	sent := *row
	sent.Reference, sent.SentAtMs = cmp.Or(m.Reference, row.Reference), max(s.options.NowMs(), 1)
	if recorded, err := s.options.Store.PutSentMessage(context.WithoutCancel(ctx), &sent, row); err != nil || recorded {
		return err
	}
	return s.sentTooLate(ctx, channel, &sent)
}

// withdrawEarlier withdraws the message that a newer one to the person replaces. Its failure does not hold up a message
// to another address: the earlier message's address may have failed, which is why the newer one goes to another.
func (s *Service) withdrawEarlier(ctx context.Context, channel Withdrawer, earlier *SentMessage, to *Address, notice *model.PersonNotice) error {
	elsewhere := earlier.Reference == "" && notice.Turn > 0 || earlier.wentToAddress() && earlier.Reference != to.AddressID
	if !elsewhere {
		return s.withdrawOne(ctx, channel, earlier, nil)
	}
	short, cancel := context.WithTimeout(ctx, earlierTimeout)
	defer cancel()
	if err := s.withdrawOne(short, channel, earlier, nil); err != nil {
		s.options.Logger.WarnContext(ctx, "an earlier message could not be withdrawn", channelAttr(notice.Channel), errorAttr(err))
	}
	return nil
}

// failedSending records that an attempt is over, so that the next one and the withdrawal need not wait for it. It
// returns the failure. If that cannot be recorded, they wait.
func (s *Service) failedSending(ctx context.Context, row *SentMessage, failure error) error {
	over := *row
	over.BegunAtMs -= sendingMs
	if _, err := s.options.Store.PutSentMessage(context.WithoutCancel(ctx), &over, row); err != nil {
		s.options.Logger.WarnContext(ctx, "the end of an attempt could not be recorded", channelAttr(row.Channel), errorAttr(err))
	}
	return failure
}

// sentTooLate withdraws a message of an attempt that took longer than others wait, because this process was
// frozen: another attempt, a newer message or the withdrawal went on without it.
func (s *Service) sentTooLate(ctx context.Context, channel Withdrawer, sent *SentMessage) error {
	all, err := s.options.Store.SentMessages(ctx, sent.RequestHandle, sent.Channel)
	if err != nil {
		return err
	}
	for i := range all {
		if one := &all[i]; one.Principal == sent.Principal && one.MessageID == sent.MessageID && (one.SentAtMs == 0 || one.Reference == sent.Reference) {
			return nil // the other attempt has found it, or may be about to
		}
	}
	outcome := func(string) *Message { return nil }
	if request, _, err := s.open(ctx, sent.RequestHandle); err != nil {
		return err
	} else if request == nil {
		if outcome, err = s.settledMessage(ctx, channel.Kind(), sent.RequestHandle); err != nil {
			return err
		}
	}
	err = s.withdrawSettled(ctx, channel, sent, outcome)
	if errors.Is(err, ErrPermanent) {
		s.options.Logger.WarnContext(ctx, "a message that was sent too late could not be withdrawn", channelAttr(sent.Channel), errorAttr(err))
		return nil // it was sent
	}
	return err
}
