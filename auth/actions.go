package auth

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Action is something that a role may or may not do. Every route of every face requires one.
type Action string

// The actions. No role may do the zero value.
const (
	// Public needs no credential.
	Public Action = "public"
	// Known needs any credential.
	Known Action = "known"
	// Read sees sessions, runs, events, streams, lists, rules and effects.
	Read Action = "read"
	// Work creates sessions and runs, claims them, and makes the other calls of a worker.
	Work Action = "work"
	// Chat starts a run by a chat client's call. A decision in the same call also needs Decide.
	Chat Action = "chat"
	// Decide approves, denies, answers and declines, and ends sessions.
	Decide Action = "decide"
	// Cancel cancels runs and questions, and interrupts. An agent may cancel only its own.
	Cancel Action = "cancel"
	// WriteRule creates and revokes rules of one session.
	WriteRule Action = "rules of a session"
	// WriteRuleForAll creates and revokes rules for all sessions; see [Identity.May].
	WriteRuleForAll Action = "rules of all sessions"
	// Administer repairs effects and dead letters, manages tokens and webhooks, and exports the
	// audit log.
	Administer Action = "administer"
)

// Meaning describes an action in words.
func Meaning(action Action) string { return meanings[action] }

var meanings = map[Action]string{
	Public:          "no credential",
	Known:           "any credential",
	Read:            "see sessions, runs, events, streams, lists, rules and effects",
	Work:            "make sessions and runs, and do what a worker does",
	Chat:            "start a run as a chat client does",
	Cancel:          "cancel runs and questions, interrupt; an agent what it made",
	Decide:          "approve, deny, answer, decline, end a session",
	WriteRule:       "write and revoke rules that are bound to a session",
	WriteRuleForAll: "write and revoke rules that are not",
	Administer:      "retry effects, see and replay dead letters, manage tokens and webhooks, export the audit",
}

// Actions lists the actions that roles differ in, in the order of docs/security.md.
var Actions = []Action{Known, Read, Work, Chat, Cancel, Decide, WriteRule, WriteRuleForAll, Administer}

// Roles lists the roles, in the order of docs/security.md.
var Roles = []api.Role{api.RoleObserver, api.RoleAgent, api.RoleOperator, api.RoleAdmin}

// may is the permission table. Actions that are not in it are refused.
var may = map[Action][]api.Role{
	Public:          Roles,
	Known:           Roles,
	Read:            Roles,
	Work:            {api.RoleAgent, api.RoleAdmin},
	Chat:            {api.RoleAgent, api.RoleOperator, api.RoleAdmin},
	Cancel:          {api.RoleAgent, api.RoleOperator, api.RoleAdmin},
	Decide:          {api.RoleOperator, api.RoleAdmin},
	WriteRule:       {api.RoleOperator, api.RoleAdmin},
	WriteRuleForAll: {api.RoleOperator, api.RoleAdmin},
	Administer:      {api.RoleAdmin},
}

// RoleMay reports whether the table allows a role an action. See [Identity.May] for the limits of a
// token.
func RoleMay(role api.Role, action Action) bool { return slices.Contains(may[action], role) }

// RolesFor returns the roles that may do an action as text: "operator or admin".
func RolesFor(action Action) string {
	names := make([]string, len(may[action]))
	for i, role := range may[action] {
		names[i] = string(role)
	}
	switch len(names) {
	case 0:
		return "no role"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
