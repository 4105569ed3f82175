//go:build faults

package crash

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/rig"
)

// redactionPoints are always tried: after the lock, after the rows, after the commit, and
// before and after the reply. The failpoints of the statements between them are recorded,
// and a sample of them is tried.
var redactionPoints = []point{
	{"redact.locked", 1},
	{"redact.rows", 1},
	{"redact.committed", 1},
	{"http.reply", 1},
	{"http.written", 1},
}

// redactionSample is how many points of statements are tried.
const redactionSample = 3

// TestRedactionKilled kills the service during a redaction. The redaction is then complete or was
// never begun, for the audit's export and for the doctor, and a repeated call gets the original
// reply.
func TestRedactionKilled(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		service := &replica{plan: filepath.Join(t.TempDir(), "plan")}
		service.Process = rig.Start(t, rig.Options{
			Program: rig.Program(t, "failpoints"), Database: database, Env: []string{failpoint.Variable + "=" + service.plan},
		})
		recorded := &redactedPast{t: t, c: service.Connect(), name: "recorded"}
		recorded.make()
		require.NoError(t, service.arm("record"))
		require.NoError(t, recorded.redact())
		text, err := os.ReadFile(service.plan + ".hits")
		require.NoError(t, err)
		require.NoError(t, os.Remove(service.plan))
		recorded.requireWhole(true)

		for i, at := range append(slices.Clone(redactionPoints), pointsWithin(t, string(text))...) {
			past := &redactedPast{t: t, c: service.Connect(), name: fmt.Sprintf("p%d", i)}
			past.make()
			require.NoError(t, service.arm("kill "+at.String()))
			called := past.redact()
			acknowledged := called == nil
			if !acknowledged {
				require.ErrorIs(t, called, client.ErrUnavailable, "killed at %s", at)
			}
			named := slices.Contains(redactionPoints, at)
			if named {
				require.True(t, !acknowledged || at.name == "http.written", "the reply came at %s", at)
				<-service.Ended()
				rig.RequireHealthy(t, database)
			}
			_, err := service.crash()
			require.NoError(t, err)
			require.NoError(t, service.AwaitReady())
			past.c = service.Connect()
			gone := past.requireWhole(false)
			switch {
			case at.name == "redact.locked" || at.name == "redact.rows":
				require.False(t, gone, "killed at %s, before the commit", at)
			case named || acknowledged:
				require.True(t, gone, "killed at %s, behind the commit", at)
			}
			for range 2 {
				require.NoError(t, past.redact())
				require.True(t, past.requireWhole(true), "killed at %s", at)
			}
		}
		service.Kill()
		<-service.Ended()
		rig.RequireHealthy(t, database)
	})
}

// pointsWithin returns points of the statements of a redaction, spread over all of them, from the hits of a
// recorded call.
func pointsWithin(t *testing.T, hits string) []point {
	t.Helper()
	counts, within := map[string]int{}, false
	var points []point
	for name := range strings.Lines(hits) {
		name = strings.TrimSpace(name)
		counts[name]++
		within = within && name != "redact.committed" || name == "redact.locked"
		// The number of reads per answer varies.
		if within && !strings.HasPrefix(name, "redact.") && !strings.HasSuffix(name, ".received") {
			points = append(points, point{name, counts[name]})
		}
	}
	require.Greater(t, len(points), redactionSample, "the statements have points")
	if full() {
		return points
	}
	sample := []point{points[len(points)-1]} // of the commit
	for i := range redactionSample - 1 {
		sample = append(sample, points[(i+1)*len(points)/redactionSample])
	}
	return sample
}

// redactedPast is a session that is redacted: a run that asked for an approval and a question, said
// something, and is over.
type redactedPast struct {
	t    *testing.T
	c    *client.Client
	name string
	// eventIDs are its events, and hashes their hashes before anything was taken out.
	eventIDs, hashes []string
}

const redactedSecret = "correct-horse-battery"

