package runs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// specWant is a command's expected Spec. Without roles only the service issues the command.
type specWant struct {
	command                          runs.Command
	roles                            string
	leased, settles, opens, noTarget bool
}

// allCommands has one command of each type, as a caller may issue it.
func allCommands() map[string]specWant {
	suspension := api.Suspension{Approvals: []api.ApprovalRequest{{ID: "a", ToolName: "t", Input: api.JSON(`{}`)}}}
	return map[string]specWant{
		"AdvanceRequest":     {command: &runs.AdvanceRequest{}, noTarget: true},
		"CancelAbandoned":    {command: &runs.CancelAbandoned{}, noTarget: true},
		"DeliverAnswer":      {command: &runs.DeliverAnswer{}, noTarget: true},
		"DrainSession":       {command: &runs.DrainSession{}, noTarget: true},
		"FanOutDeliveries":   {command: &runs.FanOutDeliveries{}, noTarget: true},
		"CreateSession":      {command: &runs.CreateSession{}, roles: "agent operator admin"},
		"AmendSession":       {command: &runs.AmendSession{}, roles: "agent operator admin"},
		"CreateRun":          {command: &runs.CreateRun{}, roles: "agent operator admin", opens: true},
		"NameSegment":        {command: &runs.NameSegment{}, roles: "agent operator admin", settles: true},
		"ClaimRun":           {command: &runs.ClaimRun{}, roles: "agent admin", settles: true},
		"Heartbeat":          {command: &runs.Heartbeat{RunID: "r"}, roles: "agent admin", leased: true},
		"Suspend":            {command: &runs.Suspend{RunID: "r", Suspension: suspension}, roles: "agent admin", leased: true, opens: true},
		"Release":            {command: &runs.Release{RunID: "r"}, roles: "agent admin", leased: true, settles: true},
		"Complete":           {command: &runs.Complete{RunID: "r"}, roles: "agent admin", leased: true, settles: true},
		"Fail":               {command: &runs.Fail{RunID: "r"}, roles: "agent admin", leased: true, settles: true},
		"AppendEvents":       {command: &runs.AppendEvents{RunID: "r"}, roles: "agent admin", leased: true},
		"Withdraw":           {command: &runs.Withdraw{RunID: "r"}, roles: "agent admin", leased: true, settles: true},
		"AskClarification":   {command: &runs.AskClarification{RunID: "r"}, roles: "agent admin", leased: true, opens: true},
		"RedeemGrant":        {command: &runs.RedeemGrant{RunID: "r"}, roles: "agent admin", leased: true, settles: true},
		"ReadMailbox":        {command: &runs.ReadMailbox{}, roles: "agent admin", settles: true},
		"AcknowledgeMessage": {command: &runs.AcknowledgeMessage{}, roles: "agent admin", settles: true},
		"ClaimEffect":        {command: &runs.ClaimEffect{}, roles: "agent admin", settles: true},
		"FinishEffect":       {command: &runs.FinishEffect{}, roles: "agent admin", settles: true},
		"OpenClarification":  {command: &runs.OpenClarification{}, roles: "agent admin", settles: true},
		"ResolveApprovals":   {command: &runs.ResolveApprovals{}, roles: "operator admin", settles: true},
		"AnswerQuestion":     {command: &runs.AnswerQuestion{}, roles: "operator admin", settles: true},
		"DecideRequests":     {command: &runs.DecideRequests{}, roles: "operator admin", settles: true},
		"AcknowledgeRequest": {command: &runs.AcknowledgeRequest{}, roles: "operator admin"},
		"EndSession":         {command: &runs.EndSession{}, roles: "operator admin", settles: true},
		"RetryRun":           {command: &runs.RetryRun{}, roles: "operator admin", settles: true},
		"CancelQuestion":     {command: &runs.CancelQuestion{}, roles: "agent operator admin", settles: true},
		"CancelRun":          {command: &runs.CancelRun{}, roles: "agent operator admin", settles: true},
		"InterruptSession":   {command: &runs.InterruptSession{}, roles: "agent operator admin", settles: true},
		"AddRule":            {command: &runs.AddRule{SessionID: "s"}, roles: "operator admin"},
		"RevokeRule":         {command: &runs.RevokeRule{SessionID: "s"}, roles: "operator admin", settles: true},
		"ExpireRequests":     {command: &runs.ExpireRequests{}, roles: "agent operator observer admin", settles: true},
		"RetryEffect":        {command: &runs.RetryEffect{}, roles: "admin", settles: true},
		"ReplayMessage":      {command: &runs.ReplayMessage{}, roles: "admin", settles: true},
		"RewrapDataKey":      {command: &runs.RewrapDataKey{}, roles: "admin", settles: true},
	}
}

