package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits on the data held in memory.
const (
	sessionPage = 100
	eventPage   = 500
	// A checkpoint is at most about 300 kB.
	checkpointPage = 20
)

// Source is the store that an export reads.
type Source interface {
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)
	Sessions(ctx context.Context, q reads.SessionQuery) ([]model.SessionSummary, error)
	EventsWithin(ctx context.Context, q reads.EventQuery) (events []model.Event, more bool, err error)
}

// Sources are the inputs of an export.
type Sources struct {
	Log Source
	// Entries is the audit log; nil for none.
	Entries journal.Rows
	// Checkpoints are the log's checkpoints; nil for none.
	Checkpoints CheckpointRows
}

// Signer signs a payload for a purpose; see package signing.
type Signer interface {
	Sign(purpose string, payload []byte) (string, error)
}

// export is the state of one export.
type export struct {
	to      io.Writer
	digest  hash.Hash
	trailer trailer
	// all is the digest of all sessions together.
	all bool
	// nowMs is the time when the export began.
	nowMs int64
}

// Export writes the audit log (unless the scope is one session) and the events of the scope,
// between a signed first line and a signed last line. Sessions are ordered by id, and their events
// from the oldest. It holds one page of events in memory. It is not a snapshot of one moment:
// concurrent changes may or may not be included. now returns the time by the clock of the events.
//
// Errors: session_not_found, before anything is written; errors of the source, the clock and the writer,
// after which the output has no last line.
func Export(ctx context.Context, to io.Writer, sources Sources, signer Signer, scope Scope, now func(context.Context) (int64, error)) error {
	source := sources.Log
	var only *model.Session
	if scope.SessionID != "" {
		if !refusal.ValidID(scope.SessionID) {
			return refusal.UnknownSession(scope.SessionID)
		}
		var err error
		if only, err = source.SessionHead(ctx, scope.SessionID); err != nil {
			return err
		}
	}
	// Later checkpoints may name events that are not in the export.
	last, err := sources.last(ctx)
	if err != nil {
		return err
	}
	nowMs, err := now(ctx)
	if err != nil {
		return err
	}
	e := &export{to: to, digest: sha256.New(), all: scope.SessionID == "", nowMs: nowMs}
	if err := e.sign(signer, headerPurpose, header{Format: format, AtMs: nowMs, Scope: scope}, func(signed string) line { return line{Header: signed} }); err != nil {
		return err
	}
	if scope.SessionID != "" {
		if err := e.chain(ctx, source, only, scope.SinceMs); err != nil {
			return err
		}
	}
	if scope.SessionID == "" && sources.Entries != nil {
		if err := e.log(ctx, sources.Entries, scope.SinceMs); err != nil {
			return err
		}
	}
	for after, more := "", scope.SessionID == ""; more; {
		sessions, err := source.Sessions(ctx, reads.SessionQuery{After: after, Limit: sessionPage})
		if err != nil {
			return err
		}
		for i := range sessions {
			after = sessions[i].Session.SessionID
			if sessions[i].Session.UpdatedAtMs < scope.SinceMs {
				continue
			}
			if err := e.chain(ctx, source, &sessions[i].Session, scope.SinceMs); err != nil {
				return err
			}
		}
		more = len(sessions) == sessionPage
	}
	if err := e.checkpoints(ctx, sources.Checkpoints, scope, last); err != nil {
		return err
	}
	if e.trailer.EndMs, err = now(ctx); err != nil {
		return err
	}
	e.trailer.AtMs, e.trailer.Digest = nowMs, hex.EncodeToString(e.digest.Sum(nil))
	return e.sign(signer, trailerPurpose, e.trailer, func(signed string) line { return line{Trailer: signed} })
}

// log writes the entries of the audit log, starting with the first one at or after a time.
func (e *export) log(ctx context.Context, rows journal.Rows, sinceMs int64) error {
	if err := journal.Seal(ctx, rows); err != nil {
		return err
	}
	var last journal.Entry
	begun := false
	begin := func() error {
		begun = true
		return e.write(line{Chain: &chainLine{AfterID: strconv.FormatInt(last.EntryID, 10), AfterHash: last.Hash}})
	}
	for {
		page, err := rows.EntriesAfter(ctx, last.EntryID, eventPage)
		if err != nil {
			return err
		}
		for i := range page {
			if !begun && page[i].TimestampMs >= sinceMs {
				if err := begin(); err != nil {
					return err
				}
			}
			last = page[i]
			if !begun {
				continue
			}
			e.trailer.Entries++
			if err := e.write(last.View()); err != nil {
				return err
			}
		}
		if len(page) < eventPage {
			break
		}
	}
	if !begun {
		if err := begin(); err != nil {
			return err
		}
	}
	return e.write(line{End: &endLine{LastID: strconv.FormatInt(last.EntryID, 10), LastHash: last.Hash}})
}

