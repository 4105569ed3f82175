package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/panics"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Pusher is the channel that sends to browsers. The address of a browser is its subscription.
type Pusher interface {
	Channel
	// PublicKey returns the key that browsers subscribe with, in base64url.
	PublicKey() string
	// Address returns the address of a subscription. It reports each member that is invalid.
	Address(body *api.PushBody, faults *refusal.Faults) string
	// Endpoint returns the URL in an address, without the browser's keys.
	Endpoint(address string) string
}

// ErrGone is wrapped by errors that say that an address does not exist any more.
var ErrGone = fmt.Errorf("%w: the address does not exist any more", ErrPermanent)

// pusher returns the channel for browsers, or nil.
func (s *Service) pusher() Pusher {
	pusher, _ := s.channels[api.PushChannel].(Pusher)
	return pusher
}

// Push returns the key for subscriptions, and the browsers of a person.
func (s *Service) Push(ctx context.Context, principal string) (api.PushView, error) {
	view := api.PushView{Data: []api.Address{}}
	pusher := s.pusher()
	if pusher == nil {
		return view, nil
	}
	view.PublicKey = pusher.PublicKey()
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	for i := range all {
		if all[i].Channel == api.PushChannel {
			view.Data = append(view.Data, s.view(&all[i]))
		}
	}
	return view, err
}

// view returns an address as shown to its owner.
func (s *Service) view(a *Address) api.Address {
	view := a.View()
	if pusher := s.pusher(); a.Channel == api.PushChannel && pusher != nil {
		view.Address = pusher.Endpoint(a.Address)
	}
	return view
}

// pushAddressID returns the id of a browser's address. An endpoint has one row, so it belongs to the
// person who subscribed last.
func pushAddressID(endpoint string) string {
	sum := sha256.Sum256([]byte(endpoint))
	return PrefixAddress + "_" + hex.EncodeToString(sum[:16])
}

// Subscribe adds a browser of the caller. It gets messages at once, because the person is signed in
// there. A repeated call changes nothing. Errors: channel_unknown; invalid_request;
// too_many_addresses; errors of the store.
func (s *Service) Subscribe(ctx context.Context, principal string, body *api.PushBody) (api.Address, error) {
	pusher := s.pusher()
	if pusher == nil {
		return api.Address{}, refusal.New(api.CodeChannelUnknown, "this service cannot send to browsers: it has no push key")
	}
	var faults refusal.Faults
	address := pusher.Address(body, &faults)
	if err := faults.Err(); err != nil {
		return api.Address{}, err
	}
	nowMs := s.options.NowMs()
	made := &Address{
		AddressID: pushAddressID(body.Endpoint), Principal: principal, Channel: api.PushChannel, Address: address, VerifiedAtMs: nowMs, CreatedAtMs: nowMs,
	}
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	if err != nil {
		return api.Address{}, err
	}
	for i := range all {
		if all[i].AddressID == made.AddressID && all[i].Address == address {
			return s.view(&all[i]), nil
		}
	}
	entry := auth.ChangeBy(auth.From(ctx), nowMs, api.AuditEvent{Type: api.AuditAddressAdded, AddressID: made.AddressID, Channel: made.Channel})
	added, err := s.options.Store.AddSubscription(ctx, made, entry)
	switch {
	case err != nil:
		return api.Address{}, err
	case !added:
		return api.Address{}, refusal.New(api.CodeTooManyAddresses, "you have %d addresses: remove one", api.MaxAddresses)
	}
	s.changed(ctx)
	return s.view(made), nil
}

// changed tells the decisions of this process that somebody can be notified. The address is committed, so a failure is
// logged: decisions learn of it within a second.
func (s *Service) changed(ctx context.Context) {
	if s.options.Changed == nil {
		return
	}
	if err := s.options.Changed(ctx); err != nil {
		s.options.Logger.WarnContext(ctx, "addresses cannot be read after a change", errorAttr(err))
	}
}

// sendAll sends a message to the addresses of a person at once. It succeeds if one of them got it.
// Addresses that do not exist any more are removed.
func (s *Service) sendAll(ctx context.Context, channel Channel, addresses []Address, m *Message) error {
	delivered, failure := s.toEach(addresses, func(to *Address) error { return s.sendTo(ctx, channel, to, m) })
	if delivered {
		return nil
	}
	return failure
}

// toEach calls all addresses of a person at once. It reports whether one call succeeded, and returns a failure: one
// that a retry may help counts more than others.
func (s *Service) toEach(addresses []Address, call func(*Address) error) (succeeded bool, failure error) {
	failures := make(chan error, len(addresses))
	for i := range addresses {
		go func() {
			failures <- s.safely("a message", func() error { return call(&addresses[i]) })
		}()
	}
	for range addresses {
		err := <-failures
		succeeded = succeeded || err == nil
		if err != nil && (failure == nil || errors.Is(failure, ErrPermanent)) {
			failure = err
		}
	}
	return succeeded, failure
}

// safely makes a call in a goroutine of its own. A panic of a channel or an on-call source is the failure of its call.
func (s *Service) safely(what string, call func() error) (err error) {
	defer panics.Recover(s.options.Logger, what, &err)
	return call()
}

func (s *Service) sendTo(ctx context.Context, channel Channel, to *Address, m *Message) error {
	err := channel.Send(ctx, to.Address, m)
	if !errors.Is(err, ErrGone) {
		return err
	}
	entry := auth.EntryBy(nil, s.options.NowMs(), api.AuditEvent{Type: api.AuditAddressRemoved, AddressID: to.AddressID, Channel: to.Channel})
	if _, failed := s.options.Store.RemoveAddress(ctx, to.Principal, to.AddressID, entry); failed != nil {
		// The next message to it is refused as well.
		s.options.Logger.WarnContext(ctx, "an address that is gone could not be removed", channelAttr(to.Channel), slog.String("address_id", to.AddressID), errorAttr(failed))
	}
	return err
}