// The table names every command of the package, so a new one must declare its permissions.
func TestEveryCommandSaysWhoMayGiveIt(t *testing.T) {
	t.Parallel()
	commands := allCommands()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	decides := regexp.MustCompile(`func \(c \*([A-Z][A-Za-z]*)\) decide\(w \*workingCopy\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range decides.FindAllStringSubmatch(string(text), -1) {
			if match[1] != "Call" {
				require.Contains(t, commands, match[1])
			}
		}
	}
	for name, want := range commands {
		spec := want.command.Spec()
		require.Equal(t, name, spec.Name)
		var may []string
		for _, role := range auth.Roles {
			call := &runs.Call{Command: want.command, Caller: &auth.Identity{Role: role, Principal: "p"}}
			if call.Permitted(&spec) == nil {
				may = append(may, string(role))
			}
		}
		require.ElementsMatch(t, strings.Fields(want.roles), may, name)
		require.Equal(t, want.settles, spec.Settles, name)
		require.Equal(t, want.leased, spec.Lease.RunID != "" && !spec.Unleased, name)
		require.Equal(t, want.opens, spec.Adds != runs.Adds{}, name)
		require.Equal(t, want.noTarget, spec.Target == 0, name)
		require.Positive(t, spec.Size().Rows+spec.Size().NewRows+len(want.roles), name)
	}
}

// A decision that writes a rule for all sessions needs a permission for that, too.
func TestADecisionThatWritesARuleNeedsTheRightToWriteIt(t *testing.T) {
	t.Parallel()
	always := &runs.ResolveApprovals{Resolutions: []runs.ApprovalDecision{{Remember: api.RememberAlways}}}
	unknown := &runs.DecideRequests{Approvals: []runs.ApprovalDecision{{Remember: "whatever"}}}
	for _, command := range []runs.Command{always, unknown, &runs.AddRule{}, &runs.RevokeRule{SessionID: "*"}} {
		require.Contains(t, command.Spec().Actions, auth.WriteRuleForAll)
	}
}

// Workers release runs with their last checkpoint. A large one is data like any other.
func TestOnlyASmallCheckpointPassesWithItsRelease(t *testing.T) {
	t.Parallel()
	small, large := make(api.JSON, 1<<10), make(api.JSON, 1<<10+1)
	for _, released := range []struct {
		command runs.Release
		settles bool
	}{
		{runs.Release{}, true},
		{runs.Release{LastError: "failed"}, true},
		{runs.Release{Checkpoint: small}, true},
		{runs.Release{Checkpoint: large}, false},
	} {
		spec := released.command.Spec()
		require.Equal(t, released.settles, spec.Settles)
		require.Greater(t, spec.Size().Stored(), int64(len(released.command.Checkpoint)+len(released.command.LastError)), "its record stays")
	}
}

// incomplete is a command whose Spec omits the required actions or the target.
type incomplete struct {
	runs.Heartbeat
	spec runs.Spec
}

func (c *incomplete) Spec() runs.Spec { return c.spec }

func TestWhatASpecLeavesOutFailsClosed(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.CreateRun{RunID: "r", SessionID: "s", Input: api.JSON(`1`)})
	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	heartbeat := runs.Heartbeat{RunID: "r", Fence: 1}
	h.must(&runs.Call{Command: &heartbeat, Caller: agentNamed("agent:any")})

	noActions := runs.Spec{Name: "noActions", Target: runs.TargetNamed}
	for _, role := range auth.Roles {
		call := &runs.Call{Command: &heartbeat, Caller: &auth.Identity{Role: role}}
		require.Error(t, call.Permitted(&noActions))
	}
	noTarget := heartbeat.Spec()
	noTarget.Target = 0
	h.refused(api.CodeSessionNotFound, &runs.Call{
		Command: &incomplete{heartbeat, noTarget},
		Caller:  &auth.Identity{Role: api.RoleAgent, Principal: "agent:any", SessionPrefixes: []string{"s"}},
	})
	noLease := heartbeat.Spec()
	noLease.Lease = runs.Lease{}
	h.refused(api.CodeLeaseLost, &runs.Call{Command: &incomplete{heartbeat, noLease}, Caller: agentNamed("agent:any")})
}
