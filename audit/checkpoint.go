package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs"
)

// checkpointPurpose is that for which a checkpoint is signed.
const checkpointPurpose = "holdpoint-audit-checkpoint+jws"

const (
	// headsPerCheckpoint bounds a checkpoint: what moved besides is in the next one.
	headsPerCheckpoint = 1000
	// linesPerRound and roundInterval say when what moved is signed: after so many events of this
	// process, looked at every lookInterval, or after so long.
	linesPerRound = 1000
	roundInterval = 10 * time.Minute
	lookInterval  = 10 * time.Second
	// overlap is how long before the last round a decision may have been made that was committed
	// after it.
	overlap = time.Minute
	// maxMoved bounds the sessions that a process remembers to have moved. Beyond it, all are read.
	maxMoved = 100_000
	// maxTries bounds how often a checkpoint is signed anew because another replica was faster.
	maxTries = 5
)

// Head is the newest event of a session.
type Head struct {
	SessionID string
	EventID   int64
	Hash      string
	// Life is the hash of the session's first event, which tells it from an earlier session with its id.
	Life string
}

// Checkpoint is one that was signed.
type Checkpoint struct {
	// Number counts them, from 1.
	Number int64
	// CompleteMs is the moment up to which everything that moved is signed by this checkpoint and
	// those before it; 0 when that is not known.
	CompleteMs int64
	// Signed is a compact JWS over {at_ms, number, heads, prev}.
	Signed string
}

// Checkpoints is what a [Checkpointer] works on: an engine.
type Checkpoints interface {
	CheckpointRows
	journal.Rows
	// NowMs is that of [runs.Keeper].
	NowMs(ctx context.Context) (int64, error)
}

// CheckpointRows keeps checkpoints. Every engine implements it. Its errors wrap runs.ErrUnavailable or
// runs.ErrClosed, or are the context's.
type CheckpointRows interface {
	// AddCheckpoint writes one, and reports false when there is one with its number.
	AddCheckpoint(ctx context.Context, checkpoint Checkpoint) (bool, error)
	// LastCheckpoint returns the newest one, and the latest CompleteMs of all; zeros without any.
	LastCheckpoint(ctx context.Context) (last Checkpoint, completeMs int64, err error)
	// CheckpointsAfter returns those with a greater number, oldest first, at most limit.
	CheckpointsAfter(ctx context.Context, number int64, limit int) ([]Checkpoint, error)
	// HeadsOf returns the heads of those of the sessions that have one.
	HeadsOf(ctx context.Context, sessionIDs []string) ([]Head, error)
	// HeadsSince returns the heads of sessions that changed at or after a moment, in the order of
	// their ids after one, at most limit.
	HeadsSince(ctx context.Context, sinceMs int64, after string, limit int) ([]Head, error)
}

// checkpoint is the payload of one.
type checkpoint struct {
	AtMs   int64                 `json:"at_ms"`
	Number int64                 `json:"number"`
	Heads  map[string]signedHead `json:"heads"`
	// Prev is the hexadecimal SHA-256 of the JWS before, "" in the first one.
	Prev string `json:"prev"`
}

// signedHead is a head in a checkpoint, by the name of its chain.
type signedHead struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
	// Life is the session's life, as in a [Head].
	Life string `json:"life,omitempty"`
}

// chainOf returns the name of a session's chain.
func chainOf(sessionID string) string { return sessionChain + sessionID }

const (
	sessionChain = "session/"
	// logChain is the name of the audit's own log.
	logChain = "audit"
)

// Checkpointer signs the heads of what moved. Several replicas may do so at once: each number is
// given to one of them. What a process that died has not signed is found by the others, or at the
// next start.
type Checkpointer struct {
	kept   Checkpoints
	signer Signer
	logger *slog.Logger

	mu    sync.Mutex
	moved map[string]bool // nil when there were too many
	lines int

	scannedMs int64 // 0 before the first time
	// signedEntry is the newest line of the audit's own log that was signed, 0 before the first time.
	signedEntry int64
}

// NewCheckpointer returns a checkpointer, which must be told of commits with Notice.
func NewCheckpointer(kept Checkpoints, signer Signer, logger *slog.Logger) *Checkpointer {
	return &Checkpointer{kept: kept, signer: signer, logger: logger, moved: map[string]bool{}}
}

// Notice counts what a commit of this process wrote. It does not block.
func (c *Checkpointer) Notice(notice runs.Notice) {
	if len(notice.Events) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines += len(notice.Events)
	switch {
	case c.moved == nil:
	case len(c.moved) >= maxMoved:
		c.moved = nil
	default:
		c.moved[notice.SessionID] = true
	}
}

