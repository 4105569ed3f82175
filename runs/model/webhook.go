package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Leases and pauses of deliveries to webhooks (docs/webhooks.md#retries).
const (
	// WebhookLeaseMs is longer than a call to an endpoint may take.
	WebhookLeaseMs = 25_000
	// MaxRetryAfterMs is the longest pause that an endpoint may ask for.
	MaxRetryAfterMs = 86_400_000
)

// webhookPausesMs are the pauses after each failed attempt, before jitter: about three days
// together. The delivery fails with the attempt after the last one.
var webhookPausesMs = []int64{
	5_000, 60_000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000, 5 * 3_600_000, 10 * 3_600_000, 14 * 3_600_000, 20 * 3_600_000, 24 * 3_600_000,
}

// MaxWebhookAttempts bounds the attempts of a delivery.
var MaxWebhookAttempts = int64(len(webhookPausesMs)) + 1

// WebhookEffectID returns the id of the delivery of an event to a webhook. The ids of one session and
// webhook sort as the events do.
func WebhookEffectID(webhookID, sessionID string, eventID int64) string {
	session := sha256.Sum256([]byte(sessionID))
	return EffectID(api.EffectDeliverWebhook, fmt.Sprintf("%s:%019d:%s", webhookID, eventID, hex.EncodeToString(session[:8])))
}

// fanOutMark stands after the number of the first event of a fan-out, so that it sorts before the
// delivery of that event.
const fanOutMark = "-"

// FanOutEffectID returns the id of an effect that stands for the deliveries of an event and of later
// ones to a webhook.
func FanOutEffectID(webhookID, sessionID string, firstEventID int64) string {
	session := sha256.Sum256([]byte(sessionID))
	return EffectID(api.EffectDeliverWebhook, fmt.Sprintf("%s:%019d%s:%s", webhookID, firstEventID, fanOutMark, hex.EncodeToString(session[:8])))
}

// IsFanOut reports whether an id was made by [FanOutEffectID].
func IsFanOut(effectID string) bool {
	parts := strings.Split(effectID, ":")
	return len(parts) == 4 && parts[0] == string(api.EffectDeliverWebhook) && strings.HasSuffix(parts[2], fanOutMark)
}

// CallbackEffectID returns the id of the delivery of what became of a request to its callback.
func CallbackEffectID(origin, handle string) string {
	return EffectID(api.EffectDeliverWebhook, api.CallbackWebhookID+":"+origin+":"+handle)
}

// CallbackHalf is the length of each half of a callback's origin: the first identifies its owner, who
// raised the request, the second the host that is called.
const CallbackHalf = 8

// CallbackOwner returns the owner in the origin of a callback.
func CallbackOwner(origin string) string { return origin[:min(CallbackHalf, len(origin))] }

// CallbackOrigin returns the origin in an id that was made by [CallbackEffectID].
func CallbackOrigin(effectID string) (origin string, is bool) {
	rest, is := strings.CutPrefix(effectID, EffectID(api.EffectDeliverWebhook, api.CallbackWebhookID+":"))
	origin, _, _ = strings.Cut(rest, ":")
	return origin, is
}

// webhookPauseMs is the pause after a number of failed attempts. It differs by a fifth either way
// from one delivery to another, so that what failed together is not tried again together.
func (e *Effect) webhookPauseMs() int64 {
	pause := webhookPausesMs[min(max(e.Attempts-1, 0), int64(len(webhookPausesMs)-1))]
	drawn := sha256.Sum256(fmt.Appendf(nil, "%s %d", e.EffectID, e.Attempts))
	share := int64(drawn[0])<<8 | int64(drawn[1]) // of 65536
	return pause*4/5 + pause*2/5*share/65536
}
