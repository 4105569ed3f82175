package explain

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// deciders is a [Directory]'s answer.
type deciders struct {
	identities []*auth.Identity
	more       bool
}

// people returns who may decide an open request of a run, and whether the caller may.
func (c *Collector) people(ctx context.Context, run *model.Run, request *model.Request, actor runs.Actor) (People, error) {
	check, err := runs.RequesterCheck(ctx, c.Whole, request)
	if err != nil {
		return People{}, err
	}
	var people People
	if caller := auth.From(ctx); caller != nil {
		people.You = you(caller, check(caller, actor))
	}
	if people.Anyone, err = c.Directory.Open(ctx); err != nil {
		return People{}, err
	}
	if people.Anyone {
		people.Excluded = check(auth.Local(), runs.Actor{}) != nil
		return people, nil
	}
	if c.known == nil {
		read := &deciders{}
		if read.identities, read.more, err = c.Directory.Deciders(ctx); err != nil {
			return People{}, err
		}
		c.known = read
	}
	people.More, people.Strangers = c.known.more, c.Directory.Strangers()
	for _, decider := range c.known.identities {
		scope := reads.ScopeOf(decider)
		if scope.FitsRun(run) && check(decider, runs.Actor{Name: decider.Principal}) == nil {
			people.May = append(people.May, decider.Principal)
		}
	}
	slices.Sort(people.May)
	people.May = slices.Compact(people.May)
	return people, nil
}

// MayDecide returns the principals whose allow or answer to an open request would be accepted now, sorted.
// A service that asks for no credentials has one: the principal of every caller.
func (c *Collector) MayDecide(ctx context.Context, run *model.Run, request *model.Request) ([]string, error) {
	people, err := c.people(ctx, run, request, runs.Actor{})
	switch {
	case err != nil:
		return nil, err
	case people.Anyone && !people.Excluded:
		return []string{auth.LocalPrincipal}, nil
	}
	return people.May, nil
}

// Texts of requests that certainly no one may decide.
const (
	excludedText  = "Nobody can allow it: it excludes its requester, and the service does not ask callers who they are."
	undecidedText = "Nobody can decide: no operator or admin who may has a credential that works."
)

// nobody returns a function that says of an open request of a list that certainly no one may decide it; "" otherwise. It reads
// the credentials for observers alone, once for all rows: who may decide sees no other requests, and agents poll their lists.
// The requesters of a row would take reads for each.
func (c *Collector) nobody(ctx context.Context) (func(*model.PendingRequest) string, error) {
	caller := auth.From(ctx)
	if c.Directory == nil || caller == nil {
		return somebody, nil
	}
	open, err := c.Directory.Open(ctx)
	switch {
	case err != nil:
		return nil, err
	case open:
		return func(row *model.PendingRequest) string {
			if runs.ExcludesRequesters(&row.Request) {
				return excludedText
			}
			return ""
		}, nil
	case c.Directory.Strangers() || caller.Role != api.RoleObserver:
		return somebody, nil
	}
	identities, more, err := c.Directory.Deciders(ctx)
	if err != nil || more {
		return somebody, err
	}
	return func(row *model.PendingRequest) string {
		for _, decider := range identities {
			if scope := reads.ScopeOf(decider); scope.FitsNew(row.Request.SessionID, row.AgentID) {
				return ""
			}
		}
		return undecidedText
	}, nil
}

func somebody(*model.PendingRequest) string { return "" }

// you says whether an allow or an answer by this caller would be accepted. excluded is the error
// for a requester.
func you(caller *auth.Identity, excluded error) *api.ExplainedCaller {
	for _, err := range []error{caller.Check(auth.Decide), excluded} {
		if err != nil {
			return &api.ExplainedCaller{Code: refusal.CodeOf(err)}
		}
	}
	return &api.ExplainedCaller{MayDecide: true}
}
