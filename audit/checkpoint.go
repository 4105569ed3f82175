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
	"github.com/holdpoint/holdpoint/runs/reads"
)

// checkpointPurpose is the signing purpose of checkpoints.
const checkpointPurpose = "holdpoint-audit-checkpoint+jws"

const (
	// headsPerCheckpoint is the maximum number of heads in a checkpoint. The rest go into the next
	// one.
	headsPerCheckpoint = 1000
	// A round signs the sessions and the audit log that changed. It starts after linesPerRound events of this
	// process, checked every lookInterval, or after roundInterval.
	linesPerRound = 1000
	roundInterval = 10 * time.Minute
	lookInterval  = 10 * time.Second
	// overlap is how much earlier than the last round a scan starts, because a decision may be
	// committed later than its timestamp.
	overlap = time.Minute
	// maxMoved is the maximum number of changed sessions that a process keeps track of. Beyond it,
	// a scan reads all sessions.
	maxMoved = 100_000
	// maxTries is how often a checkpoint is signed again because another replica took its number.
	maxTries = 5
)

// Head is the newest event of a session.
type Head struct {
	SessionID string
	EventID   int64
	Hash      string
	// Life is the hash of the session's first event. It distinguishes the session from an earlier
	// one with the same id.
	Life string
}

// Checkpoint is a signed checkpoint.
type Checkpoint struct {
	// Number counts checkpoints from 1.
	Number int64
	// CompleteMs is the time up to which this and the earlier checkpoints cover every change; 0
	// when unknown.
	CompleteMs int64
	// Signed is a compact JWS over {at_ms, number, heads, prev}.
	Signed string
}

// Checkpoints is the store of a [Checkpointer]. Every engine implements it.
type Checkpoints interface {
	CheckpointRows
	journal.Rows
	// NowMs is NowMs of [runs.Instance].
	NowMs(ctx context.Context) (int64, error)
}

// CheckpointRows stores checkpoints. Every engine implements it. Its errors wrap
// runs.ErrUnavailable or runs.ErrClosed, or are the context's.
type CheckpointRows interface {
	// AddCheckpoint inserts a checkpoint. It returns false when its number is taken.
	AddCheckpoint(ctx context.Context, checkpoint Checkpoint) (bool, error)
	// LastCheckpoint returns the newest checkpoint, and the CompleteMs of the newest one with a known CompleteMs;
	// zeros without any. After the clock was set back, an older one may have a greater CompleteMs.
	LastCheckpoint(ctx context.Context) (last Checkpoint, completeMs int64, err error)
	// CheckpointsAfter returns checkpoints with a greater number, oldest first, at most limit.
	CheckpointsAfter(ctx context.Context, number int64, limit int) ([]Checkpoint, error)
	// HeadsOf returns the heads of the sessions. Sessions without events are omitted.
	HeadsOf(ctx context.Context, sessionIDs []string) ([]Head, error)
	// HeadsSince returns the heads of sessions that changed at or after a time, ordered by id from
	// after on, at most limit.
	HeadsSince(ctx context.Context, sinceMs int64, after string, limit int) ([]Head, error)
}

// checkpoint is the payload of a signed checkpoint.
type checkpoint struct {
	AtMs   int64                 `json:"at_ms"`
	Number int64                 `json:"number"`
	Heads  map[string]signedHead `json:"heads"`
	// Prev is the hexadecimal SHA-256 of the previous JWS, "" in the first one.
	Prev string `json:"prev"`
}

// signedHead is a head in a checkpoint, with the name of its chain.
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
	// logChain is the name of the audit log's chain.
	logChain = "audit"
)

// Checkpointer signs the heads of changed sessions. Several replicas may do so at once: each number
// is taken by one of them. Changes that a crashed process did not sign are found by the others, or
// at the next start.
type Checkpointer struct {
	kept   Checkpoints
	signer Signer
	logger *slog.Logger

	mu    sync.Mutex
	moved map[string]bool // nil when there are more than maxMoved
	lines int

	scannedMs int64     // 0 before the first scan
	scannedAt time.Time // by the clock of this process
	// setBack reports whether the clock was set back and no complete checkpoint was signed since.
	setBack bool
	// signedEntry is the newest signed entry of the audit log, 0 before the first.
	signedEntry int64
}

