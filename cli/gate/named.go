package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// identity tells whether a later call with the same key is the same call.
type identity struct {
	MadeBy string `json:"made_by"`
	Digest string `json:"digest"`
}

// call is what a key identifies: one call of one principal. Other principals, and other
// calls, have their own runs for the same key, so they cannot interfere.
type call struct {
	principal, digest string
}

// name sets the ids of the run. Without a key they are new.
func (g *gate) name(of call, generation int) {
	suffix := strings.TrimPrefix(runs.NewID(g.noun), g.noun+"_")
	if g.key != "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{g.noun, of.principal, g.key, of.digest, strconv.Itoa(generation)}, "\x00")))
		suffix = hex.EncodeToString(sum[:16])
	}
	g.params.RunID = g.noun + "-" + suffix
	g.params.SessionID = cmp.Or(g.session, g.params.RunID)
	g.named(suffix[len(suffix)-10:])
}

// open creates the run, or finds the run of the key; same tells apart different calls with
// one key. A new run is claimed and waits from the start, and open also returns the claim.
// While its lease lasts, no one else can claim it.
func (g *gate) open(ctx context.Context, same any) (*api.RunView, *api.Claim, error) {
	digest, err := document.Digest(same)
	if err != nil {
		return nil, nil, err
	}
	of := call{digest: digest}
	if g.key != "" {
		me, err := g.Me(ctx)
		if err != nil {
			return nil, nil, err
		}
		of.principal = me.Principal
	}
	mine := identity{MadeBy: "holdpoint " + g.noun, Digest: digest}
	g.params.Metadata = mine
	for generation := 0; ; {
		g.name(of, generation)
		view, claim, err := g.make(ctx, mine)
		if err != nil || claim != nil || g.spent == nil || !g.spent(view) {
			return view, claim, err
		}
		if generation, err = g.unspent(ctx, of, generation); err != nil {
			return nil, nil, err
		}
	}
}

// make creates the run, or finds it.
func (g *gate) make(ctx context.Context, mine identity) (*api.RunView, *api.Claim, error) {
	created, err := g.create(ctx)
	switch {
	case err == nil && created.Claim == nil:
		return &created.RunView, nil, nil
	case err == nil:
		g.raised.Store(true)
		return &created.RunView, created.Claim, nil
	case !errors.Is(err, client.ErrIDConflict):
		return nil, nil, err
	}
	// Members that decide nothing, such as the deadline or the escalation, may differ from the first call.
	// The first request stands.
	found, err := g.GetRun(ctx, g.params.RunID)
	if err != nil {
		return nil, nil, err
	}
	var theirs identity
	if json.Unmarshal(found.Metadata, &theirs) != nil || theirs != mine {
		return nil, nil, fmt.Errorf("the key %q was already used for a different request, run %s; nothing was done", g.key, found.RunID)
	}
	return found, nil, nil
}

// unspent returns the first generation after a spent one that is not spent. It reads few of
// them.
func (g *gate) unspent(ctx context.Context, of call, spent int) (int, error) {
	for step := 1; ; {
		g.name(of, spent+step)
		view, err := g.GetRun(ctx, g.params.RunID)
		switch {
		case err != nil && (client.Away(err) || !errors.Is(err, client.ErrNotFound)):
			return 0, err
		case err == nil && g.spent(view):
			spent, step = spent+step, 2*step
		case step == 1:
			return spent + 1, nil
		default:
			step = 1
		}
	}
}
