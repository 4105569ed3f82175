package storetest

import (
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Generator draws commands over a few sessions, runs, requests and keys, so that they collide.
// It uses the model to find commands that move a run on.
type Generator struct {
	*rand.Rand
	model *Model
	nowMs int64
	made  []Maker
	about string // the run to move on; empty for any
}

// Maker creates a drawn command repeatedly: each store prepares its own.
type Maker func() runs.Command

// NewGenerator returns a generator of commands for the rows of the model.
func NewGenerator(model *Model) *Generator { return &Generator{model: model} }

// Draw draws a command for a given time. All randomness comes from the seed, so that a failing
// sequence can be shortened by omitting seeds.
func (g *Generator) Draw(seed uint64, nowMs int64) Maker {
	g.Rand = rand.New(rand.NewPCG(seed, 0))
	g.nowMs = nowMs
	return g.command()
}

// Seeds draws seeds. Single numbers that rapid draws are mostly small, and the same;
// eight bytes put together are not.
var Seeds = rapid.Custom(func(t *rapid.T) uint64 {
	var seed uint64
	for range 8 {
		seed = seed<<8 | uint64(rapid.Byte().Draw(t, "byte"))
	}
	return seed
})

// Pause draws how long to wait before the next command, in milliseconds.
func Pause(seed uint64) int64 {
	pauses := []int64{0, 0, 0, 1, 500, 1_000, 30_000}
	return pauses[rand.New(rand.NewPCG(seed, 1)).IntN(len(pauses))]
}

var (
	sessionIDs  = []string{"s-1", "s-2", "S-3"}
	chosenRuns  = []string{"r-1", "r-2", "r-3", "R-4", "r-5", "r-6"}
	agentIDs    = []string{"", "", "coder", "writer"}
	requestIDs  = []string{"a-1", "a-2", "a-3", "q-1", "q-2", "both"}
	suspensions = []string{"", "", "pause-1", "pause-2"}
	keys        = []string{"", "", "", "k-1", "k-2"}
	documents   = []string{`1`, `"two"`, `{"b":1,"a":[true,null]}`, `{"a":[true,null],"b":1}`, `"nul \u0000 🙂"`}
	leases      = []int64{0, 1_000, 30_000}
	principals  = []string{"agent:one", "agent:one", "agent:one", "user:two", ""}
	actors      = []runs.Actor{{}, {Name: "alice", Via: api.ViaAPI}, {Name: "bob", Via: "cli"}}
)

func pick[V any](g *Generator, values []V) V { return values[g.IntN(len(values))] }

func (g *Generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *Generator) between(least, most int64) int64 { return least + g.Int64N(most-least+1) }

// some returns one to three of the values, each once.
func (g *Generator) some(values []string) []string {
	values = slices.Clone(values)
	g.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values[:min(1+g.IntN(3), len(values))]
}

func (g *Generator) document() api.JSON { return api.JSON(pick(g, documents)) }

func (g *Generator) maybeDocument() api.JSON {
	if g.chance(50) {
		return nil
	}
	return g.document()
}

// runID usually returns an existing run.
func (g *Generator) runID() string {
	if there := g.model.RunIDs(); len(there) > 0 && g.chance(70) {
		return pick(g, there)
	}
	return pick(g, chosenRuns)
}

// activeRunID is mostly the active run of a session.
func (g *Generator) activeRunID() string {
	if g.about != "" {
		return g.about
	}
	if active := g.model.ActiveRuns(); len(active) > 0 && g.chance(80) {
		return pick(g, active)
	}
	return g.runID()
}

// fence is mostly the newest of the run.
func (g *Generator) fence(runID string) int64 {
	run := g.model.Run(runID)
	if run == nil || g.chance(8) {
		return g.between(0, 3)
	}
	return run.Fence
}

// requestID is mostly one that is open on the run.
func (g *Generator) requestID(runID string, kind model.RequestKind) string {
	if open := g.model.OpenRequests(runID, kind); len(open) > 0 && g.chance(80) {
		return pick(g, open)
	}
	return pick(g, requestIDs)
}

func (g *Generator) deadline() (at, after *int64) {
	switch {
	case g.chance(20):
		due := g.nowMs + g.between(-1, 2_000)
		return &due, nil
	case g.chance(20):
		due := g.between(1, 2_000)
		return nil, &due
	}
	return nil, nil
}

func (g *Generator) suspension() api.Suspension {
	s := api.Suspension{
		SuspensionID: pick(g, suspensions), Hold: g.chance(40), Checkpoint: g.maybeDocument(),
	}
	s.CancelWhenAbandoned = s.Hold && g.chance(20)
	if g.chance(20) {
		after := g.between(0, 3)
		s.SettledAfter = &after
	}
	for _, id := range g.some(requestIDs) {
		at, after := g.deadline()
		if id[0] == 'a' || id == "both" && g.chance(50) {
			asked := api.ApprovalRequest{ID: id, ToolCallID: "call", ExpiresAtMs: at, ExpiresAfterMs: after, Escalation: g.escalation(nil)}
			asked.ToolName, asked.Input = g.call()
			if g.chance(40) {
				asked.PatternKeys = g.some(patternKeys)
			}
			s.Approvals = append(s.Approvals, asked)
			continue
		}
		asked := g.question(id)
		asked.ExpiresAtMs, asked.ExpiresAfterMs = at, after
		if g.chance(40) {
			other := asked.Questions[0]
			other.ID = "why"
			asked.Questions = append(asked.Questions, other)
		}
		asked.Escalation = g.escalation(asked.Questions)
		s.Questions = append(s.Questions, asked)
	}
	return s
}

// clone copies a suspension so that two stores do not prepare the same one.
func clone(s api.Suspension) api.Suspension {
	s.Approvals = append([]api.ApprovalRequest(nil), s.Approvals...)
	for i := range s.Approvals {
		s.Approvals[i].Escalation = cloneEscalation(s.Approvals[i].Escalation)
	}
	asked := s.Questions
	s.Questions = nil
	for _, q := range asked {
		q.Questions, q.Escalation = append([]api.UserQuestion(nil), q.Questions...), cloneEscalation(q.Escalation)
		for i := range q.Questions {
			q.Questions[i].Options = append([]api.QuestionOption(nil), q.Questions[i].Options...)
		}
		s.Questions = append(s.Questions, q)
	}
	return s
}

// command draws a command: sometimes a repeated call, usually one that moves a run on, and
// otherwise any.
func (g *Generator) command() Maker {
	if len(g.made) > 0 && g.chance(10) {
		return g.made[len(g.made)-1-g.IntN(min(len(g.made), 6))]
	}
	g.about = ""
	makers := g.all()
	if g.chance(70) {
		makers = g.next()
	}
	drawn := pick(g, makers)()
	g.made = append(g.made, drawn)
	return drawn
}

// next returns commands that move some session's run on.
func (g *Generator) next() []func() Maker {
	if g.chance(30) {
		if ways := g.carryOn(); ways != nil {
			return ways
		}
	}
	if g.chance(10) {
		return g.standing()
	}
	// A session created by a run has no parent.
	if len(g.missing()) > 0 && g.chance(60) {
		return []func() Maker{g.createMissing}
	}
	active := g.model.ActiveRuns()
	if len(active) == 0 || g.chance(25) {
		if len(g.model.Claimable(g.nowMs)) == 0 {
			return []func() Maker{g.createRun}
		}
		return []func() Maker{g.createRun, g.claim, g.claim}
	}
	g.about = pick(g, active)
	run := g.model.Run(g.about)
	switch {
	case run.Status == api.StatusRunning && run.ClaimableAtMs <= g.nowMs:
		return []func() Maker{g.claim}
	case run.Status == api.StatusRunning:
		makers := []func() Maker{g.suspend, g.suspend, g.suspend, g.suspend, g.heartbeat, g.appendEvents, g.finish, g.release}
		if g.model.allowed(run, "") != nil {
			makers = append(makers, g.redeem, g.redeem)
		}
		if g.model.ParentOf(run.SessionID) != "" {
			makers = append(makers, g.ask, g.ask, g.ask, g.ask)
		}
		return makers
	case run.Attached && g.chance(30):
		return []func() Maker{g.suspend, g.ask, g.withdraw, g.redeem, g.heartbeat, g.appendEvents, g.finish}
	case run.Status == api.StatusWaitingForApproval:
		return []func() Maker{g.resolve, g.resolve, g.resolve, g.decide, g.lookAt}
	case len(g.model.OpenRequests(g.about, model.KindApproval)) > 0:
		return []func() Maker{g.resolve, g.answer, g.answer, g.answerPart, g.decide, g.cancelQuestion}
	case len(g.model.OpenRequests(g.about, model.KindQuestion)) == 0:
		// It is parked.
		return []func() Maker{g.openClarification, g.deliverAnswer, g.cancelAbout, g.interrupt, g.answer}
	default:
		return []func() Maker{g.answer, g.answer, g.answer, g.answerPart, g.answerPart, g.decide, g.cancelQuestion, g.lookAt}
	}
}
