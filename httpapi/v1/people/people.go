// Package people serves the caller's own addresses, browsers, quiet hours and presence, and the channels that
// messages take. It knows no requests: package notify decides who is told of what.
package people

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// people has the handlers. notify is nil where the service sends no notifications.
type people struct {
	notify *notify.Service
	access *wire.Access
	bodies *wire.Bodies
}

// Routes returns the routes. service is nil where no notifications are sent.
func Routes(service *notify.Service, access *wire.Access, bodies *wire.Bodies) []wire.Route {
	p := &people{service, access, bodies}
	return []wire.Route{
		// Only deciders are notified, so only they may have messages sent.
		wire.Get("/v1/me/addresses", auth.Decide, wire.Reply(http.StatusOK, p.listAddresses)),
		wire.Post("/v1/me/addresses", auth.Decide, p.notifying(api.CodeChannelUnknown, wire.ReplyTo(bodies, http.StatusCreated, p.addAddress))),
		wire.Post("/v1/me/addresses/{address_id}/verify", auth.Decide, p.notifying(api.CodeAddressNotFound, wire.ReplyTo(bodies, http.StatusOK, p.verifyAddress))),
		wire.Delete("/v1/me/addresses/{address_id}", auth.Decide, p.notifying(api.CodeAddressNotFound, wire.NoContent(p.removeAddress))),
		wire.Get("/v1/me/quiet-hours", auth.Decide, wire.Reply(http.StatusOK, p.getQuietHours)),
		wire.Put("/v1/me/quiet-hours", auth.Decide, p.notifying(api.CodeChannelUnknown, wire.ReplyTo(bodies, http.StatusOK, p.setQuietHours))),
		wire.Delete("/v1/me/quiet-hours", auth.Decide, wire.NoContent(p.clearQuietHours)),
		wire.Put("/v1/me/presence", auth.Decide, p.setPresence),
		wire.Get("/v1/me/push", auth.Decide, wire.Reply(http.StatusOK, p.getPush)),
		wire.Post("/v1/me/push", auth.Decide, p.notifying(api.CodeChannelUnknown, wire.ReplyTo(bodies, http.StatusCreated, p.subscribePush))),
		wire.Get("/v1/channels", auth.Administer, wire.Reply(http.StatusOK, p.listChannels)),
		wire.Post("/v1/channels/{name}/test", auth.Administer, p.notifying(api.CodeChannelNotFound, wire.ReplyTo(bodies, http.StatusOK, p.testChannel))),
	}
}

// notifying returns the handler of a route that needs the service for addresses and messages. Programs that
// embed the API may omit it. Then there are no addresses and no channels, and the refusal has the given code.
func (p *people) notifying(missing api.Code, handle wire.HandlerFunc) wire.HandlerFunc {
	if p.notify == nil {
		return func(http.ResponseWriter, *http.Request) error {
			return refusal.New(missing, "this service sends no notifications")
		}
	}
	return handle
}

// listAddresses returns the addresses of the caller.
func (p *people) listAddresses(r *http.Request) (api.AddressList, error) {
	if p.notify == nil {
		return api.AddressList{Data: []api.Address{}, Channels: []api.AddressChannel{}}, nil
	}
	return p.notify.List(r.Context(), auth.From(r.Context()).Principal)
}

// addAddress adds an address of the caller, or for an admin one of another person, and sends a code to it.
func (p *people) addAddress(r *http.Request, body *api.AddressBody) (api.Address, error) {
	caller := auth.From(r.Context())
	if body.Principal != "" && body.Principal != caller.Principal {
		if err := caller.Check(auth.Administer); err != nil {
			return api.Address{}, err
		}
	}
	if err := p.checkReach(r.Context(), caller); err != nil {
		return api.Address{}, err
	}
	return p.notify.Add(r.Context(), caller.Principal, body)
}

