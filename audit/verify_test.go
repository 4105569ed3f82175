package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/chain"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ledger is a source with sessions of events.
type ledger map[string][]model.Event

func (l ledger) SessionHead(_ context.Context, sessionID string) (*model.Session, error) {
	if l[sessionID] == nil {
		return nil, refusal.UnknownSession(sessionID)
	}
	return &model.Session{SessionID: sessionID}, nil
}

func (l ledger) Sessions(_ context.Context, q reads.SessionQuery) (page []model.SessionSummary, _ error) {
	var ids []string
	for id := range l {
		if id > q.After {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids[:min(len(ids), q.Limit)] {
		row := model.Session{SessionID: id}
		if events := l[id]; len(events) > 0 {
			row.UpdatedAtMs = events[len(events)-1].TimestampMs
		}
		page = append(page, model.SessionSummary{Session: row})
	}
	return page, nil
}

func (l ledger) EventsWithin(_ context.Context, q reads.EventQuery) (events []model.Event, more bool, _ error) {
	for _, event := range l[q.SessionID] {
		if event.EventID > q.After && len(events) < 3 { // small pages
			events = append(events, event)
		}
	}
	return events, len(events) > 0 && events[len(events)-1].EventID < int64(len(l[q.SessionID])), nil
}

func (l ledger) add(t *testing.T, sessionID string, body string) {
	t.Helper()
	digest, err := chain.BodyDigest([]byte(body))
	require.NoError(t, err)
	prev := ""
	if events := l[sessionID]; len(events) > 0 {
		prev = events[len(events)-1].Hash()
	}
	var typed struct {
		Type api.EventType `json:"type"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &typed))
	l[sessionID] = append(l[sessionID], model.Event{
		SessionID: sessionID, EventID: int64(len(l[sessionID]) + 1), RunID: "run-" + sessionID, AgentID: "coder", Type: typed.Type,
		TimestampMs: int64(1000 + len(l[sessionID])), Body: api.JSON(body), Actor: "user:ada", BodyDigest: digest, Prev: prev,
	})
}

func newLedger(t *testing.T) ledger {
	t.Helper()
	l := ledger{}
	for _, id := range []string{"a", "b", "c"} {
		for i := range 8 {
			l.add(t, id, fmt.Sprintf(`{"type":"progress","n":%d,"text":"hello","session":%q}`, i, id))
		}
	}
	return l
}

func newKeys(t *testing.T) (*signing.Keys, *signing.Public) {
	t.Helper()
	private, err := signing.Generate()
	require.NoError(t, err)
	keys, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return 5000 })
	require.NoError(t, err)
	set, err := keys.Public(t.Context())
	require.NoError(t, err)
	public, err := signing.NewPublic(set)
	require.NoError(t, err)
	return keys, public
}

func exported(t *testing.T, source audit.Sources, keys *signing.Keys, scope audit.Scope) []string {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, audit.Export(t.Context(), &file, source, keys, scope, at(5000)))
	lines := strings.SplitAfter(file.String(), "\n")
	return lines[:len(lines)-1]
}

// at returns a clock that stands at one of the times after the other, and at the last one from then on.
func at(times ...int64) func(context.Context) (int64, error) {
	return func(context.Context) (int64, error) {
		nowMs := times[0]
		times = times[min(1, len(times)-1):]
		return nowMs, nil
	}
}

func verify(lines []string, keys *signing.Public) (audit.Report, error) {
	return audit.Verify(strings.NewReader(strings.Join(lines, "")), keys)
}

func TestWholeExports(t *testing.T) {
	t.Parallel()
	keys, public := newKeys(t)
	l := newLedger(t)
	for name, wanted := range map[string]struct {
		scope  audit.Scope
		report audit.Report
	}{
		"all":     {audit.Scope{}, audit.Report{Chains: 3, Events: 24}},
		"session": {audit.Scope{SessionID: "b"}, audit.Report{Chains: 1, Events: 8}},
		"since":   {audit.Scope{SinceMs: 1005}, audit.Report{Chains: 3, Events: 9}},
		"nothing": {audit.Scope{SinceMs: 2000}, audit.Report{}},
	} {
		report, err := verify(exported(t, audit.Sources{Log: l}, keys, wanted.scope), public)
		require.NoError(t, err, name)
		wanted.report.Scope, wanted.report.AtMs, wanted.report.EndMs = wanted.scope, 5000, 5000
		require.Equal(t, wanted.report, report, name)
	}
	err := audit.Export(t.Context(), io.Discard, audit.Sources{Log: l}, keys, audit.Scope{SessionID: "nowhere"}, at(1))
	require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err))
	err = audit.Export(t.Context(), io.Discard, audit.Sources{Log: l}, keys, audit.Scope{SessionID: "\x00"}, at(1))
	require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err))

	redacted := &l["b"][3]
	redacted.Body = api.JSON(`{"type":"progress","redacted":true,"body_digest":"` + redacted.BodyDigest + `"}`)
	l["c"][0] = model.Event{SessionID: "c", EventID: 1, RunID: "run-c", Type: "progress", Body: api.JSON(`{"type":"progress"}`)}
	l["c"] = l["c"][:1]
	l.add(t, "c", `{"type":"progress"}`)
	report, err := verify(exported(t, audit.Sources{Log: l}, keys, audit.Scope{}), public)
	require.NoError(t, err)
	require.EqualValues(t, 1, report.Redacted)
	require.EqualValues(t, 1, report.Unchained)
}

// TestChangesAreFound: for any change to a file, the error names the first changed line.
func TestChangesAreFound(t *testing.T) {
	t.Parallel()
	keys, public := newKeys(t)
	l := newLedger(t)
	whole := exported(t, audit.Sources{Log: l}, keys, audit.Scope{})
	// Lines 1: header; 2: chain a; 3 to 10: its events; 11: its end; 12: chain b.
	onLine := func(line int, old, now string) func([]string) []string {
		return func(lines []string) []string {
			require.Contains(t, lines[line-1], old)
			lines[line-1] = strings.Replace(lines[line-1], old, now, 1)
			return lines
		}
	}
	other, _ := newKeys(t)
	forged := exported(t, audit.Sources{Log: l}, other, audit.Scope{})
	// A forger who recomputes every hash cannot sign the last line.
	rewritten := newLedger(t)
	rewritten["a"] = nil
	for range 8 {
		rewritten.add(t, "a", `{"type":"progress","text":"nothing happened"}`)
	}
	anew := exported(t, audit.Sources{Log: rewritten}, other, audit.Scope{})
	for name, c := range map[string]struct {
		change func(lines []string) []string
		line   int64
		says   string
	}{
		"body":                     {onLine(5, "hello", "hullo"), 5, "the body of event 3"},
		"body redacted by another": {onLine(5, `"n":2,"text":"hello"`, `"redacted":true,"body_digest":"`+strings.Repeat("0", 64)+`"`), 5, "the body of event 3"},
		"body redacted in part":    {onLine(5, `"n":2,"text":"hello"`, `"redacted":true,"body_digest":"`+l["a"][2].BodyDigest+`"`), 5, "the body of event 3"},
		"actor":                    {onLine(5, "user:ada", "user:bob"), 5, "event 3"},
		"time":                     {onLine(5, `"timestamp_ms":1002`, `"timestamp_ms":1001`), 5, "event 3"},
		"run":                      {onLine(5, `"run-a"`, `"run-b"`), 5, "event 3"},
		"type":                     {onLine(5, `"progress"`, `"output"`), 5, "event 3"},
		"hash":                     {onLine(5, `"hash":"`, `"hash":"0`), 5, "event 3"},
		"agent":                    {onLine(5, `"coder"`, `"codex"`), 32, "an earlier line was changed"},
		"no JSON":                  {onLine(5, `{`, `[`), 5, "not a JSON object"},
		"dropped":                  {func(l []string) []string { return slices.Delete(l, 4, 5) }, 5, "event 3 of session a is missing"},
		"first dropped":            {func(l []string) []string { return slices.Delete(l, 2, 3) }, 3, "event 1 of session a is missing"},
		"last dropped":             {func(l []string) []string { return slices.Delete(l, 9, 10) }, 10, "event \"8\" of session a is missing"},
		"doubled":                  {func(l []string) []string { return slices.Insert(l, 5, l[4]) }, 6, "event 3 of session a appears twice"},
		"swapped":                  {func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }, 5, "event 3 of session a belongs here but comes later"},
		"sessions swapped":         {func(l []string) []string { return slices.Concat(l[:1], l[11:21], l[1:11], l[21:]) }, 12, "lines were reordered"},
		"session dropped":          {func(l []string) []string { return slices.Delete(l, 1, 11) }, 22, "24 events, 0 entries of the audit log and 0 checkpoints were exported"},
		"of another":               {func(l []string) []string { return slices.Insert(l, 5, l[15]) }, 6, "does not belong here"},
		"cut end":                  {func(l []string) []string { return l[:20] }, 21, "cut off"},
		"without its last":         {func(l []string) []string { return l[:len(l)-1] }, 32, "cut off"},
		"cut within":               {func(l []string) []string { l = l[:20]; l[19] = l[19][:30]; return l }, 20, "cut off"},
		"nothing":                  {func([]string) []string { return nil }, 1, "cut off"},
		"without header":           {func(l []string) []string { return l[1:] }, 1, "the beginning is missing"},
		"two headers":              {func(l []string) []string { return slices.Insert(l, 1, l[0]) }, 2, "second header"},
		"more":                     {func(l []string) []string { return append(l, l[4]) }, 33, "after the last line"},
		"empty line":               {func(l []string) []string { return slices.Insert(l, 3, "\n") }, 4, "not a JSON object"},
		"forged":                   {func([]string) []string { return forged }, 1, "is not among the known ones"},
		"forged end":               {func(l []string) []string { l[31] = forged[31]; return l }, 32, "is not among the known ones"},
		"end of another":           {func(l []string) []string { l[31] = strings.Replace(l[0], "header", "trailer", 1); return l }, 32, "it was made for"},
		"hashes recomputed":        {func(l []string) []string { return slices.Concat(l[:1], anew[1:31], l[31:]) }, 32, "an earlier line was changed"},
		"chain line":               {onLine(12, `"after_id":"0"`, `"after_id":"-1"`), 12, "after_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := verify(c.change(slices.Clone(whole)), public)
			var broken *audit.BrokenError
			require.ErrorAs(t, err, &broken)
			require.Equal(t, c.line, broken.Line, broken.Detail)
			require.Contains(t, broken.Detail, c.says)
		})
	}
}

// FuzzVerify: no file makes the verifier panic, and only the exported file verifies.
func FuzzVerify(f *testing.F) {
	t := &testing.T{}
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	keys, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return 5000 })
	require.NoError(f, err)
	set, err := keys.Public(f.Context())
	require.NoError(f, err)
	public, err := signing.NewPublic(set)
	require.NoError(f, err)
	l := ledger{}
	l.add(t, "a", `{"type":"progress","text":"hello"}`)
	l.add(t, "a", `{"type":"progress"}`)
	var whole bytes.Buffer
	require.NoError(f, audit.Export(f.Context(), &whole, audit.Sources{Log: l}, keys, audit.Scope{}, at(5000)))
	f.Add(whole.Bytes())
	f.Add([]byte("{}\n"))
	f.Add(bytes.Replace(whole.Bytes(), []byte("hello"), []byte("hullo"), 1))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := audit.Verify(bytes.NewReader(file), public); err == nil {
			require.Equal(t, whole.String(), string(file))
		}
	})
}