// chain writes the events of one session, if any are in the scope.
func (e *export) chain(ctx context.Context, source Source, session *model.Session, sinceMs int64) error {
	begun, young, sessionID, life := false, false, session.SessionID, session.Life
	end := endLine{SessionID: sessionID}
	for after, more := int64(0), true; more; {
		events, another, err := source.EventsWithin(ctx, reads.EventQuery{SessionID: sessionID, After: after, Limit: eventPage, MaxBytes: api.MaxReplyBytes})
		if after == 0 && e.all && refusal.CodeOf(err) == api.CodeSessionNotFound {
			return nil // deleted since it was listed
		}
		if err != nil {
			return err
		}
		more = another && len(events) > 0
		for i := range events {
			event := &events[i]
			if after = event.EventID; after == 1 {
				// The row's life stays for an event whose hash was taken away.
				life, young = cmp.Or(event.Hash(), life), event.TimestampMs > e.nowMs
			}
			if !begun && event.TimestampMs < sinceMs {
				continue
			}
			if !begun {
				begun = true
				e.trailer.Chains++
				begin := chainLine{
					SessionID: sessionID, AfterID: strconv.FormatInt(event.EventID-1, 10), AfterHash: event.Prev, Life: life, Young: young,
				}
				if err := e.write(line{Chain: &begin}); err != nil {
					return err
				}
			}
			e.trailer.Events++
			if err := e.write(event.Entry()); err != nil {
				return err
			}
			end.LastID, end.LastHash = strconv.FormatInt(event.EventID, 10), event.Hash()
		}
	}
	if !begun {
		if sinceMs != 0 || session.LastEventID == 0 {
			return nil
		}
		// Retention has deleted its events and kept the session.
		end.LastID, end.LastHash = strconv.FormatInt(session.LastEventID, 10), session.LastEventHash
		e.trailer.Chains++
		if err := e.write(line{Chain: &chainLine{SessionID: sessionID, AfterID: end.LastID, AfterHash: end.LastHash, Life: life}}); err != nil {
			return err
		}
	}
	return e.write(line{End: &end})
}

func (s *Sources) last(ctx context.Context) (int64, error) {
	if s.Checkpoints == nil {
		return 0, nil
	}
	last, _, err := s.Checkpoints.LastCheckpoint(ctx)
	return last.Number, err
}

// checkpoints writes the checkpoints up to a number: for one session those that name it, with a
// start time those made then or later.
func (e *export) checkpoints(ctx context.Context, kept CheckpointRows, scope Scope, last int64) error {
	named := []byte(strconv.Quote(chainOf(scope.SessionID)) + ":")
	begun := false
	for number := int64(0); number < last; {
		page, err := kept.CheckpointsAfter(ctx, number, checkpointPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return fmt.Errorf("%w: checkpoint %d is not there", runs.ErrUnavailable, last)
		}
		for _, one := range page {
			if number = one.Number; number > last {
				return nil
			}
			payload, atMs := payloadOf(one.Signed)
			begun = begun || atMs >= scope.SinceMs || payload == nil
			if !begun || scope.SessionID != "" && !bytes.Contains(payload, named) {
				continue
			}
			e.trailer.Checkpoints++
			if err := e.write(line{Checkpoint: one.Signed}); err != nil {
				return err
			}
		}
	}
	return nil
}

// payloadOf returns the payload of a JWS without verifying it.
func payloadOf(signed string) (payload []byte, atMs int64) {
	_, rest, _ := strings.Cut(signed, ".")
	text, _, _ := strings.Cut(rest, ".")
	payload, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, 0
	}
	var dated struct {
		AtMs int64 `json:"at_ms"`
	}
	_ = json.Unmarshal(payload, &dated) // an unreadable checkpoint is exported, and verification reports it
	return payload, dated.AtMs
}

// write writes one line and counts it for the last line.
func (e *export) write(document any) error {
	text, err := json.Marshal(document, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	text = append(text, '\n')
	e.trailer.Lines++
	e.digest.Write(text) // a hash returns no error
	_, err = e.to.Write(text)
	return err
}

func (e *export) sign(signer Signer, purpose string, payload any, lineOf func(signed string) line) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode what is signed: %w", err)
	}
	signed, err := signer.Sign(purpose, text)
	if err != nil {
		return err
	}
	return e.write(lineOf(signed))
}
