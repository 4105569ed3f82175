package notify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

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

const (
	// withdrawingMs is how long an attempt to withdraw messages begins new ones, and withdrawnAtOnce from how many
	// people it withdraws at once.
	withdrawingMs   = 5_000
	withdrawnAtOnce = 8
)

// KindSettled is the Kind of a message that takes the place of one about a settled request.
const KindSettled = "settled"

// withdraw withdraws the messages of a channel about a settled request. It returns runs.ErrNotSent if the channel does not withdraw messages.
func (s *Service) withdraw(ctx context.Context, channel Channel, notice *model.PersonNotice) (permanent bool, failure error) {
	withdrawer, is := channel.(Withdrawer)
	if !is {
		return false, runs.ErrNotSent // the file had a settled_body when the message was sent
	}
	all, err := s.options.Store.SentMessages(ctx, notice.RequestHandle, notice.Channel)
	if err != nil || len(all) == 0 {
		return false, err
	}
	outcome, err := s.settledMessage(ctx, channel.Kind(), notice.RequestHandle)
	if err != nil {
		return false, err
	}
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return false, err
	}
	begunMs := s.options.NowMs()
	// A receiver that hangs, perhaps a browser that somebody made up, must not hold up the others: several are called at
	// once, and other ones first each time.
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var mu sync.Mutex
	var refused, failed error
	var calls errgroup.Group
	calls.SetLimit(withdrawnAtOnce)
	putOffMs := int64(0)
	for i := range all {
		sent := &all[i]
		if s.options.NowMs() > begunMs+withdrawingMs {
			putOffMs = max(putOffMs, 1)
			break
		}
		if leftMs := sent.underWayMs(nowMs); leftMs > 0 {
			putOffMs = max(putOffMs, leftMs)
			continue
		}
		calls.Go(func() error {
			err := s.safely("a withdrawal", func() error { return s.withdrawSettled(ctx, withdrawer, sent, outcome) })
			if err == nil {
				err = s.options.Store.RemoveSentMessage(ctx, sent)
			}
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, ErrPermanent) {
				refused = err
			} else if err != nil {
				failed = err
			}
			return nil
		})
	}
	_ = calls.Wait() // no function returns an error
	switch {
	case failed != nil:
		return false, failed
	case putOffMs != 0:
		return false, &runs.PutOffError{Ms: putOffMs}
	}
	return refused != nil, refused
}

// withdrawSettled withdraws the message about a settled request.
func (s *Service) withdrawSettled(ctx context.Context, channel Withdrawer, sent *SentMessage, outcome func(principal string) *Message) error {
	m := outcome(sent.Principal)
	if m != nil {
		if err := s.together(ctx, channel, sent.Principal, m); err != nil {
			return err
		}
	}
	return s.withdrawOne(ctx, channel, sent, m)
}

// withdrawOne withdraws a message from its address, or from all addresses of its person on the channel if it may have
// gone to several. A message with a reference of the channel needs no address.
func (s *Service) withdrawOne(ctx context.Context, channel Withdrawer, sent *SentMessage, m *Message) error {
	addresses, err := s.onChannel(ctx, sent.Principal, sent.Channel)
	if err != nil {
		return err
	}
	switch {
	case sent.wentToAddress():
		addresses = slices.DeleteFunc(addresses, func(a Address) bool { return a.AddressID != sent.Reference })
		unreferenced := *sent
		unreferenced.Reference = ""
		sent = &unreferenced
	case sent.Reference != "" && len(addresses) > 1:
		addresses = addresses[:1]
	}
	if len(addresses) == 0 {
		return channel.Withdraw(ctx, "", sent, m)
	}
	_, failure := s.toEach(addresses, func(to *Address) error {
		err := channel.Withdraw(ctx, to.Address, sent, m)
		if errors.Is(err, ErrGone) {
			err = nil
		}
		return err
	})
	return failure
}

// settledMessage returns the message to a person that takes the place of the one about a settled request, or nil if the request
// does not exist any more. The outcome and who decided are for the people who may still decide: others, who left or lost
// the reach, only stop seeing an open request.
func (s *Service) settledMessage(ctx context.Context, kind api.ChannelKind, handle string) (to func(principal string) *Message, err error) {
	found, err := s.options.Reader.DecisionByHandle(ctx, handle)
	switch {
	case refusal.CodeOf(err) == api.CodeRequestNotFound:
		return func(string) *Message { return nil }, nil
	case err != nil:
		return nil, err
	}
	request := &found.Request
	record, err := s.options.Reader.Run(ctx, request.RunID)
	if err != nil {
		return nil, err
	}
	deciders, err := s.options.Deciders(ctx, &record.Run, request)
	if err != nil {
		return nil, err
	}
	m := Message{ID: handle, Thread: request.SessionID, Kind: KindSettled}
	m.Path, m.Link = s.linkTo(handle)
	about := "Question"
	if request.Kind == model.KindApproval {
		m.Tool = nameOn(kind, request.Approval().ToolName)
		about = "Approval of " + m.Tool
	}
	return func(principal string) *Message {
		one := m
		if request.Open() || !slices.Contains(deciders, principal) {
			one.Subject = about + " is not open any more"
			return one.with(one.Subject + ".")
		}
		one.Subject = about + ": " + string(request.Outcome)
		return one.with(about + ": " + SettledText(request))
	}, nil
}

// SettledText says how a request was settled, and by whom: "allowed by user:ada".
func SettledText(request *model.Request) string {
	resolution := request.Recorded()
	return settledText(resolution.Outcome, resolution.ResolvedBy)
}

func settledText(outcome api.Outcome, by string) string {
	switch name := clean(by); {
	case outcome == api.OutcomeExpired:
		return "expired without a decision"
	case name == "" || by == api.ResolvedBySystem:
		return string(outcome)
	default:
		return fmt.Sprintf("%s by %s", outcome, name)
	}
}
