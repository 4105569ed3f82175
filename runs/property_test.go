package runs_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// TestAnySequenceOfCommands sends random commands of all kinds to three sessions, in batches of
// random length. The house checks the invariants after each command. After each batch it checks
// that the rows match the states.
func TestAnySequenceOfCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		if rapid.Bool().Draw(t, "family") {
			h.generations()
		}
		send := h.send
		t.Repeat(map[string]func(*rapid.T){
			"":               func(*rapid.T) {},
			"time passes":    func(t *rapid.T) { h.nowMs += rapid.SampledFrom([]int64{1, 500, 5_000, 30_000}).Draw(t, "ms") },
			"commit":         func(t *rapid.T) { h.t = t; h.flush() },
			"create session": send(drawCreateSession),
			"create run":     send(drawCreateRun),
			"create run 2":   send(drawCreateRun),
			"claim":          send(drawClaim),
			"claim 2":        send(drawClaim),
			"suspend":        send(drawSuspend),
			"suspend 2":      send(drawSuspend),
			"withdraw": send(func(t *rapid.T, h *house) runs.Command {
				runID := drawRun(t, h)
				return &runs.Withdraw{RunID: runID, RequestID: drawRequest(t, h, runID), Fence: drawFence(t, h, runID)}
			}),
			"redeem": send(func(t *rapid.T, h *house) runs.Command {
				runID := drawRun(t, h)
				redeem := &runs.RedeemGrant{RunID: runID, RequestID: drawRequest(t, h, runID), Fence: drawFence(t, h, runID)}
				if state := h.states[h.sessionOf(runID)]; state == nil {
					return redeem
				} else if request := state.Requests[runs.RequestKey{RunID: runID, RequestID: redeem.RequestID}]; request != nil {
					redeem.JTI = request.Handle
				}
				return redeem
			}),
			"worker call": send(drawWorkerCall),
			"approve":     send(drawApprovals),
			"approve 2":   send(drawApprovals),
			"answer":      send(drawAnswer),
			"part":        send(drawPart),
			"decide":      send(drawDecision),
			"amend":       send(drawAmend),
			"ask":         send(drawAsk),
			"effect":      send(drawEffect),
			"mailbox":     send(drawMailbox),
			"cancel question": send(func(t *rapid.T, h *house) runs.Command {
				runID := drawRun(t, h)
				return &runs.CancelQuestion{RunID: runID, RequestID: drawRequest(t, h, runID), Key: drawKey(t)}
			}),
			"look": send(func(t *rapid.T, h *house) runs.Command {
				runID := drawRun(t, h)
				look := &runs.AcknowledgeRequest{RunID: runID, RequestID: drawRequest(t, h, runID), State: api.Acknowledged, Actor: runs.Actor{Name: rapid.SampledFrom([]string{"user:ada", "user:ben"}).Draw(t, "by")}}
				if state := h.states[h.sessionOf(runID)]; state != nil {
					if request := state.Requests[runs.RequestKey{RunID: runID, RequestID: look.RequestID}]; request != nil {
						look.Handle = request.Handle
					}
				}
				if rapid.Bool().Draw(t, "take back") {
					look.State = api.NotAcknowledged
				}
				return look
			}),
			"rule":   send(drawRule),
			"revoke": send(drawRevoke),
			"expire": send(func(t *rapid.T, h *house) runs.Command { return &runs.ExpireRequests{RunID: drawRun(t, h)} }),
			"stop":   send(drawStop),
		})
		h.t = t
		h.flush()
		h.checkHealthy()
	})
}

// send draws a command and decides it.
func (h *house) send(draw func(*rapid.T, *house) runs.Command) func(*rapid.T) {
	return func(t *rapid.T) {
		h.t = t
		reply, _, err := h.decide(draw(t, h))
		if err != nil && refusal.CodeOf(err) == "" {
			t.Fatalf("not a refusal of the domain: %v", err)
		}
		if err == nil && reply.Run != nil {
			reply.Run.View()
		}
	}
}

var (
	propertySessions = []string{"s", "t", "u"}
	propertyRuns     = []string{"r1", "r2", "r3", "r4", "r5", "r6"}
	propertyRequests = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
)

func drawSession(t *rapid.T) string { return rapid.SampledFrom(propertySessions).Draw(t, "session") }

// drawRun draws a run id, mostly of an unfinished run.
func drawRun(t *rapid.T, h *house) string {
	live := h.clarifications()
	for _, runID := range propertyRuns {
		if sessionID := h.sessionOf(runID); sessionID != "" && !model.Terminal(h.states[sessionID].Runs[runID].Status) {
			live = append(live, runID)
		}
	}
	if len(live) > 0 && rapid.IntRange(0, 9).Draw(t, "live run") > 0 {
		return rapid.SampledFrom(live).Draw(t, "run")
	}
	return rapid.SampledFrom(propertyRuns).Draw(t, "run")
}

