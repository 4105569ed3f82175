package faces

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fate is the state that a late caller finds.
type fate struct {
	prompt   Prompt
	recorded Resolution
	// status is the status of the prompt's run, agentID the run's agent.
	status, agentID string
	// sibling says that the run waits for another prompt of the same kind.
	sibling bool
	// chatOver says that the chat's run has ended.
	chatOver bool
	// dueAtMs is the prompt's deadline.
	dueAtMs int64
}

func (f *fate) over() bool { return f.status != "running" && !strings.HasPrefix(f.status, "waiting") }

// requireLost checks the whole reply to a late call against the race table.
func requireLost(t *testing.T, face Face, what Decision, f *fate, got Reply) {
	t.Helper()
	status, body := lost(t, face, what, f, got)
	require.Equal(t, status, got.Status, "%s: %s: %s", face.Name(), what.Verb, got.Body)
	require.Equal(t, body, got.Body, "%s: %s", face.Name(), what.Verb)
}

// lateFace is a face whose reply to a late decision depends on the prompt alone.
type lateFace interface {
	Face
	Late(about Prompt) (status int, body string)
}

// lost returns the reply that a face gives to a late call. got is the reply that came.
func lost(t *testing.T, face Face, what Decision, f *fate, got Reply) (status int, body string) {
	t.Helper()
	switch face := face.(type) {
	case Native:
		if f.prompt.Kind == Approval {
			return nativeLostApproval(f)
		}
		return nativeLostQuestion(what, f)
	case Hermes:
		if f.prompt.Kind == Approval && f.over() && got.Status == http.StatusConflict {
			// The look-up happened while the run still waited.
			return got.Status, "{\n  \"ok\": false,\n  \"choice\": \"once\",\n  \"relayed\": false,\n  \"code\": \"gateway_run_unavailable\",\n" +
				"  \"error\": \"The run has ended; there is nothing left to approve.\"\n}"
		}
		return hermesLost(what, f)
	case lateFace:
		return face.Late(f.prompt)
	case Timbal:
		output := timbalLostOutput(what, f)
		if f.prompt.Kind == Several && strings.Contains(got.Body, f.prompt.Handle+":way") {
			// The winner answered question by question: the first one is already answered.
			output = strings.Replace(output, ":notes", ":way", 1)
		}
		require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
		return http.StatusOK, timbalLost(t, f, output, got)
	case Relay:
		if got.Status == http.StatusOK {
			// The client follows no stream, so this reply has to tell it who decided.
			require.Contains(t, got.Body, fmt.Sprintf(`{"success":false,"resolution":{"request_id":%q,"outcome":%q,`, f.recorded.RequestID, f.recorded.Outcome))
			require.Contains(t, got.Body, fmt.Sprintf(`"resolved_by":%q,"resolved_at_ms":%d,"via":%q`, f.recorded.ResolvedBy, f.recorded.ResolvedAtMs, f.recorded.Via))
			return got.Status, got.Body
		}
		if f.chatOver {
			return http.StatusNotFound, `{"error":"Session not found"}`
		}
		return http.StatusNotFound, `{"error":"Relay not found"}`
	}
	panic("a face without a column in the race table")
}

// nativeLostApproval is /v1's reply to a late decision about an approval
// (docs/spec/v1.md#late-decisions).
func nativeLostApproval(f *fate) (status int, body string) {
	switch {
	case f.over():
		return f.problem(http.StatusConflict, "runs", "run_state_conflict", "run %s is already %s", f.prompt.RunID, f.status)
	case f.sibling:
		return f.problem(http.StatusBadRequest, "approvals", "approval_request_not_pending",
			"approval resolution references unknown pending request %s", f.prompt.RequestID)
	}
	return f.problem(http.StatusConflict, "approvals", "approval_state_conflict", "run %s is not waiting for approval", f.prompt.RunID)
}

// nativeLostQuestion is /v1's reply to a late answer (docs/spec/v1.md#late-decisions).
func nativeLostQuestion(what Decision, f *fate) (status int, body string) {
	id, recorded := f.prompt.RequestID, &f.recorded
	switch {
	case f.prompt.Kind == Clarification && what.Verb != Stop && recorded.Outcome != "expired":
		return f.problem(http.StatusConflict, "questions", "question_resolution_conflict",
			"run %s was already resolved with a different answer", f.prompt.RunID)
	case f.sibling && f.prompt.Kind != Clarification:
		verb := "resolution"
		if what.Verb == Stop {
			verb = "cancel"
		}
		return f.problem(http.StatusBadRequest, "questions", "question_request_mismatch",
			"user-question %s %s does not match any pending request on run %s", verb, id, f.prompt.RunID)
	case recorded.Outcome == "expired" && recorded.Via == "clock":
		return f.problem(http.StatusConflict, "questions", "question_expired", "user-question request %s expired at %d", id, f.dueAtMs)
	case recorded.Outcome == "expired":
		return f.problem(http.StatusConflict, "questions", "question_expired", "user-question request %s expired when its run ended", id)
	case recorded.Outcome == "cancelled":
		why := ""
		if reason := f.reason(true); reason != "" {
			why = ": " + reason
		}
		return f.problem(http.StatusConflict, "questions", "question_state_conflict", "user-question request %s cancelled%s", id, why)
	}
	return f.problem(http.StatusConflict, "questions", "question_state_conflict",
		"run %s is not waiting for user input: request %s was %s", f.prompt.RunID, id, recorded.Outcome)
}

