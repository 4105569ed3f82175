package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

func TestTheJournalSaysWhoDecidedWhatByWhichWay(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	dropTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	journal := NewJournal(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{ReplaceAttr: dropTime})))
	settled := model.Request{
		SessionID: "s", RunID: "r", RequestID: "a", Kind: model.KindApproval, Outcome: api.OutcomeAllowed, CreatedAtMs: 5, SettledAtMs: 12,
		Body:       api.JSON(`{"input":"secret-input"}`),
		Resolution: api.JSON(`{"updated_input":"secret-edit","resolved_by":"ada","via":"api:cli","via_principal":"token:t"}`),
	}
	open := model.Request{SessionID: "s", RunID: "r", RequestID: "b", Kind: model.KindQuestion}
	asked := settled
	asked.Kind = model.KindClarification
	journal.Committed([]runs.Change{{Rows: runs.Rows{NewRequests: []*model.Request{&open}, SettledRequests: []*model.Request{&settled, &asked}}}})
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, journal.Run(ended), "what is left is logged")
	require.Equal(t, `{"level":"INFO","msg":"decision","kind":"approval","outcome":"allowed","resolved_by":"ada","via":"api:cli",`+
		`"session_id":"s","run_id":"r","request_id":"a","waited_ms":7,"principal":"token:t"}`+"\n", log.String())
}

func TestASlowLogSlowsNoDecision(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	journal := NewJournal(slog.New(slog.NewJSONHandler(&log, nil)))
	request := model.Request{Kind: model.KindApproval, Outcome: api.OutcomeDenied}
	for range journalSize + 3 {
		journal.Committed([]runs.Change{{Rows: runs.Rows{SettledRequests: []*model.Request{&request}}}})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, journal.Run(ended))
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("were not logged")))
	require.Contains(t, log.String(), `"decisions":3}`)
	require.Equal(t, journalSize, bytes.Count(log.Bytes(), []byte(`"msg":"decision"`)))

	// Answers may be long. Once they are logged, there is room again.
	log.Reset()
	request.Resolution = api.JSON(`{"resolved_by":"ada","reason":"` + strings.Repeat("x", journalBytes/4) + `"}`)
	for range 2 {
		for range 5 {
			journal.Committed([]runs.Change{{Rows: runs.Rows{SettledRequests: []*model.Request{&request}}}})
		}
		require.NoError(t, journal.Run(ended))
	}
	require.Equal(t, 2, bytes.Count(log.Bytes(), []byte(`"decisions":2}`)))
	require.Equal(t, 6, bytes.Count(log.Bytes(), []byte(`"resolved_by":"ada"`)))

	quiet := NewJournal(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	quiet.Committed([]runs.Change{{Rows: runs.Rows{SettledRequests: []*model.Request{&request}}}})
	require.Empty(t, quiet.settled)
}
