package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Send sends the message of an effect of kind api.EffectNotify, or withdraws messages. It returns runs.ErrNotSent if
// the request is settled, the person may no longer decide it, or another message counts it because of a flood. It
// returns a *runs.PutOffError while another person is looking at the request, the person snoozes it, has quiet
// hours, is looking at their inbox, or got many messages. permanent means that a retry would not help. It ends before the lease of the effect.
func (s *Service) Send(ctx context.Context, effect *model.Effect) (permanent bool, failure error) {
	ctx, cancel := context.WithTimeout(ctx, model.WebhookAttemptMs*time.Millisecond)
	defer cancel()
	notice, err := model.NoticeOf(effect)
	if err != nil {
		return true, err
	}
	channel := s.channels[notice.Channel]
	if channel == nil {
		return false, errors.New("this replica does not have the channel")
	}
	if notice.Withdraws {
		return s.withdraw(ctx, channel, notice)
	}
	begun, err := s.floodBegun(ctx, notice)
	if err != nil {
		return false, err
	}
	flood := begun
	var request *model.Request
	var run *model.Run
	if !flood { // otherwise others need it, whatever has become of its request
		if request, run, err = s.needed(ctx, notice); err != nil {
			return false, err
		}
	}
	if err := s.available(ctx, request, notice); err != nil {
		return false, err
	}
	addresses, err := s.addresses(ctx, notice)
	if err != nil {
		return false, err
	}
	if len(addresses) == 0 {
		return true, errors.New("the person has no verified address on this channel any more")
	}
	if !flood {
		if flood, err = s.count(ctx, effect, notice, request); err != nil {
			return false, err
		}
	}
	var message *Message
	if flood {
		if message, err = s.openNow(ctx, effect.EffectID, notice); err != nil {
			return false, err
		}
		message.Repeated = begun || effect.Attempts > 1
	} else {
		message = s.message(effect.EffectID, request, run, channel.Kind(), channel.Summary())
		addButtons(channel, request, run.AgentID, message)
	}
	if channel.Kind() != api.ChannelPush {
		if err := s.addLink(ctx, channel, &addresses[0], request, message); err != nil {
			return false, err
		}
	}
	if withdrawer, is := channel.(Withdrawer); is && !flood {
		err = s.sendOnce(ctx, withdrawer, addresses, notice, message)
	} else {
		err = s.sendAll(ctx, channel, addresses, message)
	}
	if err == nil && flood {
		s.endFlood(ctx, notice)
		err = runs.ErrSentForOthers
	}
	return errors.Is(err, ErrPermanent), at(&addresses[0], err)
}

// needed returns the request of a message, and its run. It returns runs.ErrNotSent if the person needs no message
// about it any more, and a *runs.PutOffError while it is held back.
func (s *Service) needed(ctx context.Context, notice *model.PersonNotice) (*model.Request, *model.Run, error) {
	request, run, err := s.open(ctx, notice.RequestHandle)
	switch {
	case err != nil:
		return nil, nil, err
	case request == nil:
		return nil, nil, runs.ErrNotSent
	}
	deciders, err := s.options.Deciders(ctx, run, request)
	switch {
	case err != nil:
		return nil, nil, err
	case !slices.Contains(deciders, notice.Principal):
		return nil, nil, runs.ErrNotSent
	}
	if request.Escalates() {
		if progress := request.Progress(); progress.Newest(notice.Principal) > notice.Step {
			if err := s.superseded(ctx, notice); err != nil {
				return nil, nil, err
			}
		}
	}
	return request, run, s.heldBack(ctx, request, notice.Principal, deciders)
}

// superseded returns runs.ErrNotSent: a newer message about the request takes the place of one that was not sent yet.
// It returns nil for an urgent message in the person's quiet hours, which may hold the newer one.
func (s *Service) superseded(ctx context.Context, notice *model.PersonNotice) error {
	if notice.Urgent {
		err := s.quiet(ctx, &model.PersonNotice{Principal: notice.Principal})
		if held := (*runs.PutOffError)(nil); errors.As(err, &held) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return runs.ErrNotSent
}

// available returns a *runs.PutOffError while the person has quiet hours, or is looking at their inbox. request is nil for the
// message that counts a flood.
func (s *Service) available(ctx context.Context, request *model.Request, notice *model.PersonNotice) error {
	if err := s.quiet(ctx, notice); err != nil {
		return err
	}
	return s.atInbox(ctx, request, notice.Principal)
}

// countOpen counts the open requests that a person reaches with any of their credentials.
func (s *Service) countOpen(ctx context.Context, principal string) (int64, error) {
	var all int64
	reach, err := s.options.Reach(ctx, principal)
	if err != nil {
		return 0, err
	}
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		count, err := s.options.Reader.CountPendingRequests(ctx, reads.RequestQuery{Kind: kind, AnyOf: reach})
		if err != nil {
			return 0, err
		}
		all += count
	}
	return all, nil
}

// addresses returns where a message to a person goes: all browsers, or the first verified address on
// another channel at which it was not given up.
func (s *Service) addresses(ctx context.Context, notice *model.PersonNotice) ([]Address, error) {
	all, err := s.onChannel(ctx, notice.Principal, notice.Channel)
	all = slices.DeleteFunc(all, func(a Address) bool {
		return slices.Contains(notice.Tried, placeOf(&a)) || slices.Contains(notice.Later, placeOf(&a))
	})
	if notice.Channel != api.PushChannel && len(all) > 1 {
		all = all[:1]
	}
	return all, err
}

// onChannel returns the verified addresses of a person on a channel.
func (s *Service) onChannel(ctx context.Context, principal, channel string) ([]Address, error) {
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	return slices.DeleteFunc(all, func(a Address) bool { return a.Channel != channel || a.VerifiedAtMs == 0 }), err
}
