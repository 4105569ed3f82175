package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The bounds of what is in memory at a time.
const (
	sessionPage = 100
	eventPage   = 500
)

// Source is what an export reads.
type Source interface {
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)
	Sessions(ctx context.Context, q runs.SessionQuery) ([]model.SessionSummary, error)
	EventsWithin(ctx context.Context, q runs.EventQuery) (events []model.Event, more bool, err error)
}

// Signer signs a payload for a purpose; see package signing.
type Signer interface {
	Sign(purpose string, payload []byte) (string, error)
}

// export is what is written of one.
type export struct {
	to      io.Writer
	digest  hash.Hash
	trailer trailer
	// all is that of more than one session.
	all bool
}

// Export writes the events of a scope, session by session in the order of their ids and each from
// its oldest event on, between a signed first and a signed last line. It holds one page of events
// in memory, and is as of no single moment: what happens meanwhile may or may not be in it. nowMs is
// the present moment.
//
// Errors: session_not_found, before anything is written; those of the source and the writer, after
// which what was written has no last line.
func Export(ctx context.Context, to io.Writer, source Source, signer Signer, scope Scope, nowMs int64) error {
	if scope.SessionID != "" {
		if !refusal.ValidID(scope.SessionID) {
			return refusal.UnknownSession(scope.SessionID)
		}
		if _, err := source.SessionHead(ctx, scope.SessionID); err != nil {
			return err
		}
	}
	e := &export{to: to, digest: sha256.New(), all: scope.SessionID == ""}
	if err := e.sign(signer, headerPurpose, header{Format: format, AtMs: nowMs, Scope: scope}, func(signed string) line { return line{Header: signed} }); err != nil {
		return err
	}
	if scope.SessionID != "" {
		if err := e.chain(ctx, source, scope.SessionID, scope.SinceMs); err != nil {
			return err
		}
	}
	for after, more := "", scope.SessionID == ""; more; {
		sessions, err := source.Sessions(ctx, runs.SessionQuery{After: after, Limit: sessionPage})
		if err != nil {
			return err
		}
		for i := range sessions {
			after = sessions[i].Session.SessionID
			if sessions[i].Session.UpdatedAtMs < scope.SinceMs {
				continue
			}
			if err := e.chain(ctx, source, after, scope.SinceMs); err != nil {
				return err
			}
		}
		more = len(sessions) == sessionPage
	}
	e.trailer.AtMs, e.trailer.Digest = nowMs, hex.EncodeToString(e.digest.Sum(nil))
	return e.sign(signer, trailerPurpose, e.trailer, func(signed string) line { return line{Trailer: signed} })
}

// chain writes the events of one session, if there are any in the scope.
func (e *export) chain(ctx context.Context, source Source, sessionID string, sinceMs int64) error {
	begun := false
	end := endLine{SessionID: sessionID}
	for after, more := int64(0), true; more; {
		events, another, err := source.EventsWithin(ctx, runs.EventQuery{SessionID: sessionID, After: after, Limit: eventPage, MaxBytes: api.MaxReplyBytes})
		if after == 0 && e.all && refusal.CodeOf(err) == api.CodeSessionNotFound {
			return nil // it was deleted since it was listed
		}
		if err != nil {
			return err
		}
		more = another && len(events) > 0
		for i := range events {
			event := &events[i]
			after = event.EventID
			if !begun && event.TimestampMs < sinceMs {
				continue
			}
			if !begun {
				begun = true
				e.trailer.Chains++
				begin := chainLine{SessionID: sessionID, AfterID: strconv.FormatInt(event.EventID-1, 10), AfterHash: event.Prev}
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
		return nil
	}
	return e.write(line{End: &end})
}

// write writes one line, which counts in the last one.
func (e *export) write(document any) error {
	text, err := json.Marshal(document, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	text = append(text, '\n')
	e.trailer.Lines++
	e.digest.Write(text) // it returns no error
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
