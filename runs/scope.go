package runs

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// Scope bounds what a caller reaches. What is outside of it does not exist for the caller. The
// zero value bounds nothing.
//
// What is in a session has the session's agent, and what is in a run the run's: whoever reads a
// session sees the runs in it, of whichever agents they are.
type Scope struct {
	// SessionPrefixes are what ids of sessions begin with, and AgentIDs the agents; empty for
	// all. Both must fit.
	SessionPrefixes []string
	AgentIDs        []string
}

// ScopeOf returns what an identity reaches; nil stands for the service itself.
func ScopeOf(identity *auth.Identity) Scope {
	if identity == nil || identity.Role == api.RoleAdmin {
		return Scope{}
	}
	return Scope{SessionPrefixes: identity.SessionPrefixes, AgentIDs: identity.AgentIDs}
}

// Bounded reports whether there is anything that the scope leaves out.
func (s *Scope) Bounded() bool { return len(s.SessionPrefixes) > 0 || len(s.AgentIDs) > 0 }

// Fits reports whether a session of an agent, or a run of an agent in a session, is within the
// scope.
func (s *Scope) Fits(sessionID, agentID string) bool {
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
	// No id has any of these characters.
	return strings.Join(s.SessionPrefixes, ",") + "/" + strings.Join(s.AgentIDs, ",")
}