// drawFence draws the run's newest fence, or sometimes another one.
func drawFence(t *rapid.T, h *house, runID string) int64 {
	fence := int64(0)
	if sessionID := h.sessionOf(runID); sessionID != "" {
		fence = h.states[sessionID].Runs[runID].Fence
	}
	return max(fence+rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "fence"), 0)
}

// drawRequest draws a request id, mostly of an open request of the run.
func drawRequest(t *rapid.T, h *house, runID string) string {
	open := h.openRequests(runID, "")
	if len(open) > 0 && rapid.IntRange(0, 4).Draw(t, "open request") > 0 {
		return rapid.SampledFrom(open).Draw(t, "request")
	}
	return rapid.SampledFrom(propertyRequests).Draw(t, "request")
}

func (h *house) openRequests(runID string, kind model.RequestKind) []string {
	var open []string
	for _, id := range propertyRequests {
		for _, state := range h.states {
			request := state.Requests[runs.RequestKey{RunID: runID, RequestID: id}]
			if request != nil && request.Open() && (kind == "" || request.Kind == kind) {
				open = append(open, id)
			}
		}
	}
	return open
}

func drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "k1", "k2"}).Draw(t, "key")
}

func drawCreateSession(t *rapid.T, _ *house) runs.Command {
	return &runs.CreateSession{
		SessionID: drawSession(t), AgentID: rapid.SampledFrom([]string{"", "default", "other"}).Draw(t, "agent"),
		ParentSessionID: rapid.SampledFrom([]string{"", "", "s", "nobody"}).Draw(t, "parent"),
	}
}

func drawCreateRun(t *rapid.T, h *house) runs.Command {
	command := &runs.CreateRun{
		RunID: rapid.SampledFrom(propertyRuns).Draw(t, "run"), SessionID: drawSession(t), SessionGiven: true,
		Input:  api.JSON(rapid.SampledFrom([]string{`"go"`, `{"a":1}`}).Draw(t, "input")),
		Inline: rapid.IntRange(0, 9).Draw(t, "inline") == 0, Key: drawKey(t), Caller: "ann",
	}
	if rapid.IntRange(0, 5).Draw(t, "claim") == 0 {
		command.Claim = &api.ClaimOptions{WorkerID: "w"}
	}
	if rapid.IntRange(0, 5).Draw(t, "suspend") == 0 {
		suspension := drawSuspension(t, h)
		command.Suspend = &suspension
	}
	return command
}

func drawClaim(t *rapid.T, h *house) runs.Command {
	return &runs.ClaimRun{RunID: drawRun(t, h), WorkerID: "w", LeaseMs: rapid.SampledFrom([]int64{0, 1000}).Draw(t, "lease"), MaxAttempts: 3}
}

func drawSuspend(t *rapid.T, h *house) runs.Command {
	runID := drawRun(t, h)
	command := &runs.Suspend{RunID: runID, Fence: drawFence(t, h, runID), Suspension: drawSuspension(t, h)}
	if rapid.IntRange(0, 2).Draw(t, "review") == 0 {
		command.ReviewRequestIDs = []string{drawRequest(t, h, runID), "none"}
		for i := range command.Approvals {
			command.ReviewRequestIDs = append(command.ReviewRequestIDs, command.Approvals[i].ID)
		}
	}
	return command
}

func drawSuspension(t *rapid.T, h *house) api.Suspension {
	suspension := api.Suspension{
		SuspensionID: rapid.SampledFrom([]string{"", "", "w1", "w2"}).Draw(t, "suspension"),
		Hold:         rapid.Bool().Draw(t, "hold"), Checkpoint: drawCheckpoint(t),
	}
	if rapid.IntRange(0, 3).Draw(t, "settled after") == 0 {
		suspension.SettledAfter = ms(rapid.Int64Range(0, 4).Draw(t, "after"))
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(propertyRequests), 1, 3, rapid.ID).Draw(t, "ids") {
		var due *int64
		switch rapid.IntRange(0, 7).Draw(t, "deadline") {
		case 0:
			due = ms(h.nowMs + rapid.Int64Range(1, 20_000).Draw(t, "due"))
		case 1:
			due = ms(max(h.nowMs-rapid.Int64Range(0, 1).Draw(t, "past"), 1))
		}
		if rapid.IntRange(0, 2).Draw(t, "kind") > 0 {
			request := approval(id)
			request.ExpiresAtMs = due
			request.PatternKeys = rapid.SampledFrom([][]string{nil, nil, nil, {"k1"}, {"k1", "k2"}}).Draw(t, "keys")
			suspension.Approvals = append(suspension.Approvals, request)
		} else {
			request := drawQuestion(t, id)
			request.ExpiresAtMs = due
			suspension.Questions = append(suspension.Questions, request)
		}
	}
	return suspension
}

