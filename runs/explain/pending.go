package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// SilentMs is how long no worker must have asked for an agent's runs before an explanation says so. It is longer
// than the pauses of a worker that is there.
const SilentMs = 120_000

// Workers tells of workers. Its results are not restricted to the caller's scope.
type Workers interface {
	reads.Presence
	// LeasedRuns is defined by reads.Reader.
	LeasedRuns(ctx context.Context, q reads.LeaseQuery) (leased []model.Run, nowMs int64, err error)
}

// OfPending explains the rows of a list in one line each; nil where there is nothing to say.
func (c *Collector) OfPending(ctx context.Context, rows []model.PendingRequest) ([]*api.PendingExplanation, error) {
	all := make([]*api.PendingExplanation, len(rows))
	silentMs, err := c.silent(ctx, rows)
	if err != nil {
		return nil, err
	}
	watched, err := c.watched(ctx, rows)
	if err != nil {
		return nil, err
	}
	nobody, err := c.nobody(ctx)
	if err != nil {
		return nil, err
	}
	notifies := len(c.Channels) > 0
	undecided := func(row model.PendingRequest) bool { return nobody(&row) != "" }
	progresses := func(row model.PendingRequest) bool { return row.Request.EscalationState != nil }
	if len(silentMs)+len(watched) == 0 && !slices.ContainsFunc(rows, undecided) && !(notifies && slices.ContainsFunc(rows, progresses)) {
		return all, nil
	}
	sent, err := c.sent(ctx, rows)
	if err != nil {
		return nil, err
	}
	nowMs, err := c.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		handle := rows[i].Request.Handle
		all[i] = pending(&rows[i], nobody(&rows[i]), nowMs, silentMs[handle], watched[handle], notifies, sent[handle])
	}
	return all, nil
}

// pending explains a row of a list, or returns nil. nobody says that no one may decide it, or is "". silentMs is how long no
// worker has asked for its run; 0 if one is there or that is not known. notifies says that the service notifies people, and sent
// has the newest message to each person whose message was read.
func pending(row *model.PendingRequest, nobody string, nowMs, silentMs int64, watched reads.Watched, notifies bool, sent map[string]reads.PersonMessage) *api.PendingExplanation {
	e := &api.PendingExplanation{}
	if nobody != "" {
		e.Text = " " + nobody
	}
	e.Text += goneText(watched, nowMs)
	if silentMs != 0 {
		e.NoWorkerSinceMs = nowMs - silentMs
		e.Text += " " + noWorkerText(row.AgentID, silentMs)
	}
	if request := &row.Request; notifies && request.Escalates() {
		progress := request.Progress()
		for _, told := range progress.Told[:min(len(progress.Told), api.MaxRecipients)] {
			e.Notified = append(e.Notified, told.Who)
		}
		atMs := progress.NextAtMs
		for _, a := range request.AcknowledgedAt(nowMs) {
			atMs = max(atMs, a.UntilMs)
		}
		if progress.NextAtMs != 0 && atMs > nowMs {
			e.Next = next(request, atMs)
		}
	}
	if notifies {
		e.Text += messagesText(&row.Request, sent)
	}
	if len(e.Notified) == 0 && notifies {
		e.Text += notReachedText(notReached(&row.Request))
	}
	if e.Next != nil {
		e.Text += nextText(e.Next, nowMs)
	}
	if e.Text == "" {
		return nil
	}
	e.Text = strings.TrimPrefix(e.Text, " ")
	return e
}

func noWorkerText(agentID string, silentMs int64) string {
	return fmt.Sprintf("No worker has asked for runs of agent %q for %s.", agentID, span(silentMs))
}

// watched returns, by handle, the requests of calls that are withdrawn once their agent is gone.
func (c *Collector) watched(ctx context.Context, rows []model.PendingRequest) (map[string]reads.Watched, error) {
	var handles []string
	for i := range rows {
		if row := &rows[i]; row.RunKind == api.KindCall && row.Request.Open() {
			handles = append(handles, row.Request.Handle)
		}
	}
	if c.Workers == nil || len(handles) == 0 {
		return nil, nil
	}
	return c.Workers.Watched(ctx, handles)
}

