package auth

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Action is something that a role may or may not do. Every route is a row of [Routes] with the
// action that it takes to call it.
type Action string

// The actions. The zero value is none, and no role may do it.
const (
	// Public needs no credential.
	Public Action = "public"
	// Known needs a credential, whichever.
	Known Action = "known"
	// Read sees sessions, runs, events, streams, lists, rules and effects.
	Read Action = "read"
	// Work makes sessions and runs, claims them, and does what a worker does.
	Work Action = "work"
	// Chat starts a run by the call of a chat client, and decides by the same call: the
	// decision in it takes Decide besides.
	Chat Action = "chat"
	// Decide approves, denies, answers and declines, and ends sessions.
	Decide Action = "decide"
	// Cancel cancels runs and questions, and interrupts: an agent what it made.
	Cancel Action = "cancel"
	// WriteRule writes and revokes the rules of one session.
	WriteRule Action = "rules of a session"
	// WriteRuleForAll writes and revokes the rules of all sessions; see [Identity.May].
	WriteRuleForAll Action = "rules of all sessions"
	// Administer repairs effects and dead letters, manages tokens and webhooks, and exports the audit.
	Administer Action = "administer"
)

// Meaning says in words what an action is.
func Meaning(action Action) string { return meanings[action] }

var meanings = map[Action]string{
	Public:          "nothing; whoever calls",
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

// may is the table of who may do what. What is not in it is refused.
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

// RoleMay reports whether the table lets a role do something. See [Identity.May] for what a
// token narrows.
func RoleMay(role api.Role, action Action) bool { return slices.Contains(may[action], role) }

// RolesFor returns the roles that may do something as a person reads them: "operator or admin".
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
