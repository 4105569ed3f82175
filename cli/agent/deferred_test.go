package agent

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// lineOf is a line of a transcript with one call of a message of the model.
func lineOf(message, call, more string) string {
	return `{"type":"assistant","version":"2.1.330","message":{"id":"` + message + `","content":[{"type":"tool_use","id":"` + call + `"}]}` + more + "}\n"
}

func TestACallIsFoundInItsTranscript(t *testing.T) {
	t.Parallel()
	const user = `{"type":"user","version":"2.1.330","message":{"role":"user","content":"Clean up"}}` + "\n"
	earlier := lineOf("msg_1", "toolu_0", "")
	for name, one := range map[string]struct {
		text string
		want seenCall
	}{
		"alone":                    {user + earlier + lineOf("msg_2", "toolu_1", ""), seenCall{found: true, version: "2.1.330"}},
		"not there yet":            {user + earlier, seenCall{version: "2.1.330"}},
		"empty":                    {"", seenCall{}},
		"the second of a turn":     {lineOf("msg_2", "toolu_0", "") + lineOf("msg_2", "toolu_1", ""), seenCall{found: true, others: true, version: "2.1.330"}},
		"the first of a turn":      {lineOf("msg_2", "toolu_1", "") + lineOf("msg_2", "toolu_2", ""), seenCall{found: true, others: true, version: "2.1.330"}},
		"a subagent's":             {lineOf("msg_2", "toolu_1", `,"isSidechain":true`), seenCall{found: true, sidechain: true, version: "2.1.330"}},
		"after a line cut off":     {`:"x"}}` + "\n" + lineOf("msg_2", "toolu_1", ""), seenCall{found: true, version: "2.1.330"}},
		"of another version":       {lineOf("msg_2", "toolu_1", "") + strings.Replace(user, "2.1.330", "2.1.89", 1), seenCall{found: true, version: "2.1.89"}},
		"what a user types is not": {strings.Replace(lineOf("msg_2", "toolu_1", ""), "assistant", "user", 1), seenCall{version: "2.1.330"}},
	} {
		require.Equal(t, one.want, seenIn([]byte(one.text), false, "toolu_1"), name)
	}
}

// TestOnlyTheEndOfATranscriptIsRead: a session of days has a large transcript.
func TestOnlyTheEndOfATranscriptIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 2*transcriptTail)+"\n"+lineOf("msg_1", "toolu_1", "")), 0o600))
	text, cut, err := tailOf(path)
	require.NoError(t, err)
	require.True(t, cut)
	require.Len(t, text, transcriptTail)
	require.Equal(t, seenCall{found: true, others: true, version: "2.1.330"}, seenIn(text, cut, "toolu_1"), "the lines that were not read may have other calls of the message")
	earlier := lineOf("msg_0", "toolu_0", "")
	require.False(t, seenIn([]byte(earlier+lineOf("msg_1", "toolu_1", "")), true, "toolu_1").others)
	_, _, err = tailOf(t.TempDir())
	require.Error(t, err)
}

// TestAProcessIsKnownByItsStart: another process that gets the id is another one.
func TestAProcessIsKnownByItsStart(t *testing.T) {
	t.Parallel()
	own := processOf(t.Context(), strconv.Itoa(os.Getpid()))
	require.True(t, own.runs(t.Context()))
	own.Started += "1"
	require.False(t, own.runs(t.Context()))
	for _, id := range []string{"", "x", "0", "-1", "999999999"} {
		require.Equal(t, agentProcess{}, processOf(t.Context(), id), id)
		require.False(t, processOf(t.Context(), id).runs(t.Context()))
	}
	child := exec.Command("sleep", "60")
	require.NoError(t, child.Start())
	running := processOf(t.Context(), strconv.Itoa(child.Process.Pid))
	require.True(t, running.runs(t.Context()))
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	require.False(t, running.runs(t.Context()))
}

func TestSessionsAreResumedInTheirDirectoryOnly(t *testing.T) {
	t.Parallel()
	under := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(under, "work"), 0o700))
	require.NoError(t, os.Symlink("/", filepath.Join(under, "out")))
	for directory, want := range map[string]bool{
		under: true, filepath.Join(under, "work"): true, filepath.Join(under, "gone"): true, filepath.Join(under, "work", ".."): true,
		filepath.Dir(under): false, filepath.Join(under, "..", "x"): false, under + "x": false, "/": false, "": false, "work": false,
		filepath.Join(under, "out"): false,
	} {
		require.Equal(t, want, within(directory, under), directory)
	}
}

