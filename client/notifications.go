package client

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
)

// ListAddresses returns the addresses at which the caller is notified, oldest first. Errors:
// [ErrForbidden].
func (c *Client) ListAddresses(ctx context.Context) (*api.AddressList, error) {
	return get[api.AddressList](ctx, c, at("/v1/me/addresses"), nil, "data", "channels")
}

// AddAddress adds an address of the caller, or for an admin one of another person, and sends a code to it. It is
// never retried. Errors: [ErrInvalid]; [ErrForbidden].
func (c *Client) AddAddress(ctx context.Context, body api.AddressBody) (*api.Address, error) {
	return post[api.Address](ctx, c, at("/v1/me/addresses"), body, never, "address_id")
}

// VerifyAddress verifies an address by its code. Errors: [ErrNotFound]; [ErrForbidden], also for a
// wrong code.
func (c *Client) VerifyAddress(ctx context.Context, addressID, code string) (*api.Address, error) {
	return post[api.Address](ctx, c, at("/v1/me/addresses", addressID, "verify"), api.VerifyAddressBody{Code: code}, never, "address_id")
}

// RemoveAddress deletes an address. Errors: [ErrNotFound]; [ErrForbidden].
func (c *Client) RemoveAddress(ctx context.Context, addressID string) error {
	return c.remove(ctx, at("/v1/me/addresses", addressID), never)
}

// GetQuietHours returns the times at which the caller gets no messages. Errors: [ErrForbidden].
func (c *Client) GetQuietHours(ctx context.Context) (*api.QuietHoursView, error) {
	return get[api.QuietHoursView](ctx, c, at("/v1/me/quiet-hours"), nil)
}

// SetQuietHours sets the times at which the caller gets no messages. Errors: [ErrInvalid];
// [ErrForbidden].
func (c *Client) SetQuietHours(ctx context.Context, hours api.QuietHours) (*api.QuietHoursView, error) {
	return document[api.QuietHoursView](ctx, c, call{
		method: http.MethodPut, path: at("/v1/me/quiet-hours"), body: hours, repeat: always, needs: []string{"quiet_hours"},
	})
}

// ClearQuietHours ends the caller's quiet hours. Errors: [ErrForbidden].
func (c *Client) ClearQuietHours(ctx context.Context) error {
	return c.remove(ctx, at("/v1/me/quiet-hours"), always)
}

// SetPresence says whether the caller is looking at their inbox, and at which request. It counts for [api.PresenceMs].
// Errors: [ErrForbidden]; [ErrNotFound] for the request.
func (c *Client) SetPresence(ctx context.Context, body api.PresenceBody) error {
	_, err := c.do(ctx, call{method: http.MethodPut, path: at("/v1/me/presence"), body: body, repeat: always})
	return err
}

// GetPush returns the key with which browsers subscribe to notifications, and the caller's browsers.
// Errors: [ErrForbidden].
func (c *Client) GetPush(ctx context.Context) (*api.PushView, error) {
	return get[api.PushView](ctx, c, at("/v1/me/push"), nil, "data")
}

// SubscribePush adds a browser of the caller. A repeated call changes nothing. [Client.RemoveAddress]
// removes it. Errors: [ErrInvalid]; [ErrForbidden].
func (c *Client) SubscribePush(ctx context.Context, body api.PushBody) (*api.Address, error) {
	return post[api.Address](ctx, c, at("/v1/me/push"), body, always, "address_id")
}

// ListChannels returns the configured channels for notifications. Errors: [ErrForbidden].
func (c *Client) ListChannels(ctx context.Context) (*api.ChannelList, error) {
	return get[api.ChannelList](ctx, c, at("/v1/channels"), nil, "data")
}

// TestChannel sends one test message and returns the result. Errors: [ErrNotFound]; [ErrInvalid];
// [ErrForbidden].
func (c *Client) TestChannel(ctx context.Context, name, address string) (*api.ChannelTest, error) {
	return post[api.ChannelTest](ctx, c, at("/v1/channels", name, "test"), api.TestChannelBody{Address: address}, never, "delivered")
}
