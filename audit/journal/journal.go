// Package journal is the audit log: changes to who may decide that are not events of a session,
// such as tokens, sign-ins and rules for all sessions (docs/audit.md). An entry is written without
// a number in the transaction of its change, so no change goes unrecorded and transactions do not
// wait for each other. [Seal] numbers and chains the entries afterwards.
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

// maxText is how many bytes of a caller's text an entry keeps, which bounds its size.
const maxText = 1000

// Entry is a stored entry of the log.
type Entry struct {
	// ArrivalID is assigned by the database. It grows, with gaps.
	ArrivalID int64
	// EntryID is the entry's number, from 1 without gaps; 0 before it is sealed.
	EntryID     int64
	TimestampMs int64
	Type        api.AuditEventType
	Actor       string
	// Body is an [api.AuditEvent].
	Body       api.JSON
	BodyDigest string
	// Prev and Hash are "" before the entry is sealed.
	Prev string
	Hash string
	// Caller, unless it is nil, has the authority for the change. It is not stored: the transaction is
	// refused with invalid_token if the credential does not work any more.
	Caller *Caller
}

// Caller is the credential of the caller who makes a change.
type Caller struct {
	TokenID string
	// SecretHash is the hash of the presented secret, "" for a sign-in or an assertion of the token.
	SecretHash string
	// CookieHash is the hash of a signed-in browser's cookie, "" for other callers.
	CookieHash string
}

// New returns an unsealed entry. Long texts are truncated.
func New(timestampMs int64, actor string, event api.AuditEvent) *Entry {
	event.Text, event.Reason, event.Host = cut(event.Text), cut(event.Reason), cut(event.Host)
	body, err := json.Marshal(event, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // strings and numbers always encode, and the type needs no escapes
	}
	digest, err := chain.OwnBodyDigest(string(event.Type), body)
	if err != nil {
		panic(err) // as above
	}
	return &Entry{TimestampMs: timestampMs, Type: event.Type, Actor: cmp.Or(actor, api.ResolvedBySystem), Body: body, BodyDigest: digest}
}

// cut truncates a long text.
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

// DigestOfBody returns the digest of the current body. It returns an error for a body that is not a
// JSON object.
func (e *Entry) DigestOfBody() (string, error) { return chain.BodyDigest(e.Body) }

// HashOf returns the expected hash of the entry.
func (e *Entry) HashOf() string {
	link := chain.Link{
		ID: strconv.FormatInt(e.EntryID, 10), Type: string(e.Type), TimestampMs: e.TimestampMs,
		Actor: e.Actor, BodyDigest: e.BodyDigest, Prev: e.Prev,
	}
	return link.Hash()
}

// follow links an entry to the previous one. A zero previous entry makes it the first.
func (e *Entry) follow(last *Entry) {
	e.EntryID, e.Prev = last.EntryID+1, last.Hash
	e.Hash = e.HashOf()
}

// View returns the entry as /v1 shows it.
func (e *Entry) View() api.AuditEntry {
	return api.AuditEntry{
		ID: strconv.FormatInt(e.EntryID, 10), TimestampMs: e.TimestampMs, Actor: e.Actor,
		Event: e.Body, BodyDigest: e.BodyDigest, Prev: e.Prev, Hash: e.Hash,
	}
}

// Rows stores the log. Every engine implements it. Its errors wrap runs.ErrUnavailable or
// runs.ErrClosed, or are the context's.
type Rows interface {
	// AddEntry inserts an entry for a change that has no other row.
	AddEntry(ctx context.Context, entry *Entry) error
	// PendingEntries returns unsealed entries in the order of ArrivalID, at most limit.
	PendingEntries(ctx context.Context, limit int) ([]Entry, error)
	// LastEntry returns the newest sealed entry, or a zero entry.
	LastEntry(ctx context.Context) (Entry, error)
	// SealEntries stores the numbers and hashes of consecutive entries in one transaction. It skips
	// entries that are already sealed, or whose predecessor is not the newest entry.
	SealEntries(ctx context.Context, entries []Entry) error
	// EntriesAfter returns sealed entries with a greater number, oldest first, at most limit.
	EntriesAfter(ctx context.Context, entryID int64, limit int) ([]Entry, error)
}

const (
	sealPage = 200
	// maxRounds limits one call of Seal. The next call seals the rest.
	maxRounds = 100
)

// Seal numbers and chains all entries written so far. Several replicas may call it at once. Errors:
// errors of [Rows].
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
