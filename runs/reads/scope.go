package reads

import (
	"context"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Scope limits which sessions and runs a caller can access. For the caller, everything outside of
// it does not exist. The zero value is unlimited.
//
// Rows of a session are checked by the session's agent and owner, and rows of a run by the run's.
// A caller that can read a session sees all of its runs, whatever their agents and principals.
type Scope struct {
	// SessionPrefixes are allowed prefixes of session ids, and AgentIDs the allowed agents; empty
	// allows all. Both must match.
	SessionPrefixes []string
	AgentIDs        []string
	// OwnedBy is a principal. It must have created the session, or have created the run or claimed it
	// last. Empty allows any owner.
	OwnedBy string
}

// ScopeOf returns an identity's scope; nil stands for the service itself. An agent without session
// prefixes and agent ids is limited to its own sessions and runs.
func ScopeOf(identity *auth.Identity) Scope {
	switch {
	case identity == nil || identity.Role == api.RoleAdmin:
		return Scope{}
	case identity.Role == api.RoleAgent && len(identity.SessionPrefixes)+len(identity.AgentIDs) == 0:
		return Scope{OwnedBy: identity.Principal}
	}
	return Scope{SessionPrefixes: identity.SessionPrefixes, AgentIDs: identity.AgentIDs}
}

// SessionPrefixFor returns the prefix for generated session ids, so that the caller can access the
// new sessions. It is "" for the service, and for a caller without session prefixes.
func SessionPrefixFor(caller *auth.Identity) string {
	if scope := ScopeOf(caller); len(scope.SessionPrefixes) > 0 {
		return scope.SessionPrefixes[0]
	}
	return ""
}

// Bounded reports whether the scope excludes anything.
func (s *Scope) Bounded() bool { return len(s.SessionPrefixes)+len(s.AgentIDs) > 0 || s.OwnedBy != "" }

// FitsSession reports whether a session is within the scope.
func (s *Scope) FitsSession(session *model.Session) bool {
	return s.Fits(session.SessionID, session.AgentID, session.Principal)
}

// FitsRun reports whether a run is within the scope.
func (s *Scope) FitsRun(run *model.Run) bool {
	return s.Fits(run.SessionID, run.AgentID, run.Principal, run.HolderPrincipal)
}

// Fits reports whether a session, or a run in a session, is within the scope. owners are the
// principals that own it.
func (s *Scope) Fits(sessionID, agentID string, owners ...string) bool {
	return s.FitsNew(sessionID, agentID) && (s.OwnedBy == "" || slices.Contains(owners, s.OwnedBy))
}

// FitsNew reports whether a session, or a run in a session, that the caller creates is within the
// scope.
func (s *Scope) FitsNew(sessionID, agentID string) bool {
	return s.FitsID(sessionID) && (len(s.AgentIDs) == 0 || slices.Contains(s.AgentIDs, agentID))
}

// FitsID reports whether the scope allows a session id.
func (s *Scope) FitsID(sessionID string) bool {
	return len(s.SessionPrefixes) == 0 ||
		slices.ContainsFunc(s.SessionPrefixes, func(prefix string) bool { return strings.HasPrefix(sessionID, prefix) })
}

// Covers reports whether the scope includes everything that another one includes.
func (s *Scope) Covers(other *Scope) bool {
	all := func(bounds, within []string, fits func(string) bool) bool {
		return len(bounds) == 0 || len(within) > 0 && !slices.ContainsFunc(within, func(one string) bool { return !fits(one) })
	}
	return all(s.SessionPrefixes, other.SessionPrefixes, s.FitsID) && (s.OwnedBy == "" || s.OwnedBy == other.OwnedBy) &&
		all(s.AgentIDs, other.AgentIDs, func(agentID string) bool { return slices.Contains(s.AgentIDs, agentID) })
}

// ReachesSession reports whether the scope includes a session itself, and not only runs of it. The session need not
// exist if the scope depends only on its id. head reads the session within the scope.
func (s *Scope) ReachesSession(ctx context.Context, sessionID string, head func(context.Context, string) (*model.Session, error)) (bool, error) {
	if s.Fits(sessionID, "") {
		return true, nil
	}
	_, err := head(ctx, sessionID)
	if refusal.CodeOf(err) == api.CodeSessionNotFound {
		return false, nil
	}
	return err == nil, err
}

// Key returns a text that is equal only for equivalent scopes; "" for an unbounded one.
func (s *Scope) Key() string {
	if !s.Bounded() {
		return ""
	}
	// Ids and principals contain none of these separators.
	return strings.Join(s.SessionPrefixes, ",") + "/" + strings.Join(s.AgentIDs, ",") + "/" + s.OwnedBy
}