// checkReach returns forbidden for a bound token that does not reach all that the other tokens of its principal reach: the
// messages to an address are about all of it, and may be enough to decide.
func (p *people) checkReach(ctx context.Context, caller *auth.Identity) error {
	scope := reads.ScopeOf(caller)
	if !scope.Bounded() {
		return nil
	}
	deciders, err := p.access.Keyring.DecidersOf(ctx, caller.Principal)
	if err != nil {
		return err
	}
	for _, other := range deciders {
		if reach := reads.ScopeOf(other); !scope.Covers(&reach) {
			return refusal.New(api.CodeForbidden, "this token is bound to sessions or agents, and another token of %s reaches more, which the messages would show: "+
				"add addresses and browsers with a token that reaches all of it", caller.Principal)
		}
	}
	return nil
}

// verifyAddress verifies an address of the caller by its code.
func (p *people) verifyAddress(r *http.Request, body *api.VerifyAddressBody) (api.Address, error) {
	return p.notify.Verify(r.Context(), auth.From(r.Context()).Principal, wire.PathID(r, "address_id"), body.Code)
}

// removeAddress deletes an address of the caller.
func (p *people) removeAddress(r *http.Request) error {
	id := wire.PathID(r, "address_id")
	if !refusal.ValidID(id) {
		return refusal.New(api.CodeAddressNotFound, "you have no such address")
	}
	return p.notify.Remove(r.Context(), auth.From(r.Context()).Principal, id)
}

// getPush returns the key for subscriptions, and the browsers of the caller.
func (p *people) getPush(r *http.Request) (api.PushView, error) {
	if p.notify == nil {
		return api.PushView{Data: []api.Address{}}, nil
	}
	return p.notify.Push(r.Context(), auth.From(r.Context()).Principal)
}

// subscribePush adds a browser of the caller.
func (p *people) subscribePush(r *http.Request, body *api.PushBody) (api.Address, error) {
	caller := auth.From(r.Context())
	if err := p.checkReach(r.Context(), caller); err != nil {
		return api.Address{}, err
	}
	return p.notify.Subscribe(r.Context(), caller.Principal, body)
}

// listChannels returns the channels with their unsent messages.
func (p *people) listChannels(r *http.Request) (api.ChannelList, error) {
	if p.notify == nil {
		return api.ChannelList{Data: []api.Channel{}}, nil
	}
	return p.notify.Views(r.Context())
}

// testChannel sends a test message.
func (p *people) testChannel(r *http.Request, body *api.TestChannelBody) (api.ChannelTest, error) {
	return p.notify.Test(r.Context(), wire.PathID(r, "name"), body.Address)
}

// getQuietHours returns the caller's quiet hours.
func (p *people) getQuietHours(r *http.Request) (api.QuietHoursView, error) {
	if p.notify == nil {
		return api.QuietHoursView{}, nil
	}
	return p.notify.QuietHours(r.Context(), auth.From(r.Context()).Principal)
}

// setQuietHours sets the caller's quiet hours.
func (p *people) setQuietHours(r *http.Request, body *api.QuietHours) (api.QuietHoursView, error) {
	return p.notify.SetQuietHours(r.Context(), auth.From(r.Context()).Principal, body)
}

// clearQuietHours ends the caller's quiet hours.
func (p *people) clearQuietHours(r *http.Request) error {
	if p.notify == nil {
		return nil
	}
	return p.notify.ClearQuietHours(r.Context(), auth.From(r.Context()).Principal)
}

// setPresence records whether the caller is looking at their inbox, and at which request.
func (p *people) setPresence(w http.ResponseWriter, r *http.Request) error {
	var body api.PresenceBody
	if err := p.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	if viewing := body.Viewing; viewing != nil && *viewing != "" && !refusal.ValidID(*viewing) {
		return refusal.UnknownRequest(wire.Shown(*viewing))
	}
	if p.notify != nil {
		if err := p.notify.SetPresence(r.Context(), auth.From(r.Context()), &body); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
