package deliver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// deliver attempts one delivery.
func (d *Deliverer) deliver(ctx context.Context, e *webhooks.Endpoint, due reads.DueEffect) result {
	if !model.IsFanOut(due.EffectID) {
		return d.attemptDelivery(ctx, due, func(ctx context.Context, effect *model.Effect) attempt { return d.try(ctx, e, effect) })
	}
	if _, err := d.store.Do(ctx, &runs.FanOutDeliveries{SessionID: due.SessionID, EffectID: due.EffectID}); err != nil {
		breathe(ctx)
		return result{due: due, unclaimed: refusal.CodeOf(err) == ""}
	}
	failpoint.Hit("webhooks.fanned_out")
	return result{due: due}
}

// try posts the message of a claimed effect.
func (d *Deliverer) try(ctx context.Context, e *webhooks.Endpoint, effect *model.Effect) attempt {
	eventID, err := model.WebhookEvent(effect)
	if err != nil {
		return attempt{failure: err, permanent: true}
	}
	events, _, err := d.store.EventsWithin(ctx, reads.EventQuery{SessionID: effect.SessionID, After: eventID - 1, Kept: true, Limit: 1, MaxBytes: api.MaxReplyBytes})
	switch {
	case refusal.CodeOf(err) != "" || err == nil && (len(events) == 0 || events[0].EventID != eventID):
		return attempt{failure: errors.New("the event is no longer kept"), permanent: true}
	case err != nil:
		return attempt{failure: err}
	}
	m, err := d.messageOf(e, &events[0])
	if err != nil {
		return attempt{failure: err}
	}
	answer, err := d.post(ctx, e, m)
	if err == nil && answer.Status == http.StatusGone {
		switch disabled, err := d.options.Manager.Disable(ctx, e, webhooks.ReasonGone); {
		case err != nil:
			return attempt{failure: fmt.Errorf("status 410, but the webhook could not be disabled: %w", err)}
		case !disabled:
			return attempt{failure: errors.New("status 410, and the webhook was changed meanwhile")}
		}
		return attempt{failure: errors.New("status 410: the endpoint is gone, and the webhook is disabled"), permanent: true, goneMs: e.UpdatedAtMs}
	}
	return answered(answer, err, d.options.Manager.NowMs())
}

// post signs a message and sends it to an endpoint.
func (d *Deliverer) post(ctx context.Context, e *webhooks.Endpoint, m *message) (egress.Answer, error) {
	header, err := d.signed(e, m, d.options.Manager.NowMs())
	if err != nil {
		return egress.Answer{}, err
	}
	answer, err := d.options.Client.Post(ctx, e.Settings.URL, header, m.body)
	if err == nil {
		failpoint.Hit("webhooks.posted")
	}
	return answer, err
}

// Test posts an event of type [TypeTest] to an endpoint once, even if it is disabled, and
// returns the result. newID returns the message's id.
func (d *Deliverer) Test(ctx context.Context, e *webhooks.Endpoint, newID func(prefix string) string) (api.WebhookTest, error) {
	began := time.Now() //nolint:forbidigo // a span of this process
	m, err := d.shape(e, occurrence{
		id: newID("msg"), eventType: TypeTest, atMs: d.options.Manager.NowMs(), source: "/v1/webhooks/" + e.WebhookID, subject: e.WebhookID,
		data: struct {
			WebhookID string `json:"webhook_id"`
		}{e.WebhookID},
	})
	if err != nil {
		return api.WebhookTest{}, err
	}
	if _, err := d.signed(e, m, d.options.Manager.NowMs()); err != nil {
		return api.WebhookTest{}, err
	}
	answer, err := d.post(ctx, e, m)
	result := api.WebhookTest{MessageID: m.id, Status: int64(answer.Status), Delivered: err == nil && answer.Taken()}
	switch {
	case err != nil:
		result.Error = err.Error()
	case !result.Delivered:
		result.Error = fmt.Sprintf("status %d", answer.Status)
	}
	result.DurationMs = time.Since(began).Milliseconds() //nolint:forbidigo // as above
	return result, nil
}
