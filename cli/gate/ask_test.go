package gate

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// interrupted is a transport during whose first call the person presses Ctrl-C.
type interrupted struct {
	http.RoundTripper
	cancel context.CancelCauseFunc
}

func (i *interrupted) RoundTrip(r *http.Request) (*http.Response, error) {
	i.cancel(console.SignalError{Signal: os.Interrupt})
	return i.RoundTripper.RoundTrip(r)
}

// The answer is printed before the run ends with it: the next call with the key gets one that was not
// printed, and nothing takes back one that was.
func TestAnAnswerIsPrintedBeforeItsRunEnds(t *testing.T) {
	t.Parallel()
	const completed = `complete {"run_id":"r","status":"completed"}`
	for name, test := range map[string]struct {
		key        string
		full, stop bool
		replies    []string
		said       string
	}{
		"printed":                    {"k", false, false, []string{completed}, ""},
		"the service is away":        {"k", false, false, []string{"complete 500", completed}, "lost the connection"},
		"another call has the lease": {"k", false, false, []string{`complete {"code":"lease_lost"}`}, ""},
		"Ctrl-C while it is away":    {"k", false, true, []string{"complete 500", completed}, ""},
		"Ctrl-C, and it stays away":  {"", false, true, []string{"complete 500", "complete 404"}, "could not be ended"},
		"not printed":                {"k", true, false, []string{`release {"run_id":"r"}`}, ""},
		"not printed, without a key": {"", true, false, []string{completed}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &proxied{t, test.replies}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			transport := http.RoundTripper(p)
			if test.stop {
				transport = &interrupted{p, cancel}
			}
			opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: transport}),
				client.WithoutMultiplexing(), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
			require.NoError(t, err)
			var out, said bytes.Buffer
			terminal := &console.Console{Stdout: &out, Stderr: &said}
			if test.full {
				terminal.Stdout = full{}
			}
			a := &asking{command: &Ask{}, input: askInput{Question: "Which way?", Free: true}, requestID: "question-1", gate: gate{
				Client: opened, terminal: terminal, noun: "ask", key: test.key, fence: "1", params: client.CreateRunParams{RunID: "r"},
			}}
			request := a.asks(nil).Questions[0]
			claim := &api.Claim{Lease: api.ClaimedLease{Fence: "1"}, Resume: &api.Resume{Questions: []api.SettledQuestion{{
				Request: request, Resolution: api.AnswerForWorker{Outcome: api.OutcomeAnswered, Answers: []api.LabelledAnswer{{FreeformAnswer: "left"}}},
			}}}}
			done, err := a.act(ctx, claim, &askReport{})
			require.True(t, done, name)
			require.Equal(t, !test.full || test.key == "", a.printed, name)
			if test.full {
				require.ErrorContains(t, errors.Join(err, a.ended), "no space left", name)
			} else {
				require.NoError(t, errors.Join(err, a.ended), name)
				require.Equal(t, "left\n", out.String(), name)
			}
			require.Contains(t, said.String(), test.said, name)
			require.NotContains(t, said.String(), "stays open", name)
			require.Empty(t, p.replies, name)
		})
	}
}