func (p *redactedPast) make() {
	p.t.Helper()
	ctx := p.t.Context()
	suspension := rig.Approvals("a")
	suspension.Approvals[0].Reason = redactedSecret
	suspension.Approvals[0].Input = api.JSON(`{"to":"` + redactedSecret + `"}`)
	question := rig.Question("way")
	question.Questions[0].Question = redactedSecret
	suspension.Questions = []api.UserQuestionRequest{question}
	_, err := p.c.CreateRun(ctx, client.CreateRunParams{RunID: p.name, SessionID: p.name, AgentID: p.name, Input: 1, Suspend: suspension})
	require.NoError(p.t, err)
	_, err = p.c.ResolveRunApprovals(ctx, p.name, rig.Decide(rig.Allow("a")))
	require.NoError(p.t, err)
	_, err = p.c.AnswerRunQuestion(ctx, p.name, rig.Choose("way", "left"))
	require.NoError(p.t, err)
	work := &trial{ctx: ctx, client: p.c, runID: p.name, sessionID: p.name, agentID: p.name}
	claim, err := work.claimNext(longLeaseMs)
	require.NoError(p.t, err)
	_, err = p.c.AppendEvents(ctx, p.name, claim.Lease.Fence, []api.JSON{api.JSON(`{"type":"output","content":"` + redactedSecret + `"}`)})
	require.NoError(p.t, err)
	_, err = p.c.CompleteRun(ctx, p.name, claim.Lease.Fence, api.JSON(`{"said":"`+redactedSecret+`"}`))
	require.NoError(p.t, err)
	p.eventIDs, p.hashes = p.read()
}

// read returns the numbers and the hashes of the events.
func (p *redactedPast) read() (ids, hashes []string) {
	p.t.Helper()
	page, err := p.c.ListSessionEvents(p.t.Context(), p.name, client.EventListParams{})
	require.NoError(p.t, err)
	for _, event := range page {
		ids, hashes = append(ids, event.ID), append(hashes, event.Hash)
	}
	require.NotEmpty(p.t, ids)
	return ids, hashes
}

// redact makes the call, whose reply has the number of events without a body.
func (p *redactedPast) redact() error {
	p.t.Helper()
	reply, err := p.c.Redact(p.t.Context(), p.name, api.RedactBody{EventIDs: p.eventIDs, Reason: "asked for"})
	if err == nil {
		require.EqualValues(p.t, len(p.eventIDs), reply.Redacted)
	}
	return err
}

// requireWhole checks that all of the session was redacted or nothing, with its line in the audit's own
// log, that the chain is as it was, and that an export of it verifies. It returns which it is.
func (p *redactedPast) requireWhole(gone bool) bool {
	p.t.Helper()
	ctx := p.t.Context()
	ids, hashes := p.read()
	require.Equal(p.t, p.eventIDs, ids)
	require.Equal(p.t, p.hashes, hashes)

	var export bytes.Buffer
	require.NoError(p.t, p.c.ExportAudit(ctx, client.AuditExportParams{SessionID: p.name}, &export))
	set, err := p.c.Keys(ctx)
	require.NoError(p.t, err)
	keys, err := signing.NewPublic(*set)
	require.NoError(p.t, err)
	report, err := audit.Verify(bytes.NewReader(export.Bytes()), keys)
	require.NoError(p.t, err)
	if !gone {
		gone = report.Redacted > 0
	}

	run, err := p.c.GetRun(ctx, p.name)
	require.NoError(p.t, err)
	require.Equal(p.t, api.StatusCompleted, run.Status)
	decided, err := p.c.ListDecisions(ctx, client.DecisionListParams{SessionID: p.name})
	require.NoError(p.t, err)
	require.Len(p.t, decided.Items, 2)
	shown, err := json.Marshal([]any{run, decided})
	require.NoError(p.t, err)
	lines := 0
	for cursor := ""; ; {
		page, err := p.c.ListAudit(ctx, client.AuditListParams{Cursor: cursor})
		require.NoError(p.t, err)
		for _, line := range page.Data {
			var event api.AuditEvent
			require.NoError(p.t, json.Unmarshal(line.Event, &event))
			if event.Type == api.AuditEventsRedacted && event.SessionID == p.name {
				require.Equal(p.t, p.eventIDs, event.EventIDs)
				lines++
			}
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	if gone {
		require.EqualValues(p.t, len(p.eventIDs), report.Redacted, "all of them")
		require.Equal(p.t, 1, lines, "one line in the audit's own log")
		require.NotContains(p.t, string(shown)+export.String(), redactedSecret)
	} else {
		require.Zero(p.t, report.Redacted)
		require.Zero(p.t, lines)
		for _, what := range []string{`"said":"`, `"to":"`, `"question":"`} {
			require.Contains(p.t, string(shown)+export.String(), what+redactedSecret)
		}
	}
	return gone
}
