package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
)

var _ committer.Parted = (*engine)(nil)

// rideFor is how long a part waits for a batch to join, if there was one lately. Busy callers
// send the next one within that time.
const rideFor = 2 * time.Millisecond

// growAfter is how long a change is written in parts of the minimum size. Later parts double in
// size: on a slow disk the session is then blocked for a few more parts, and not for all of
// them.
const growAfter = 500 * time.Millisecond

// errLeft says that the transaction with a part was not committed.
var errLeft = errors.New("the transaction was not committed")

// parts are the changes being written in parts. Each part joins a batch of the lane, which then
// needs no further lock or flush, or has its own transaction if no batch comes.
type parts struct {
	mu sync.Mutex
	// waiting is the part for the next batch, nil for none.
	waiting *part
	// of are the sessions of which rows may be staged.
	of map[string]*staging
	// growAfter is the package's constant if 0.
	growAfter time.Duration
	// batches counts the committed transactions other than parts.
	batches atomic.Int64
}

// part is the next one of a change.
type part struct {
	*staging
	// ended receives one result, from the transaction that took the part.
	ended chan error
}

// offer makes a part available. The owner of the write connection takes it, once.
func (p *parts) offer(next *part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = next
}

// take returns the waiting part, if any.
func (p *parts) take() *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.waiting
	p.waiting = nil
	return taken
}

// add records that rows of a session are being staged. It must have none already.
func (p *parts) add(g *staging) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]*staging{}
	}
	p.of[g.sessionID] = g
}

// stagingOf returns a session's staging: the one in progress, or the leftovers of a rejected
// change; nil for none.
func (p *parts) stagingOf(sessionID string) *staging {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[sessionID]
}

// remove notes that no row of a session is staged any more.
func (p *parts) remove(sessionID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.of[sessionID]; g != nil {
		g.gone = true
		delete(p.of, sessionID)
	}
}

// ride writes the part into a transaction that is about to commit, and returns a function to
// call after that. A rejected part is ended without harm to the transaction, unless SQLite
// rolled all of it back, for example when the disk is full: then the error wraps
// [committer.ErrRefused].
func (p *part) ride(ctx context.Context, c *connection) (committed func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	written, err := p.write(ctx, c, 1)
	if err == nil {
		return func() {
			written()
			p.end(nil)
		}, nil
	}
	p.end(failed("write a part", err))
	if _, open := c.exec(ctx, sqlIsOver); open == nil {
		return nil, fmt.Errorf("%w: a part of another change ended the transaction: %w", committer.ErrRefused, err)
	}
	return func() {}, nil
}

// end reports the result of the part. The first call counts.
func (p *part) end(err error) {
	if p == nil {
		return
	}
	select {
	case p.ended <- err:
	default:
	}
}

// partedBatch is a [batch] that released the write connection after loading.
type partedBatch struct {
	*batch
	engine *engine
	loads  []committer.Load
	// dataVersion is the version of the loaded data.
	dataVersion int64
}

// BeginParted implements [committer.Parted].
func (e *engine) BeginParted(ctx context.Context, loads []committer.Load) (committer.Batch, error) {
	b, err := e.load(ctx, loads)
	if err != nil {
		return nil, err
	}
	defer b.Rollback(ctx)
	dataVersion, _, err := number(context.WithoutCancel(ctx), b.write, sqlDataVersion)
	if err != nil {
		return nil, failed("version of the data", err)
	}
	return &partedBatch{batch: b, engine: e, loads: loads, dataVersion: dataVersion}, nil
}

// Commit implements [committer.Batch]. All events except the last part's are written first,
// invisibly; the last transaction writes the rest and decides.
func (b *partedBatch) Commit(ctx context.Context, writes runs.Writes) error {
	sessionID := b.loads[0].SessionID
	amended := b.Amended(writes.UpdatedSessions)
	g := newStaging(sessionID, &writes)
	if b.store.staged.stagingOf(sessionID) != nil {
		// Leftovers of a rejected change would become visible with this one.
		if err := b.store.unstage(ctx, sessionID); err != nil {
			return err
		}
	}
	if len(g.events) == 0 {
		return b.decide(ctx, g, &writes, amended)
	}
	b.store.staged.add(g)
	err := b.stage(ctx, g)
	if err == nil {
		err = b.decide(ctx, g, &writes, amended)
	}
	if err != nil {
		// Leftovers are deleted before the next write of the session, or when the file is
		// opened.
		if left := b.store.unstage(context.WithoutCancel(ctx), sessionID); left != nil && b.store.logger != nil {
			b.store.logger.WarnContext(ctx, "what was written in parts is not taken out", slog.Any("error", left))
		}
	}
	return err
}

