// Package people serves the caller's own addresses, browsers, quiet hours and presence, and the channels that
// messages take. It knows no requests: package notify decides who is told of what.
package people

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// people has the handlers. notify is nil where the service sends no notifications.
type people struct {
	notify *notify.Service
	bodies *wire.Bodies
}

// Routes returns the routes. service is nil where no notifications are sent.
func Routes(service *notify.Service, bodies *wire.Bodies) []wire.Route {
	p := &people{service, bodies}
	return []wire.Route{
		// Only deciders are notified, so only they may have messages sent.
		wire.Get("/v1/me/addresses", auth.Decide, p.listAddresses),
		wire.Post("/v1/me/addresses", auth.Decide, p.notifying(api.CodeChannelUnknown, p.addAddress)),
		wire.Post("/v1/me/addresses/{address_id}/verify", auth.Decide, p.notifying(api.CodeAddressNotFound, p.verifyAddress)),
		wire.Delete("/v1/me/addresses/{address_id}", auth.Decide, p.notifying(api.CodeAddressNotFound, p.removeAddress)),
		wire.Get("/v1/me/quiet-hours", auth.Decide, p.getQuietHours),
		wire.Put("/v1/me/quiet-hours", auth.Decide, p.notifying(api.CodeChannelUnknown, p.setQuietHours)),
		wire.Delete("/v1/me/quiet-hours", auth.Decide, p.clearQuietHours),
		wire.Put("/v1/me/presence", auth.Decide, p.setPresence),
		wire.Get("/v1/me/push", auth.Decide, p.getPush),
		wire.Post("/v1/me/push", auth.Decide, p.notifying(api.CodeChannelUnknown, p.subscribePush)),
		wire.Get("/v1/channels", auth.Administer, p.listChannels),
		wire.Post("/v1/channels/{name}/test", auth.Administer, p.notifying(api.CodeChannelNotFound, p.testChannel)),
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
func (p *people) listAddresses(w http.ResponseWriter, r *http.Request) error {
	if p.notify == nil {
		return wire.Respond(w, r, http.StatusOK, api.AddressList{Data: []api.Address{}, Channels: []api.AddressChannel{}})
	}
	list, err := p.notify.List(r.Context(), auth.From(r.Context()).Principal)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, list)
}

// addAddress adds an address of the caller, or for an admin one of another person, and sends a code to it.
func (p *people) addAddress(w http.ResponseWriter, r *http.Request) error {
	var body api.AddressBody
	if err := p.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	caller := auth.From(r.Context())
	if body.Principal != "" && body.Principal != caller.Principal {
		if err := caller.Check(auth.Administer); err != nil {
			return err
		}
	}
	added, err := p.notify.Add(r.Context(), caller.Principal, &body)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusCreated, added)
}

// verifyAddress verifies an address of the caller by its code.
func (p *people) verifyAddress(w http.ResponseWriter, r *http.Request) error {
	var body api.VerifyAddressBody
	if err := p.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	verified, err := p.notify.Verify(r.Context(), auth.From(r.Context()).Principal, wire.PathID(r, "address_id"), body.Code)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, verified)
}

// removeAddress deletes an address of the caller.
func (p *people) removeAddress(w http.ResponseWriter, r *http.Request) error {
	id := wire.PathID(r, "address_id")
	if !refusal.ValidID(id) {
		return refusal.New(api.CodeAddressNotFound, "you have no such address")
	}
	if err := p.notify.Remove(r.Context(), auth.From(r.Context()).Principal, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getPush returns the key for subscriptions, and the browsers of the caller.
func (p *people) getPush(w http.ResponseWriter, r *http.Request) error {
	if p.notify == nil {
		return wire.Respond(w, r, http.StatusOK, api.PushView{Data: []api.Address{}})
	}
	view, err := p.notify.Push(r.Context(), auth.From(r.Context()).Principal)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, view)
}

// subscribePush adds a browser of the caller.
func (p *people) subscribePush(w http.ResponseWriter, r *http.Request) error {
	var body api.PushBody
	if err := p.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	added, err := p.notify.Subscribe(r.Context(), auth.From(r.Context()).Principal, &body)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusCreated, added)
}

// listChannels returns the channels with their unsent messages.
func (p *people) listChannels(w http.ResponseWriter, r *http.Request) error {
	if p.notify == nil {
		return wire.Respond(w, r, http.StatusOK, api.ChannelList{Data: []api.Channel{}})
	}
	list, err := p.notify.Views(r.Context())
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, list)
}

// testChannel sends a test message.
func (p *people) testChannel(w http.ResponseWriter, r *http.Request) error {
	var body api.TestChannelBody
	if err := p.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	tested, err := p.notify.Test(r.Context(), wire.PathID(r, "name"), body.Address)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, tested)
}

// getQuietHours returns the caller's quiet hours.
func (p *people) getQuietHours(w http.ResponseWriter, r *http.Request) error {
	if p.notify == nil {
		return wire.Respond(w, r, http.StatusOK, api.QuietHoursView{})
	}
	view, err := p.notify.QuietHours(r.Context(), auth.From(r.Context()).Principal)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, view)
}

// setQuietHours sets the caller's quiet hours.
func (p *people) setQuietHours(w http.ResponseWriter, r *http.Request) error {
	var body api.QuietHours
	if err := p.bodies.Decode(w, r, &body, nil); err != nil {
		return err
	}
	view, err := p.notify.SetQuietHours(r.Context(), auth.From(r.Context()).Principal, &body)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, view)
}

// clearQuietHours ends the caller's quiet hours.
func (p *people) clearQuietHours(w http.ResponseWriter, r *http.Request) error {
	if p.notify != nil {
		if err := p.notify.ClearQuietHours(r.Context(), auth.From(r.Context()).Principal); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
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