// An agent is stopped when its run is for another worker, not because the service cannot say so.
func TestWhetherAnAgentHasItsDecisionIsAskedUntilTheServiceSays(t *testing.T) {
	t.Parallel()
	for status, unread := range map[api.Status]bool{api.StatusCompleted: false, api.StatusRunning: true, api.StatusCancelled: true} {
		var calls atomic.Int64
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			switch calls.Add(1) {
			case 1:
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, `{"code":"unavailable"}`)
				return
			case 2:
				w.WriteHeader(http.StatusNotFound) // a proxy without a backend
				return
			}
			_, _ = io.WriteString(w, `{"run_id":"r","session_id":"s","status":"`+string(status)+`"}`)
		}))
		opened, err := client.New(service.URL, client.WithoutMultiplexing(), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
		require.NoError(t, err)
		require.Equal(t, unread, (&resumer{service: opened}).unread(t.Context(), "r"), status)
		require.Equal(t, int64(3), calls.Load())
		ended, end := context.WithCancel(t.Context())
		end()
		require.False(t, (&resumer{service: opened}).unread(ended, "r"), "the agent has ended by itself")
		opened.Close()
		service.Close()
	}
}

// An agent that has ended is not said to have missed its decision because the service was away.
func TestAServiceThatIsAwaySaysNothingAboutTheDecision(t *testing.T) {
	t.Parallel()
	lost, lose := context.WithCancel(t.Context())
	lose()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	const away = http.StatusServiceUnavailable
	for _, c := range []struct {
		replies  []int
		status   api.Status
		stopping context.Context
		read     bool
		err      error
	}{
		{replies: []int{away, away, http.StatusOK}, status: api.StatusCompleted, stopping: t.Context(), read: true},
		{replies: []int{away, http.StatusOK}, status: api.StatusRunning, stopping: t.Context()},
		{replies: []int{http.StatusNotFound, http.StatusInternalServerError, http.StatusOK}, status: api.StatusRunning, stopping: t.Context()}, // a proxy without a backend
		{replies: []int{http.StatusUnauthorized}, stopping: t.Context(), err: client.ErrUnauthorized},
		{replies: []int{away}, stopping: stopped, err: client.ErrUnavailable},
		{replies: []int{http.StatusOK}, status: api.StatusCompleted, stopping: stopped, read: true},
	} {
		var calls atomic.Int64
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n := int(calls.Add(1))
			if n > len(c.replies) {
				n = len(c.replies)
			}
			w.WriteHeader(c.replies[n-1])
			_, _ = io.WriteString(w, `{"run_id":"r","session_id":"s","status":"`+string(c.status)+`"}`)
		}))
		opened, err := client.New(service.URL, client.WithoutMultiplexing(), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
		require.NoError(t, err)
		read, err := (&resumer{service: opened, stopping: c.stopping}).read(lost, "r")
		require.Equal(t, c.read, read, "%+v", c)
		require.ErrorIs(t, err, c.err, "%+v", c)
		require.Equal(t, int64(len(c.replies)), calls.Load())
		opened.Close()
		service.Close()
	}
}

// A plan in a file is part of the call: once the file has changed, the same call finds no decision about the earlier plan.
func TestACallWithAPlanInAFileIsAnotherOnceTheFileHasChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan")
	input, err := json.Marshal(map[string]string{"planFilePath": path})
	require.NoError(t, err)
	shown := func(plan string) string { return plan }
	keyOf := func(plan, toolUseID string) string {
		require.NoError(t, os.WriteFile(path, []byte(plan), 0o600))
		call, err := (&HookRun{}).callOf(hookInput{SessionID: "s", ToolName: "ExitPlanMode", ToolInput: input, ToolUseID: toolUseID}, 0)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(call.Approval.Description, shown(plan)))
		require.Equal(t, toolUseID, call.Approval.ToolCallID)
		return call.Key
	}
	first := keyOf("Delete the cache", "toolu_1")
	require.Equal(t, first, keyOf("Delete the cache", "toolu_1"))
	require.NotEqual(t, first, keyOf("Delete everything", "toolu_1"))
	require.NotEqual(t, first, keyOf("Delete the cache", "toolu_2"))
	require.Equal(t, "toolu_1", keyOf("", "toolu_1"))
	require.Empty(t, keyOf("Delete the cache", ""), "a call without an id cannot be found again")

	// A person is shown the start of a long plan, and its end counts as well.
	start := strings.Repeat("x", 2*api.MaxTextLength)
	shown = func(string) string { return start[:api.MaxTextLength/2] }
	first = keyOf(start+"Delete the cache", "toolu_1")
	require.Equal(t, first, keyOf(start+"Delete the cache", "toolu_1"))
	require.NotEqual(t, first, keyOf(start+"Delete everything", "toolu_1"))
	huge := strings.Repeat("x", maxHookInput+1)
	first = keyOf(huge, "toolu_1")
	require.NotEqual(t, first, keyOf(huge, "toolu_1"), "a plan that is not read whole is never the same")

	// The plan of the input is shown instead of the file, and is in the input's digest.
	input, err = json.Marshal(map[string]string{"plan": "Delete the logs", "planFilePath": path})
	require.NoError(t, err)
	shown = func(string) string { return "Delete the logs" }
	require.Equal(t, "toolu_1", keyOf("Delete the cache", "toolu_1"))
}