// Run seals the audit's own log and signs until the context ends. It returns nil.
func (c *Checkpointer) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := c.Look(ctx); err != nil && ctx.Err() == nil {
				c.logger.LogAttrs(ctx, slog.LevelWarn, "no checkpoint could be signed", slog.String("error", err.Error()))
			}
		}
	}
}

// Look seals the audit's own log, and signs what is due. Errors: those of [Checkpoints] and of the signer. What was not signed is
// due again.
func (c *Checkpointer) Look(ctx context.Context) error {
	nowMs, err := c.kept.NowMs(ctx)
	if err == nil {
		err = journal.Seal(ctx, c.kept)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	lines, moved := c.lines, c.moved
	c.mu.Unlock()
	if c.scannedMs == 0 || nowMs >= c.scannedMs+roundInterval.Milliseconds() || moved == nil {
		return c.scan(ctx, nowMs)
	}
	if lines < linesPerRound {
		return nil
	}
	c.forget()
	ids := slices.Sorted(maps.Keys(moved))
	for part := range slices.Chunk(ids, headsPerCheckpoint) {
		heads, err := c.kept.HeadsOf(ctx, part)
		if err == nil {
			err = c.add(ctx, nowMs, 0, heads, nil)
		}
		if err != nil {
			c.remember(ids, lines)
			return err
		}
	}
	return nil
}

// scan signs every session that changed since everything was signed for the last time, unless
// another replica has done so lately.
func (c *Checkpointer) scan(ctx context.Context, nowMs int64) error {
	_, completeMs, err := c.kept.LastCheckpoint(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	tooMany := c.moved == nil
	c.mu.Unlock()
	if c.scannedMs != 0 && !tooMany && nowMs < completeMs+roundInterval.Milliseconds() {
		return nil
	}
	c.forget()
	log, err := c.logHead(ctx)
	if err != nil {
		return err
	}
	page, err := c.kept.HeadsSince(ctx, completeMs-overlap.Milliseconds(), "", headsPerCheckpoint)
	for err == nil && (len(page) > 0 || log != nil) {
		var next []Head
		if len(page) == headsPerCheckpoint {
			if next, err = c.kept.HeadsSince(ctx, completeMs-overlap.Milliseconds(), page[len(page)-1].SessionID, headsPerCheckpoint); err != nil {
				break
			}
		}
		through := nowMs
		if len(next) > 0 {
			through = 0
		}
		if err = c.add(ctx, nowMs, through, page, log); err == nil && log != nil {
			c.signedEntry = log.EntryID
		}
		page, log = next, nil
	}
	if err == nil {
		c.scannedMs = nowMs
	}
	return err
}

// logHead returns the newest line of the audit's own log, nil when it is signed.
func (c *Checkpointer) logHead(ctx context.Context) (*journal.Entry, error) {
	last, err := c.kept.LastEntry(ctx)
	if err != nil || last.EntryID == c.signedEntry {
		return nil, err
	}
	return &last, nil
}

// forget begins to count anew.
func (c *Checkpointer) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved, c.lines = map[string]bool{}, 0
}

func (c *Checkpointer) remember(ids []string, lines int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines += lines
	for _, id := range ids {
		if c.moved != nil {
			c.moved[id] = true
		}
	}
}

// add signs and writes one checkpoint. The head of the audit's own log is nil when it is not in it.
func (c *Checkpointer) add(ctx context.Context, atMs, completeMs int64, heads []Head, log *journal.Entry) error {
	payload := checkpoint{AtMs: atMs, Heads: make(map[string]signedHead, len(heads))}
	for _, head := range heads {
		payload.Heads[chainOf(head.SessionID)] = signedHead{strconv.FormatInt(head.EventID, 10), head.Hash, head.Life}
	}
	if log != nil {
		payload.Heads[logChain] = signedHead{ID: strconv.FormatInt(log.EntryID, 10), Hash: log.Hash}
	}
	if len(payload.Heads) == 0 {
		return nil
	}
	for range maxTries {
		last, _, err := c.kept.LastCheckpoint(ctx)
		if err != nil {
			return err
		}
		payload.Number, payload.Prev = last.Number+1, hashOf(last.Signed)
		text, err := json.Marshal(payload, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encode a checkpoint: %w", err)
		}
		signed, err := c.signer.Sign(checkpointPurpose, text)
		if err != nil {
			return err
		}
		added, err := c.kept.AddCheckpoint(ctx, Checkpoint{payload.Number, completeMs, signed})
		if err != nil || added {
			return err
		}
	}
	return fmt.Errorf("%w: other replicas sign faster", runs.ErrUnavailable)
}

// hashOf returns the hash of a signed checkpoint, "" for none.
func hashOf(signed string) string {
	if signed == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(signed))
	return hex.EncodeToString(sum[:])
}
