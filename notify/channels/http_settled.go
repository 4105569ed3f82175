package channels

import (
	"context"
	"errors"
	"text/template"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// settlingHTTP is an HTTP channel that tells its receiver when the request of a message is settled.
type settlingHTTP struct {
	*httpChannel
	body *template.Template
}

const newerFollows = "A newer message follows"

// newerMessage returns the text that takes the place of a message that cannot be removed.
func newerMessage() *notify.Message {
	return &notify.Message{Kind: notify.KindSettled, Subject: newerFollows, Body: newerFollows + ".\n", Text: newerFollows + ".\n"}
}

var _ notify.Withdrawer = (*settlingHTTP)(nil)

// httpOrSettling returns an HTTP channel, with a Withdraw if there is a settled_body.
func (c *channel) httpOrSettling(folder string, client *egress.Client) (notify.Channel, error) {
	made, err := c.http(folder, client)
	if err != nil || c.SettledBody == "" {
		return made, err
	}
	body, err := parsed("settled_body", c.SettledBody)
	if err != nil {
		return nil, err
	}
	return &settlingHTTP{httpChannel: made, body: body}, made.check(body)
}

// Withdraw implements notify.Withdrawer. The template has the ID of the message that m takes the place of, by which the receiver
// finds it, and the request has another Idempotency-Key: with the same one, a receiver would drop it as a repetition.
func (c *settlingHTTP) Withdraw(ctx context.Context, address string, sent *notify.SentMessage, m *notify.Message) error {
	if address == "" {
		return nil // the address was a part of where the message went
	}
	key := "settled " + sent.MessageID
	if m == nil {
		m, key = newerMessage(), "replaced "+sent.MessageID
	}
	shown := *m
	shown.ID = sent.MessageID
	if c.links == api.LinkNone {
		shown.Link, shown.Text = "", shown.Body
	}
	to, header, body, err := c.request(address, c.body, &shown)
	if err != nil {
		return errUnfilled
	}
	header.Set(idempotencyKey, idOf(key))
	if err = c.call(ctx, to, header, body); errors.Is(err, notify.ErrPermanent) {
		return nil // 404 or 410: the message, or where it went, is gone
	}
	return err
}
