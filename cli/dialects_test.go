package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// call makes a plain HTTP call and returns its status and body.
func call(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(read)
}

func inMemory(t *testing.T) []string {
	t.Helper()
	return []string{"--database", "sqlite:" + filepath.Join(t.TempDir(), "data.db")}
}

func TestServeHasTheDialectsThatItIsToldTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flags []string
		has   string
	}{
		{nil, strings.Join(dialects.Names(), " ")},
		{[]string{"--dialects=none"}, ""},
		{[]string{"--dialects=hermes,relay"}, "hermes relay"},
		{[]string{"--dialects", "timbal"}, "timbal"},
	} {
		t.Run("serves "+test.has, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, append(inMemory(t), test.flags...)...)
			_, err := connect(t, url).CreateSession(t.Context(), client.CreateSessionParams{SessionID: "s"})
			require.NoError(t, err)
			for _, mount := range dialects.All(dialects.Options{}) {
				face := mount(kit.Services{})
				want := http.StatusNotFound
				if slices.Contains(strings.Fields(test.has), face.Name) {
					want = http.StatusMethodNotAllowed
				}
				for _, route := range face.Routes {
					status, text := call(t, http.MethodTrace, url+route.Path, "")
					require.Equal(t, want, status, "%s: %s", route.Path, text)
				}
			}
		})
	}
}

func TestServeTakesTheDialectsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), map[string]string{"HOLDPOINT_DIALECTS": "hermes,klingon"}, "", "serve", "--listen", "127.0.0.1:0")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "klingon")
}

// startChat starts a run on the relay face, and stays connected until the test ends.
func startChat(t *testing.T, url string) {
	t.Helper()
	ctx, leave := context.WithCancel(context.WithoutCancel(t.Context()))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat", strings.NewReader(`{"model":"m","messages":[]}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	t.Cleanup(func() {
		leave()
		_ = response.Body.Close() // the connection was cut
	})
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// A run started without an agent id gets the agent of --default-agent.
func TestDefaultAgent(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, append(inMemory(t), "--default-agent", "coder")...)
	startChat(t, url)
	runs, err := connect(t, url).ListRuns(t.Context(), client.RunListParams{})
	require.NoError(t, err)
	require.Len(t, runs.Items, 1)
	require.Equal(t, "coder", runs.Items[0].AgentID)
}

// On the relay face, always applies to the exact call, unless --relay-always says
// otherwise.
func TestRelayAlways(t *testing.T) {
	t.Parallel()
	for always, text := range map[string]string{
		"exact":  `exactly this input: {"command":"git push origin"}`,
		"prefix": `git **`,
	} {
		t.Run(always, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, append(inMemory(t), "--relay-always", always)...)
			c := connect(t, url)
			startChat(t, url)
			claims, err := c.ClaimRuns(t.Context(), client.ClaimRunsParams{WorkerID: "w", WaitMs: 10_000})
			require.NoError(t, err)
			require.Len(t, claims, 1)
			_, err = c.Suspend(t.Context(), claims[0].Run.RunID, claims[0].Lease.Fence, api.Suspension{Approvals: []api.ApprovalRequest{
				{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"git push origin"}`)},
			}})
			require.NoError(t, err)
			open, err := c.ListApprovals(t.Context(), client.PendingListParams{})
			require.NoError(t, err)
			require.Len(t, open.Items, 1)
			status, reply := call(t, http.MethodPost, url+"/chat/relay/"+open.Items[0].Request.Handle,
				fmt.Sprintf(`{"sessionId":%q,"response":{"approved":true,"always":true}}`, open.Items[0].SessionID))
			require.Equal(t, http.StatusOK, status, reply)
			rules, err := c.ListRules(t.Context(), client.RuleListParams{SessionID: open.Items[0].SessionID})
			require.NoError(t, err)
			require.Len(t, rules.Items, 1)
			require.Contains(t, rules.Items[0].Text, text)
		})
	}
}

func TestRuleMaxAge(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, append(inMemory(t), "--rule-max-age", "1h")...)
	rule := client.AddRuleParams{ToolName: "bash", Match: api.RuleMatch{AnyInput: true}, ExpiresAfterMs: client.RememberFor(2 * time.Hour)}
	_, err := connect(t, url).AddRule(t.Context(), rule)
	require.ErrorIs(t, err, client.ErrInvalid)
	rule.ExpiresAfterMs = client.RememberFor(time.Hour)
	_, err = connect(t, url).AddRule(t.Context(), rule)
	require.NoError(t, err)
}

// hook counts the calls to it, and fails the first call of each approval whose payload has
// a certain text.
type hook struct {
	mu     sync.Mutex
	calls  []string
	failed map[string]bool
	fails  string
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body) // an incomplete body fails the test later
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, r.Method+" "+r.Header.Get("Content-Type")+" "+string(text))
	if strings.Contains(string(text), h.fails) && !h.failed[string(text)] {
		h.failed[string(text)] = true
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// with returns the number of calls whose payload has a text.
func (h *hook) with(text string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := 0
	for _, one := range h.calls {
		if strings.HasPrefix(one, "POST application/json {") && strings.Contains(one, text) {
			count++
		}
	}
	return count
}

// Each file-change approval visible to a codex client is posted to the hook once, and again
// only if the hook fails.
func TestReviewHook(t *testing.T) {
	t.Parallel()
	reviewer := &hook{fails: "flaky.txt", failed: map[string]bool{}}
	server := httptest.NewServer(reviewer)
	t.Cleanup(server.Close)
	url, _ := serve(t, append(inMemory(t), "--review-hook", server.URL+"/review")...)
	c := connect(t, url)
	raise := func(session string, files ...string) {
		var asked []api.ApprovalRequest
		for _, file := range files {
			request := api.ApprovalRequest{
				ID: file, ToolCallID: file, ToolName: "edit", Input: api.JSON(`{"path":"` + file + `"}`),
				Metadata: api.JSON(`{"method":"item/fileChange/requestApproval"}`),
			}
			if file == "no-file" {
				request.Metadata = nil
			}
			asked = append(asked, request)
		}
		_, err := c.CreateRun(t.Context(), client.CreateRunParams{SessionID: session, Suspend: &api.Suspension{Approvals: asked}})
		require.NoError(t, err)
	}
	list := func(session string) {
		status, text := call(t, http.MethodGet, url+"/api/sessions/"+session+"/approvals", "")
		require.Equal(t, http.StatusOK, status, text)
	}
	effects := func() int {
		page, err := c.ListEffects(t.Context(), client.EffectListParams{})
		require.NoError(t, err)
		return len(page.Items)
	}
	raise("one", "steady.txt", "flaky.txt", "no-file")
	done := func(count int) {
		t.Helper()
		require.Eventually(t, func() bool {
			page, err := c.ListEffects(t.Context(), client.EffectListParams{State: "done"})
			return err == nil && len(page.Items) == count
		}, patience, 10*time.Millisecond)
	}
	done(2)
	require.Equal(t, 1, reviewer.with("steady.txt"))
	require.Equal(t, 2, reviewer.with("flaky.txt"), "the first call was answered 500")
	// Listing posts nothing, however often it is repeated.
	for range 3 {
		list("one")
	}
	require.Equal(t, 2, effects())
	raise("two", "later.txt")
	done(3)
	require.Equal(t, 1, reviewer.with("later.txt"))
	require.Equal(t, 4, reviewer.with(""), "%v", reviewer.calls)
}