// stage has all parts written.
func (b *partedBatch) stage(ctx context.Context, g *staging) error {
	staged := &b.store.staged
	seen, slow := staged.batches.Load(), false
	growing := time.NewTimer(cmp.Or(staged.growAfter, growAfter))
	defer growing.Stop()
	for g.written < len(g.events) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: write in parts: %w", committer.ErrRefused, err)
		}
		rides := seen != staged.batches.Load()
		seen = staged.batches.Load()
		select {
		case <-growing.C:
			slow = true
		default:
		}
		if slow {
			g.growth *= 2
		}
		if err := b.stageOne(ctx, g, rides); err != nil && !errors.Is(err, errLeft) {
			return err
		}
	}
	return nil
}

// stageOne has the next part written: by a batch, if one comes soon, else in a transaction of its own.
func (b *partedBatch) stageOne(ctx context.Context, g *staging, rides bool) error {
	staged, writers := &b.store.staged, b.store.writers
	next := &part{staging: g, ended: make(chan error, 1)}
	staged.offer(next)
	if rides {
		timer := time.NewTimer(rideFor)
		defer timer.Stop()
		select {
		case err := <-next.ended:
			return err
		case <-timer.C:
		}
	}
	select {
	case err := <-next.ended:
		return err
	case write := <-writers.free:
		if staged.take() == nil {
			writers.release(write)
			return <-next.ended // the previous owner of the connection took it
		}
		return b.stageAlone(ctx, write, next)
	case <-ctx.Done():
		if staged.take() == nil {
			return <-next.ended
		}
		return fmt.Errorf("%w: write in parts: %w", committer.ErrRefused, context.Cause(ctx))
	}
}

// stageAlone writes a part in its own transaction and releases the write connection.
func (b *partedBatch) stageAlone(ctx context.Context, write *connection, next *part) error {
	tx, err := b.engine.beginOn(ctx, write)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	defer tx.Rollback(ctx)
	written, err := next.write(ctx, tx.write, alone)
	if err != nil {
		return failed("write a part", err)
	}
	if _, err := tx.write.exec(ctx, sqlCommit); err != nil {
		return failed("commit a part", err)
	}
	written()
	tx.end()
	return nil
}

// decide is the transaction that makes everything visible: it writes the rest, if the session is
// unchanged since the load.
func (b *partedBatch) decide(ctx context.Context, g *staging, writes *runs.Writes, amended []*model.Session) error {
	tx, err := b.engine.begin(ctx)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	defer tx.Rollback(ctx)
	if err := b.check(ctx, tx.write, g); err != nil {
		return failed("check", err)
	}
	tx.decides = g
	return tx.commit(ctx, writes, amended)
}

// check returns an error that wraps [committer.ErrRefused] unless the loaded rows are current.
func (b *partedBatch) check(ctx context.Context, c *connection, g *staging) error {
	if g.gone {
		return fmt.Errorf("%w: the session was written meanwhile", committer.ErrRefused)
	}
	guard := committer.Guard{}
	for i := range b.loads {
		if session := b.Loaded(b.loads[i].SessionID); session != nil {
			guard.Sessions = append(guard.Sessions, session)
		}
		for _, token := range b.State(b.loads[i].SessionID).Tokens {
			guard.Tokens = append(guard.Tokens, token)
		}
	}
	version, _, err := number(ctx, c, sqlDataVersion)
	if err != nil {
		return err
	}
	if version != b.dataVersion {
		return fmt.Errorf("%w: %w", committer.ErrRefused, committer.ErrStaleDatabase)
	}
	if err := checkRows(ctx, c, &guard); err != nil {
		return fmt.Errorf("%w: %w", committer.ErrRefused, err)
	}
	return nil
}