// goneText says that the agent that asked is gone, "" while it is there.
func goneText(w reads.Watched, nowMs int64) string {
	if w.LeaseExpiresAtMs == 0 || w.LeaseExpiresAtMs > nowMs {
		return ""
	}
	silentMs, onlyOpen := runs.Silence(w.Payload)
	away := " The agent that asked has been away for " + span(nowMs-w.LeaseExpiresAtMs)
	withdrawn := "the request is withdrawn in " + span(w.LeaseExpiresAtMs+silentMs-nowMs) + "."
	if !onlyOpen {
		return away + "; " + withdrawn
	}
	return away + ". It gets the decision when it asks again; otherwise " + withdrawn
}

// silent returns, by handle, how long no worker has asked for the run of a request; at least SilentMs. A request is
// left out if its worker waits for the decision itself, if none is needed, and if it is not certain that there
// is none.
func (c *Collector) silent(ctx context.Context, rows []model.PendingRequest) (map[string]int64, error) {
	if c.Workers == nil || c.Silence == nil {
		return nil, nil
	}
	knownMs := c.Workers.KnownMs()
	if knownMs < SilentMs {
		return nil, nil // a worker may ask another replica, which has not told
	}
	byAgent, named := map[string]int64{}, map[string]bool{}
	var runIDs []string
	for i := range rows {
		row := &rows[i]
		if _, known := byAgent[row.AgentID]; !known {
			byAgent[row.AgentID], named[row.AgentID] = c.Silence(row.AgentID)
		}
		if mayLackWorker(row) && byAgent[row.AgentID] >= SilentMs {
			runIDs = append(runIDs, row.Request.RunID)
		}
	}
	if len(runIDs) == 0 {
		return nil, nil
	}
	slices.Sort(runIDs)
	holdings, err := c.Workers.Holdings(ctx, slices.Compact(runIDs))
	if err != nil {
		return nil, err
	}
	silentMs := map[string]int64{}
	for i := range rows {
		row := &rows[i]
		holding, read := holdings[row.Request.RunID]
		if read && mayLackWorker(row) && byAgent[row.AgentID] >= SilentMs && awaitsClaim(holding, named[row.AgentID]) {
			silentMs[row.Request.Handle] = min(byAgent[row.AgentID], knownMs)
		}
	}
	if len(silentMs) == 0 {
		return nil, nil
	}
	// A busy worker asks for no more runs. The holder of a call only waits for its own decision.
	leased, _, err := c.Workers.LeasedRuns(ctx, reads.LeaseQuery{Limit: api.MaxLeasesShown + 1, WithoutCalls: true})
	if err != nil || len(leased) > api.MaxLeasesShown {
		return nil, err
	}
	busy := map[string]bool{}
	for i := range leased {
		busy[leased[i].AgentID] = true
	}
	for i := range rows {
		if busy[rows[i].AgentID] {
			delete(silentMs, rows[i].Request.Handle)
		}
	}
	return silentMs, nil
}

// nobodyAsks reports whether it is certain that no worker has asked for an agent's runs for [SilentMs], at any replica.
func (c *Collector) nobodyAsks(agentID string) bool {
	if c.Silence == nil || c.Workers.KnownMs() < SilentMs {
		return false
	}
	ms, _ := c.Silence(agentID)
	return ms >= SilentMs
}

// mayLackWorker reports whether a worker may have to claim the run after the decision. The caller of a call waits
// for it, the service itself completes a clarification, and a callback is posted.
func mayLackWorker(row *model.PendingRequest) bool {
	return row.RunKind == api.KindInput && row.Request.Open() && !row.Request.HasCallback()
}

// awaitsClaim reports whether the run will be claimed from the queue after the decision. A program that only reads
// the decision never claims its run; one that claimed it when it created it may claim it by its id.
func awaitsClaim(h reads.Holding, named bool) bool {
	return !h.Attached && (named || h.Claims > 0 && !h.InOneStep)
}
