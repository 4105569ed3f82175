package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Leases and delays of webhook deliveries (docs/webhooks.md#retries).
const (
	// WebhookLeaseMs is longer than an attempt.
	WebhookLeaseMs = 25_000
	// WebhookAttemptMs bounds an attempt, which makes several calls and reads. The rest of the lease is for recording
	// its result.
	WebhookAttemptMs = 18_000
	// MaxRetryAfterMs is the longest delay that an endpoint may ask for.
	MaxRetryAfterMs = 86_400_000
)

// webhookPausesMs has the delay after each failed attempt, before jitter: about three days in
// total. The attempt after the last delay is the final one.
var webhookPausesMs = []int64{
	5_000, 60_000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000, 5 * 3_600_000, 10 * 3_600_000, 14 * 3_600_000, 20 * 3_600_000, 24 * 3_600_000,
}

// firstNoticePauseMs takes the place of the first delay for messages to people: with its jitter it ends within 5 s.
const firstNoticePauseMs = 4_000

// MaxWebhookAttempts bounds the attempts of a delivery.
var MaxWebhookAttempts = int64(len(webhookPausesMs)) + 1

// WebhookEffectID returns the id of an event's delivery to a webhook. Ids for the same session
// and webhook sort in event order.
func WebhookEffectID(webhookID, sessionID string, eventID int64) string {
	session := sha256.Sum256([]byte(sessionID))
	return EffectID(api.EffectDeliverWebhook, fmt.Sprintf("%s:%019d:%s", webhookID, eventID, hex.EncodeToString(session[:8])))
}

// fanOutMark follows the first event's number in the id of a fan-out, so that it sorts before
// that event's delivery.
const fanOutMark = "-"

// FanOutEffectID returns the id of an effect that stands for the deliveries of an event, and of
// later ones, to a webhook.
func FanOutEffectID(webhookID, sessionID string, firstEventID int64) string {
	session := sha256.Sum256([]byte(sessionID))
	return EffectID(api.EffectDeliverWebhook, fmt.Sprintf("%s:%019d%s:%s", webhookID, firstEventID, fanOutMark, hex.EncodeToString(session[:8])))
}

// IsFanOut reports whether the id was made by [FanOutEffectID].
func IsFanOut(effectID string) bool {
	parts := strings.Split(effectID, ":")
	return len(parts) == 4 && parts[0] == string(api.EffectDeliverWebhook) && strings.HasSuffix(parts[2], fanOutMark)
}

// CallbackEffectID returns the id of the delivery of a request's outcome to its callback.
func CallbackEffectID(origin, handle string) string {
	return EffectID(api.EffectDeliverWebhook, api.CallbackWebhookID+":"+origin+":"+handle)
}

// CallbackHalf is the length of each half of a callback's origin. The first half identifies the
// owner, who raised the request; the second the host.
const CallbackHalf = 8

// CallbackOwner returns the owner's half of a callback's origin.
func CallbackOwner(origin string) string { return origin[:min(CallbackHalf, len(origin))] }

// CallbackOrigin returns the origin in an id made by [CallbackEffectID].
func CallbackOrigin(effectID string) (origin string, is bool) {
	rest, is := strings.CutPrefix(effectID, EffectID(api.EffectDeliverWebhook, api.CallbackWebhookID+":"))
	origin, _, _ = strings.Cut(rest, ":")
	return origin, is
}

// webhookPauseMs is the delay after a number of failed attempts. It varies by up to a fifth per
// delivery, so that deliveries which failed together are not retried together.
func (e *Effect) webhookPauseMs() int64 {
	pause := webhookPausesMs[min(max(e.Attempts-1, 0), int64(len(webhookPausesMs)-1))]
	if e.Kind == api.EffectNotify && e.Attempts <= 1 {
		pause = firstNoticePauseMs
	}
	drawn := sha256.Sum256(fmt.Appendf(nil, "%s %d", e.EffectID, e.Attempts))
	share := int64(drawn[0])<<8 | int64(drawn[1]) // of 65536
	return pause*4/5 + pause*2/5*share/65536
}
