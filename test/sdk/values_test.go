//go:build unix && agents

package sdk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// exact are values that a double, or an object of JavaScript, does not keep: integers beyond 2^53, digits
// that a double does not have, spellings of a number, and members that are named by digits.
const (
	exactInput   = `{"id":9007199254740993,"x":1.0,"2":1,"1":{"deep":[1.50,0.1234567890123456789]},"text":"é \" \n"}`
	exactUpdated = `{"id":-123456789012345678901234567890,"x":2.0e0,"10":[1e3,-0.0],"9":9007199254740992}`
	exactValue   = `{"b":18446744073709551615,"a":[{"3":1.10,"2":[]}],"1":1E+2}`
)

// TestValuesKeepTheirText carries values through each library, as the worker's and as the deciding side:
// what is recorded is the text that was given.
func TestValuesKeepTheirText(t *testing.T) { //nolint:tparallel // the processes of one suite are enough at a time
	for library, begin := range libraries {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			people := service.ConnectPatiently()
			driver := begin(t, service.URL())
			s := &scene{T: t, driver: driver, service: service}
			do := func(one step) any {
				done := s.await(one.text("do"), s.begin(one))
				require.Nil(t, done.Refused, one.text("do"))
				return done.Result
			}
			do(step{"do": "worker", "worker": "w", "agent": "carry", "handler": "carry"})
			do(step{"do": "create_run", "body": map[string]any{"run_id": "carry", "session_id": "carry", "agent_id": "carry", "input": json.RawMessage(exactInput)}})

			do(step{"do": "shown", "run": "carry", "request": "go"})
			approvals, err := people.ListApprovals(t.Context(), client.PendingListParams{})
			require.NoError(t, err)
			approval := approvals.Items[0]
			require.Equal(t, exactInput, string(approval.Request.Input))
			do(step{"do": "approve", "as": "ann", "shown": approval, "updated_input": json.RawMessage(exactUpdated)})

			do(step{"do": "shown", "run": "carry", "request": "value"})
			questions, err := people.ListQuestions(t.Context(), client.PendingListParams{})
			require.NoError(t, err)
			question := questions.Items[0]
			require.Equal(t, exactInput, string(question.Request.Payload))
			do(step{"do": "answer", "as": "ann", "shown": question, "value": json.RawMessage(exactValue)})

			run, err := people.WaitRun(rig.Soon(t), "carry", client.UntilTerminal)
			require.NoError(t, err)
			require.Equal(t, api.StatusCompleted, run.Status, run.Error)
			require.Equal(t, `{"input":`+exactInput+`,"updated":`+exactUpdated+`,"checkpoint":`+exactInput+`,"value":`+exactValue+`}`, string(run.Output))
			events, err := people.ListRunEvents(t.Context(), "carry", client.EventListParams{})
			require.NoError(t, err)
			texts := []string{}
			for _, entry := range events {
				texts = append(texts, string(entry.Event))
			}
			require.Contains(t, texts, `{"type":"carried","value":`+exactValue+`}`)
			do(step{"do": "stop_worker", "worker": "w"})
		})
	}
}

// TestEncodingKeepsText holds the encoders of the libraries to what they promise.
func TestEncodingKeepsText(t *testing.T) {
	for library, command := range map[string]func(t *testing.T) (directory string, words []string){
		"node": func(t *testing.T) (string, []string) {
			return nodeScript(t, "encoding.mjs"), []string{"node", "encoding.mjs"}
		},
		"deno": func(t *testing.T) (string, []string) {
			return nodeScript(t, "encoding.mjs"), []string{needDeno(t), "run", "--quiet", "--allow-read", "encoding.mjs"}
		},
		"python": func(t *testing.T) (string, []string) { return ".", []string{needPython(t), "-B", "encoding.py"} },
	} {
		t.Run(library, func(t *testing.T) {
			directory, words := command(t)
			said, err := run(directory, words[0], words[1:]...)
			require.NoError(t, err)
			require.Equal(t, "0 failed", strings.TrimSpace(said))
		})
	}
}
