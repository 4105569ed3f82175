package gate

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// once calls say, unless it was called for the same subject before.
func (g *gate) once(subject string, say func()) {
	if g.shown == nil {
		g.shown = map[string]bool{}
	}
	if !g.shown[subject] {
		g.shown[subject] = true
		say()
	}
}

func (g *gate) sayWaiting(view *api.RunView) {
	for _, request := range view.PendingApprovals {
		g.once(request.ID, func() {
			g.terminal.Say("waiting for approval: %s", console.Printable(prompt.CommandOf(request.Input), false))
			g.terminal.Say("decide with: %s approvals allow%s %s (or deny)", console.Program(), g.ServerFlag(), console.ShortHandle(request.Handle))
			g.sayLink(request.Handle)
		})
	}
	for _, request := range view.PendingQuestions {
		g.once(request.ID, func() {
			g.terminal.Say("waiting for an answer: %s", console.Printable(prompt.QuestionText(&request), false))
			g.terminal.Say("answer with: %s questions answer%s %s --interactive", console.Program(), g.ServerFlag(), console.ShortHandle(request.Handle))
			g.sayLink(request.Handle)
		})
	}
}

func (g *gate) sayLink(handle string) {
	if link := g.Link(handle); link != "" {
		g.terminal.Say("or in a browser: %s", link)
	}
}

func (g *gate) sayHeld(ctx context.Context, view *api.RunView) {
	switch {
	case view.Status == api.StatusQueued:
		if session, err := g.GetSession(ctx, view.SessionID); err == nil {
			g.sayAhead(ctx, session)
		}
	case view.Lease != nil:
		g.once("held by "+view.Lease.WorkerID, func() {
			g.terminal.Say("run %s is held by %s; waiting until it ends or its lease expires",
				view.RunID, view.Lease.WorkerID)
		})
	}
}

// sayAhead names the run that this one waits for, and says how to cancel it.
func (g *gate) sayAhead(ctx context.Context, session *api.SessionView) {
	var ahead string
	switch {
	case session.ActiveRun != nil:
		ahead = session.ActiveRun.RunID
	case len(session.QueuedRunIDs) > 0:
		ahead = session.QueuedRunIDs[0]
	}
	if ahead == "" || ahead == g.params.RunID {
		return
	}
	g.once("behind "+ahead, func() {
		what := "run " + ahead
		if view, err := g.GetRun(ctx, ahead); err == nil {
			what += fmt.Sprintf(" ahead (%s, last moved %s)", view.Status, console.Ago(view.UpdatedAtMs, g.terminal.Now()))
		}
		g.terminal.Say("queued: session %s has %s", session.SessionID, console.Printable(what, false))
		g.terminal.Say("show it with: %[1]s runs show%[2]s %[3]s; cancel it with: %[1]s runs cancel%[2]s %[3]s",
			console.Program(), g.ServerFlag(), ahead)
	})
}

func (g *gate) sayLost(err error) {
	if !g.outage && client.Away(err) {
		g.outage = true
		g.terminal.Say("lost the connection to %s; retrying", g.Server)
	}
}

func (g *gate) sayBack() {
	if g.outage {
		g.outage = false
		g.terminal.Say("the service is back")
	}
}