// NewCheckpointer returns a checkpointer. Report commits to it with Notice.
func NewCheckpointer(kept Checkpoints, signer Signer, logger *slog.Logger) *Checkpointer {
	return &Checkpointer{kept: kept, signer: signer, logger: logger, moved: map[string]bool{}}
}

// Notice counts the events of a commit by this process. It does not block.
func (c *Checkpointer) Notice(notice reads.Notice) {
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

// Run seals the audit log and signs checkpoints until the context ends. It returns nil.
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

// Look seals the audit log and signs whatever is due. After an error the rest stays due. Errors:
// errors of [Checkpoints] and of the signer.
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
	back := nowMs < c.scannedMs
	c.setBack = c.setBack || back
	if c.scannedMs == 0 || back || nowMs >= c.scannedMs+roundInterval.Milliseconds() || moved == nil {
		return c.scan(ctx, nowMs)
	}
	if lines < linesPerRound {
		return nil
	}
	log, err := c.logHead(ctx)
	if err != nil {
		return err
	}
	c.forget()
	ids := slices.Sorted(maps.Keys(moved))
	for part := range slices.Chunk(ids, headsPerCheckpoint) {
		heads, err := c.kept.HeadsOf(ctx, part)
		if err == nil {
			err = c.add(ctx, nowMs, 0, heads, log)
		}
		if err != nil {
			c.remember(ids, lines)
			return err
		}
		if log != nil {
			c.signedEntry, log = log.EntryID, nil
		}
	}
	return nil
}

// scan signs every session that changed since the last complete round, unless another replica did
// so recently.
func (c *Checkpointer) scan(ctx context.Context, nowMs int64) error {
	started := time.Now() //nolint:forbidigo // how long the process has waited since, whatever the clock says
	_, completeMs, err := c.kept.LastCheckpoint(ctx)
	if err != nil {
		return err
	}
	// A little later is another replica's scan.
	c.setBack = c.setBack || nowMs < completeMs-overlap.Milliseconds()
	c.mu.Lock()
	tooMany := c.moved == nil
	c.mu.Unlock()
	if c.scannedMs != 0 && !tooMany && !c.setBack && nowMs < completeMs+roundInterval.Milliseconds() {
		return nil
	}
	sinceMs := min(completeMs, nowMs) - overlap.Milliseconds()
	if c.setBack {
		// What the process has seen itself is complete. A new process signs everything. The last scan is at least as
		// long ago as this process has waited, whatever the clock says.
		waitedMs := started.Sub(c.scannedAt).Milliseconds()
		sinceMs = min(sinceMs, min(c.scannedMs, nowMs-waitedMs)-overlap.Milliseconds())
	}
	c.forget()
	log, err := c.logHead(ctx)
	if err != nil {
		return err
	}
	page, err := c.kept.HeadsSince(ctx, sinceMs, "", headsPerCheckpoint)
	signs := len(page) > 0 || log != nil
	for err == nil && (len(page) > 0 || log != nil) {
		var next []Head
		if len(page) == headsPerCheckpoint {
			if next, err = c.kept.HeadsSince(ctx, sinceMs, page[len(page)-1].SessionID, headsPerCheckpoint); err != nil {
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
		c.scannedMs, c.scannedAt, c.setBack = nowMs, started, c.setBack && !signs
	}
	return err
}

// logHead returns the newest entry of the audit log, nil when it is already signed.
func (c *Checkpointer) logHead(ctx context.Context) (*journal.Entry, error) {
	last, err := c.kept.LastEntry(ctx)
	if err != nil || last.EntryID == c.signedEntry {
		return nil, err
	}
	return &last, nil
}

// forget resets the counts.
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

// add signs and inserts one checkpoint. logHead is nil when the audit log's head is not part of it.
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

// hashOf returns the hash of a signed checkpoint, "" for an empty one.
func hashOf(signed string) string {
	if signed == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(signed))
	return hex.EncodeToString(sum[:])
}