func drawCheckpoint(t *rapid.T) api.JSON {
	if rapid.Bool().Draw(t, "no checkpoint") {
		return nil
	}
	return api.JSON(fmt.Sprintf(`{"step":%d}`, rapid.IntRange(0, 9).Draw(t, "step")))
}

func drawWorkerCall(t *rapid.T, h *house) runs.Command {
	runID := drawRun(t, h)
	fence := drawFence(t, h, runID)
	switch rapid.IntRange(0, 6).Draw(t, "call") {
	case 0:
		return &runs.Complete{RunID: runID, Fence: fence, Output: drawCheckpoint(t)}
	case 1:
		return &runs.Fail{RunID: runID, Fence: fence, Error: "broken"}
	case 2:
		return &runs.Release{RunID: runID, Fence: fence, Checkpoint: drawCheckpoint(t)}
	case 3:
		return &runs.AppendEvents{RunID: runID, Fence: fence, Events: []api.JSON{api.JSON(`{"type":"delta"}`), api.JSON(`{"type":"output","content":"x"}`)}}
	default:
		return &runs.Heartbeat{RunID: runID, Fence: fence, Checkpoint: drawCheckpoint(t), SettledAfter: ms(rapid.Int64Range(0, 4).Draw(t, "after"))}
	}
}

func drawApprovals(t *rapid.T, h *house) runs.Command {
	command := &runs.ResolveApprovals{RunID: drawRun(t, h), Resolutions: []runs.ApprovalDecision{}, Key: drawKey(t)}
	ids := h.openRequests(command.RunID, model.KindApproval)
	if len(ids) == 0 || rapid.IntRange(0, 4).Draw(t, "any ids") == 0 {
		ids = propertyRequests
	}
	for _, id := range rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(t, "decided") {
		command.Resolutions = append(command.Resolutions, runs.ApprovalDecision{
			RequestID: id, Behavior: rapid.SampledFrom([]api.Behavior{"allow", "deny"}).Draw(t, "behavior"),
			Remember: rapid.SampledFrom([]api.Remember{"", "", "", "", "", "session", "always"}).Draw(t, "remember"),
		})
	}
	if rapid.IntRange(0, 2).Draw(t, "by session") == 0 {
		command.RunID, command.SessionID = "", drawSession(t)
	}
	return command
}

func drawAnswer(t *rapid.T, h *house) runs.Command {
	runID := drawRun(t, h)
	command := answer(runID, drawRequest(t, h, runID), rapid.SampledFrom([]string{"north", "north", "none"}).Draw(t, "option"))
	if rapid.IntRange(0, 3).Draw(t, "decline") == 0 {
		command = decline(runID, command.Resolution.RequestID)
	}
	command.Key = drawKey(t)
	if rapid.IntRange(0, 2).Draw(t, "by session") == 0 {
		command.RunID, command.SessionID = "", drawSession(t)
	}
	return command
}

// drawStop draws a command that stops something. Ending a session stops everything in it, so it
// is the rarest.
func drawStop(t *rapid.T, h *house) runs.Command {
	switch n := rapid.IntRange(0, 9).Draw(t, "stop"); {
	case n == 0:
		return &runs.EndSession{SessionID: drawSession(t)}
	case n < 3:
		return &runs.InterruptSession{SessionID: drawSession(t)}
	default:
		return &runs.CancelRun{RunID: drawRun(t, h)}
	}
}

// TestDecisionsDoNotDependOnMapOrder decides the same commands in many houses and requires
// identical bytes.
func TestDecisionsDoNotDependOnMapOrder(t *testing.T) {
	t.Parallel()
	play := func() []runs.Change {
		h := newHouse(t)
		var changes []runs.Change
		keep := func(command runs.Command) {
			_, change, _ := h.decide(command)
			changes = append(changes, change)
		}
		for i := range 8 {
			keep(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: fmt.Sprintf("run-%d", i), Input: api.JSON(`1`)})
		}
		keep(&runs.ClaimRun{RunID: "run-0", WorkerID: "w"})
		keep(hold("run-0", 1, expiringApproval("a", h.nowMs+5), expiringApproval("b", h.nowMs+5), expiringQuestion("q", h.nowMs+5), expiringQuestion("p", h.nowMs+5), approval("c")))
		h.nowMs += 5
		keep(&runs.ExpireRequests{RunID: "run-0"})
		keep(&runs.EndSession{SessionID: "s"})
		return changes
	}
	first := play()
	for range 20 {
		requireSame(t, first, play(), "decided otherwise")
	}
	ended := first[len(first)-1]
	order := []string{}
	for _, event := range ended.Events {
		order = append(order, event.RunID)
	}
	if !slices.IsSorted(order) {
		t.Fatalf("runs of an ended session are not cancelled in the order of the queue: %v", order)
	}
}