// reason is why a request was settled. When it has two texts, the justification comes first or
// last.
func (f *fate) reason(justificationFirst bool) string {
	justification := ""
	if f.recorded.Justification != nil {
		justification = *f.recorded.Justification
	}
	if justificationFirst {
		return cmp.Or(justification, f.recorded.Reason)
	}
	return cmp.Or(f.recorded.Reason, justification)
}

// problem is the problem document with the recorded decision.
func (f *fate) problem(status int, domain, code, format string, args ...any) (int, string) {
	return status, fmt.Sprintf(`{"type":"urn:holdpoint:problem:%s","title":%q,"status":%d,"detail":%q,"code":%q,"domain":%q,`+
		`"recorded_decision":{"request_id":%q,"outcome":%q,"resolved_by":%q,"resolved_at_ms":%d,"via":%q}}`,
		code, http.StatusText(status), status, fmt.Sprintf(format, args...)+"; "+f.decided(), code, domain,
		f.recorded.RequestID, f.recorded.Outcome, f.recorded.ResolvedBy, f.recorded.ResolvedAtMs, f.recorded.Via)
}

// decided says who decided, when and how.
func (f *fate) decided() string {
	return fmt.Sprintf("%s was %s by %s at %s, via %s", f.recorded.RequestID, f.recorded.Outcome, f.recorded.ResolvedBy,
		time.UnixMilli(f.recorded.ResolvedAtMs).UTC().Format(time.RFC3339), f.recorded.Via)
}

func hermesLost(what Decision, f *fate) (status int, body string) {
	switch {
	case f.prompt.Kind != Approval:
		return http.StatusConflict, "{\n  \"ok\": false,\n" +
			"  \"error\": \"Clarification prompt expired or not found. The agent may have already proceeded.\",\n  \"stale\": true\n}"
	case f.sibling:
		return http.StatusOK, "{\n  \"ok\": false,\n  \"choice\": \"" + Choices[what.Verb] + "\"\n}"
	default:
		return http.StatusOK, "{\n  \"ok\": true,\n  \"choice\": \"" + Choices[what.Verb] + "\",\n  \"stale_cleared\": true\n}"
	}
}

// timbalLostOutput is the status and output of the OUTPUT event for a late decision.
func timbalLostOutput(what Decision, f *fate) string {
	id := f.prompt.Handle
	if f.prompt.Kind == Several && what.Verb == Answer {
		id += ":notes" // the first in the map
	}
	if f.recorded.Outcome != "cancelled" && f.recorded.Outcome != "expired" {
		name := "suspension_id"
		if f.prompt.Kind == Approval {
			name = "approval_id"
		}
		return fmt.Sprintf(`"status":{"code":"cancelled","reason":"approval_already_claimed",`+
			`"message":"Approval was already claimed by another resume run."},"output":{%q:%q,"status":"approval_already_claimed"}`, name, id)
	}
	reason, message := "null", "Run cancelled by user."
	if why := f.reason(false); why != "" {
		reason, message = fmt.Sprintf("%q", why), why
	}
	first := ""
	if f.prompt.Kind == Approval {
		first = fmt.Sprintf(`"approval_id":%q,`, id)
	}
	return fmt.Sprintf(`"status":{"code":"cancelled","reason":"cancelled","message":%q},"output":{%s"status":"cancelled","reason":%s}`,
		message, first, reason)
}

var (
	timesOfOutput = regexp.MustCompile(`"t0":(\d+),"t1":(\d+)`)
	askedAt       = regexp.MustCompile(`"created_at_ms":\d+`)
)

// timbalLost is the stream of a late decision: a START and an OUTPUT of a run that is in no log.
func timbalLost(t *testing.T, f *fate, output string, got Reply) string {
	t.Helper()
	runID := got.Header.Get(RunIDHeader)
	require.Regexp(t, "^"+regexp.QuoteMeta(f.prompt.RunID)+`~\d+\.x[0-9a-f]{8}$`, runID, "%s", got.Body)
	times := timesOfOutput.FindStringSubmatch(got.Body)
	require.Len(t, times, 3, "%s", got.Body)
	require.Equal(t, times[1], times[2])
	input := `{"model":"none","messages":[{"role":"user","content":"go"}]}`
	if f.prompt.Kind == Clarification {
		// It was asked in one session before the other session showed it.
		input = askedAt.ReplaceAllString(f.prompt.Input, askedAt.FindString(got.Body))
	}
	header := func(name string) string {
		return fmt.Sprintf(`"type":%q,"run_id":%q,"parent_run_id":%q,"path":%q,"call_id":%q,"parent_call_id":null`,
			name, runID, f.prompt.RunID, f.agentID, f.prompt.RunID)
	}
	return "id: 1\ndata: {" + header("START") + "}\n\n" +
		"id: 2\ndata: {" + header("OUTPUT") + `,"input":` + input + "," + output +
		`,"error":null,"t0":` + times[1] + `,"t1":` + times[1] + `,"usage":{},"metadata":{}}` + "\n\n"
}
