package runs

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Scope bounds what a caller reaches. What is outside of it does not exist for the caller. The
// zero value bounds nothing.
//
// What is in a session has the session's agent and owner, and what is in a run the run's: whoever
// reads a session sees the runs in it, of whichever agents and principals they are.
type Scope struct {
	// SessionPrefixes are what ids of sessions begin with, and AgentIDs the agents; empty for
	// all. Both must fit.
	SessionPrefixes []string
	AgentIDs        []string
	// OwnedBy is a principal: a session must be one that it made, and a run one that it made or
	// claimed last. Empty for any.
	OwnedBy string
}

// ScopeOf returns what an identity reaches; nil stands for the service itself. An agent that is bound
// to no sessions and no agents reaches what is its own.
func ScopeOf(identity *auth.Identity) Scope {
	switch {
	case identity == nil || identity.Role == api.RoleAdmin:
		return Scope{}
	case identity.Role == api.RoleAgent && len(identity.SessionPrefixes)+len(identity.AgentIDs) == 0:
		return Scope{OwnedBy: identity.Principal}
	}
	return Scope{SessionPrefixes: identity.SessionPrefixes, AgentIDs: identity.AgentIDs}
}

// SessionPrefixFor returns what the ids of sessions that are made for a caller begin with, so that the
// caller reaches them; "" for a caller that is not bound to session prefixes, and for the service.
func SessionPrefixFor(caller *auth.Identity) string {
	if scope := ScopeOf(caller); len(scope.SessionPrefixes) > 0 {
		return scope.SessionPrefixes[0]
	}
	return ""
}

// Bounded reports whether there is anything that the scope leaves out.
func (s *Scope) Bounded() bool { return len(s.SessionPrefixes)+len(s.AgentIDs) > 0 || s.OwnedBy != "" }

// FitsSession reports whether a session is within the scope.
func (s *Scope) FitsSession(session *model.Session) bool {
	return s.Fits(session.SessionID, session.AgentID, session.Principal)
}

// FitsRun reports whether a run is within the scope.
func (s *Scope) FitsRun(run *model.Run) bool {
	return s.Fits(run.SessionID, run.AgentID, run.Principal, run.HolderPrincipal)
}

// Fits reports whether a session of an agent, or a run of an agent in a session, is within the
// scope. The owners are the principals whose it is.
func (s *Scope) Fits(sessionID, agentID string, owners ...string) bool {
	return s.FitsNew(sessionID, agentID) && (s.OwnedBy == "" || slices.Contains(owners, s.OwnedBy))
}

// FitsNew reports whether a session of an agent, or a run of an agent in a session, that the caller
// makes is within the scope.
func (s *Scope) FitsNew(sessionID, agentID string) bool {
	return s.FitsID(sessionID) && (len(s.AgentIDs) == 0 || slices.Contains(s.AgentIDs, agentID))
}

// FitsID reports whether a session may have that id and be within the scope.
func (s *Scope) FitsID(sessionID string) bool {
	return len(s.SessionPrefixes) == 0 ||
		slices.ContainsFunc(s.SessionPrefixes, func(prefix string) bool { return strings.HasPrefix(sessionID, prefix) })
}

// Key returns a text that two scopes share only when they reach the same; "" for no bounds.
func (s *Scope) Key() string {
	if !s.Bounded() {
		return ""
	}
	// No id and no principal has any of these characters.
	return strings.Join(s.SessionPrefixes, ",") + "/" + strings.Join(s.AgentIDs, ",") + "/" + s.OwnedBy
}
