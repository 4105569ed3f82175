package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// testAudit: an export verifies with the service's public keys, and any other file does not.
func testAudit(t *testing.T, a *rig) {
	session := a.name("audited")
	run := a.name("r")
	a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"run_id":%q,"agent_id":"coder","input":1,"suspend":{"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"bash","input":{"command":"make"}}]}}`, session, run)).want(http.StatusAccepted)
	a.post(t, "/v1/runs/"+run+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow"}]}`).want(http.StatusAccepted)

	kept, keeps := a.store.(audit.Checkpoints)
	require.True(t, keeps)
	signer := newSigning(t, a.store.(signing.Keeper))
	checkpointer := audit.NewCheckpointer(kept, signer, slog.New(slog.DiscardHandler))
	require.NoError(t, checkpointer.Look(t.Context()))
	checkpointer.Notice(reads.Notice{SessionID: session, Events: make([]*model.Event, 1000)})
	require.NoError(t, checkpointer.Look(t.Context()))

	// Past the service, which remembers the keys for a while.
	set, err := newSigning(t, a.store.(signing.Keeper)).Public(t.Context())
	require.NoError(t, err)
	keys, err := signing.NewPublic(set)
	require.NoError(t, err)
	export := a.get(t, "/v1/audit/export?session_id="+session).want(http.StatusOK)
	require.Equal(t, "application/x-ndjson", export.header.Get("Content-Type"))
	file := export.text + "\n"
	report, err := audit.Verify(strings.NewReader(file), keys)
	require.NoError(t, err)
	require.Equal(t, audit.Scope{SessionID: session}, report.Scope)
	require.EqualValues(t, 1, report.Chains)
	require.EqualValues(t, strings.Count(file, "\n")-6, report.Events)
	require.EqualValues(t, 2, report.Checkpoints)
	require.EqualValues(t, 1, report.Signed)
	require.Contains(t, export.text, `"approval_resolved"`)

	_, err = audit.Verify(strings.NewReader(strings.Replace(file, `"make"`, `"rm"`, 1)), keys)
	var broken *audit.BrokenError
	require.ErrorAs(t, err, &broken)
	lines := strings.SplitAfter(file, "\n")
	require.Contains(t, lines[broken.Line-1], `"make"`)
	_, err = audit.Verify(strings.NewReader(strings.Join(lines[:len(lines)-2], "")), keys)
	require.ErrorAs(t, err, &broken)
	require.Contains(t, broken.Detail, "cut off")

	all := a.get(t, "/v1/audit/export").want(http.StatusOK)
	report, err = audit.Verify(strings.NewReader(all.text+"\n"), keys)
	require.NoError(t, err)
	require.Positive(t, report.Chains)
	later := a.get(t, "/v1/audit/export?since_ms=9000000000000").want(http.StatusOK)
	report, err = audit.Verify(strings.NewReader(later.text+"\n"), keys)
	require.NoError(t, err)
	require.Zero(t, report.Events)

	a.get(t, "/v1/audit/export?since_ms=soon").refused(api.CodeBadRequest)
	a.get(t, "/v1/audit/export?session_id=nowhere").refused(api.CodeSessionNotFound)
	a.get(t, "/v1/audit/export?session_id=%00").refused(api.CodeSessionNotFound)
}
