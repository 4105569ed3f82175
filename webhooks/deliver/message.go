package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/webhooks"
)

// TypeTest is the type of [Deliverer.Test]'s message.
const TypeTest = "webhook.test"

// message is a message before it is signed.
type message struct {
	id          string
	contentType string
	body        []byte
}

// standardBody is the body proposed by Standard Webhooks.
type standardBody struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// cloudEvent is a CloudEvents 1.0 event in structured JSON.
type cloudEvent struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject,omitempty"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	Data            any    `json:"data"`
}

// leftOut replaces an event that is too long to be posted.
type leftOut struct {
	Type      string `json:"type"`
	Truncated bool   `json:"truncated"`
	Bytes     int    `json:"bytes"`
	Digest    string `json:"digest"`
	// URL is where the event can be read; only a path if the service does not know its
	// public URL.
	URL string `json:"url"`
}

// messageOf returns the message about an event, the same for each attempt.
func (d *Deliverer) messageOf(e *webhooks.Endpoint, event *model.Event) (*message, error) {
	id := messageID(event)
	entry := event.Entry()
	for {
		made, err := d.shape(e, occurrence{
			id: id, eventType: string(event.Type), atMs: event.TimestampMs,
			source: "/v1/sessions/" + url.PathEscape(event.SessionID), subject: event.RunID, data: entry,
		})
		if err != nil || len(made.body) <= api.MaxWebhookBody {
			return made, err
		}
		digest := sha256.Sum256(event.Body)
		entry.Event = document.Encode(leftOut{
			Type: string(event.Type), Truncated: true, Bytes: len(event.Body), Digest: "sha256:" + hex.EncodeToString(digest[:]),
			URL: d.options.ExternalURL + "/v1/sessions/" + url.PathEscape(event.SessionID) + "/events?limit=1&after=" + strconv.FormatInt(event.EventID-1, 10),
		})
	}
}

// messageID is the same for each attempt and each endpoint. A session that was deleted and
// created again gets different ids, because an event's hash covers its time and all events
// before it.
func messageID(event *model.Event) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", event.SessionID, event.EventID, event.TimestampMs, event.Hash()))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// occurrence is what a message is about.
type occurrence struct {
	id        string // of the message
	eventType string
	atMs      int64
	source    string // the path of its resource, relative to the service's URL
	subject   string // the subject within the source, empty for none
	data      any
}

// shape returns the message in the endpoint's format.
func (d *Deliverer) shape(e *webhooks.Endpoint, about occurrence) (*message, error) {
	made := &message{id: about.id, contentType: "application/json"}
	var body any = standardBody{about.eventType, timeText(about.atMs), about.data}
	if e.Settings.Format == api.WebhookCloudEvents {
		made.contentType = "application/cloudevents+json"
		body = cloudEvent{
			SpecVersion: "1.0", ID: about.id, Source: d.options.ExternalURL + about.source, Type: "holdpoint." + about.eventType,
			Subject: about.subject, Time: timeText(about.atMs), DataContentType: "application/json", Data: about.data,
		}
	}
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("the body of a delivery: %w", err)
	}
	made.body = text
	return made, nil
}

// signed returns the headers of a message sent at the given time.
func (d *Deliverer) signed(e *webhooks.Endpoint, m *message, nowMs int64) (http.Header, error) {
	secrets, err := d.options.Manager.Secrets(e, nowMs)
	if err != nil {
		return nil, err
	}
	signature, err := webhooks.Sign(m.id, nowMs/1000, m.body, secrets...)
	if err != nil {
		return nil, err
	}
	return m.header(nowMs/1000, signature), nil
}

// timeText formats a time as RFC 3339 in UTC with milliseconds.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// header returns the headers of a signed message.
func (m *message) header(atSeconds int64, signature string) http.Header {
	header := http.Header{}
	header.Set("Content-Type", m.contentType)
	header.Set("User-Agent", "holdpoint")
	// Spelled as in the specification; HTTP ignores case.
	header.Set("Webhook-Id", m.id)
	header.Set("Webhook-Timestamp", strconv.FormatInt(atSeconds, 10))
	header.Set("Webhook-Signature", signature)
	return header
}
