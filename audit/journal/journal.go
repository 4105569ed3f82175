// Package journal is the audit's own log: what was changed about who may decide that is no event of a
// session, such as tokens, sign-ins and rules of all sessions (docs/audit.md). A line is written in
// the transaction of its change, without a number, so that nothing happens without it and nobody
// waits for others; [Seal] numbers the lines and ties them together afterwards.
//
// It must not know SQL, HTTP, or who signs the log.
package journal

import (
	"cmp"
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/chain"
)

// maxText is how many bytes of a text that somebody chose are kept in a line, which bounds it.
const maxText = 1000

// Entry is a line of the log, as it is stored.
type Entry struct {
	// ArrivalID is made by the database. It grows, with gaps.
	ArrivalID int64
	// EntryID is the number in the log, from 1 without gaps; 0 for a line that is not sealed.
	EntryID     int64
	TimestampMs int64
	Type        api.AuditEventType
	Actor       string
	// Body is the [api.AuditEvent].
	Body       api.JSON
	BodyDigest string
	// Prev and Hash are "" for a line that is not sealed.
	Prev string
	Hash string
}

// New returns a line that is not sealed. Long texts are cut.
func New(timestampMs int64, actor string, event api.AuditEvent) *Entry {
	event.Text, event.Reason, event.Host = cut(event.Text), cut(event.Reason), cut(event.Host)
	body, err := json.Marshal(event, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // texts and numbers have a JSON form, and one without escapes of the type
	}
	digest, err := chain.OwnBodyDigest(string(event.Type), body)
	if err != nil {
		panic(err) // as above
	}
	return &Entry{TimestampMs: timestampMs, Type: event.Type, Actor: cmp.Or(actor, api.ResolvedBySystem), Body: body, BodyDigest: digest}
}

// cut returns the beginning of a long text.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = text[:maxText]
	for len(text) > 0 && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// DigestOfBody returns the digest of the body as it is now. It returns an error for a body that is no
// JSON object.
func (e *Entry) DigestOfBody() (string, error) { return chain.BodyDigest(e.Body) }

// HashOf returns what the hash of the line must be.
func (e *Entry) HashOf() string {
	link := chain.Link{
		ID: strconv.FormatInt(e.EntryID, 10), Type: string(e.Type), TimestampMs: e.TimestampMs,
		Actor: e.Actor, BodyDigest: e.BodyDigest, Prev: e.Prev,
	}
	return link.Hash()
}

// follow puts a line behind another one, or at the beginning when that is zero.
func (e *Entry) follow(last *Entry) {
	e.EntryID, e.Prev = last.EntryID+1, last.Hash
	e.Hash = e.HashOf()
}

// View returns the line as /v1 shows it.
func (e *Entry) View() api.AuditEntry {
	return api.AuditEntry{
		ID: strconv.FormatInt(e.EntryID, 10), TimestampMs: e.TimestampMs, Actor: e.Actor,
		Event: e.Body, BodyDigest: e.BodyDigest, Prev: e.Prev, Hash: e.Hash,
	}
}

// Rows keeps the log. Every engine implements it. Its errors wrap runs.ErrUnavailable or
// runs.ErrClosed, or are the context's.
type Rows interface {
	// AddEntry writes a line about something that changes no other row.
	AddEntry(ctx context.Context, entry *Entry) error
	// PendingEntries returns lines that are not sealed, in the order of ArrivalID, at most limit.
	PendingEntries(ctx context.Context, limit int) ([]Entry, error)
	// LastEntry returns the newest sealed line, a zero one without any.
	LastEntry(ctx context.Context) (Entry, error)
	// SealEntries writes the numbers and hashes of lines that follow each other, in one
	// transaction. It leaves a line that is sealed, and one of which the line before it is not
	// the newest.
	SealEntries(ctx context.Context, entries []Entry) error
	// EntriesAfter returns sealed lines with a greater number, oldest first, at most limit.
	EntriesAfter(ctx context.Context, entryID int64, limit int) ([]Entry, error)
}

const (
	sealPage = 200
	// maxRounds bounds one call of Seal. What is left is sealed by the next one.
	maxRounds = 100
)

// Seal numbers all lines that were written until now and ties them together. Several replicas may do
// so at once. Errors: those of [Rows].
func Seal(ctx context.Context, rows Rows) error {
	for range maxRounds {
		pending, err := rows.PendingEntries(ctx, sealPage)
		if err != nil || len(pending) == 0 {
			return err
		}
		last, err := rows.LastEntry(ctx)
		if err != nil {
			return err
		}
		for i := range pending {
			pending[i].follow(&last)
			last = pending[i]
		}
		if err := rows.SealEntries(ctx, pending); err != nil {
			return err
		}
	}
	return nil
}
