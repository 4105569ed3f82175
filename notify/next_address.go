package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// triesBeforeNext is how often a message fails at an address before it goes to the person's next one: over about
	// a minute.
	triesBeforeNext = 3
	// longestWaitMs is the longest pause of a receiver that is waited for while the person has another address.
	longestWaitMs = 5 * 60_000
	// maxTurns bounds how often a message goes to a next address. A person may add addresses meanwhile.
	maxTurns = 2 * api.MaxAddresses
)

// inOrder returns the verified addresses on channels of this service, in the order in which they are used: browsers
// before others.
func (s *Service) inOrder(addresses []Address) (ordered []*Address) {
	for i := range addresses {
		if a := &addresses[i]; a.VerifiedAtMs != 0 && s.channels[a.Channel] != nil {
			ordered = append(ordered, a)
		}
	}
	notPush := func(a *Address) int {
		if a.Channel == api.PushChannel {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ordered, func(a, b *Address) int { return cmp.Compare(notPush(a), notPush(b)) })
	return ordered
}

func (s *Service) recipient(a *Address) runs.Recipient {
	_, withdraws := s.channels[a.Channel].(Withdrawer)
	return runs.Recipient{Principal: a.Principal, Channel: a.Channel, Withdraws: withdraws}
}

// placeOf returns the id of the place where a message goes: an address, or all browsers of its person.
func placeOf(a *Address) string {
	if a.Channel == api.PushChannel {
		return api.PushChannel
	}
	return a.AddressID
}

// addressError is a failure with the place where it happened.
type addressError struct {
	error
	place string
}

func (f *addressError) Unwrap() error { return f.error }

// at returns a failure at an address, or nil.
func at(a *Address, err error) error {
	if err == nil {
		return nil
	}
	return &addressError{err, placeOf(a)}
}

// Next returns the person's next address for a message that failed; nil for none. Without final it is nil, too,
// until the message failed a few times. An address that was left that early comes again when all others are given
// up.
func (s *Service) Next(ctx context.Context, effect *model.Effect, failure error, final bool) (*runs.NextAddress, error) {
	notice, err := model.NoticeOf(effect)
	if err != nil {
		return nil, nil //nolint:nilerr // no address helps a row that cannot be read
	}
	if notice.Withdraws || notice.Turn >= maxTurns {
		return nil, nil
	}
	failed, known := errors.AsType[*addressError](failure)
	pause, limited := errors.AsType[*runs.RetryAfterError](failure)
	early := known && (effect.Attempts >= triesBeforeNext || limited && pause.Ms > longestWaitMs)
	if !final && !early {
		return nil, nil
	}
	forOthers, err := s.floodBegun(ctx, notice)
	if err != nil {
		return nil, err
	}
	addresses, err := s.options.Store.Addresses(ctx, []string{notice.Principal})
	if err != nil {
		return nil, err
	}
	tried, later := slices.Clone(notice.Tried), slices.Clone(notice.Later)
	if known && final {
		tried = append(tried, failed.place)
	} else if known {
		later = append(later, failed.place)
	}
	var again *Address
	for _, a := range s.inOrder(addresses) {
		switch place := placeOf(a); {
		case slices.Contains(tried, place):
		case !slices.Contains(later, place):
			return &runs.NextAddress{To: s.recipient(a), Tried: tried, Later: later, ForOthers: forOthers}, nil
		case again == nil:
			again = a
		}
	}
	if !final || again == nil {
		return nil, nil
	}
	later = slices.DeleteFunc(later, func(place string) bool { return place == placeOf(again) })
	return &runs.NextAddress{To: s.recipient(again), Tried: tried, Later: later, ForOthers: forOthers}, nil
}
