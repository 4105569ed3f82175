package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// A client of an earlier revision answers the form: the answer is recorded as the client sent it, without defaults that
// the person left out, and it is not lost where the library of the protocol has its own view of the schema.
func TestADialogRecordsWhatThePersonFilledIn(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	for name, row := range map[string]struct {
		properties string
		given      map[string]any
		recorded   string // "" for an answer that the service refuses
	}{
		"a default":        {`"env":{"type":"string","default":"production"},"x":{"type":"number"}`, map[string]any{"x": json.Number("0.1234567890123456789")}, `{"x":0.1234567890123456789}`},
		"an unused format": {`"ticket":{"type":"string","format":"uuid"},"x":{"type":"number"}`, map[string]any{"x": 1}, `{"x":1}`},
		"a wrong answer":   {`"n":{"type":"integer","minimum":10}`, map[string]any{"n": 1}, ""},
	} {
		raised, err := (&ask.Asker{Client: s.person}).Raise(t.Context(), ask.Call{Question: &api.UserQuestionRequest{
			Payload: api.JSON(`{"message":"How much?"}`), ResponseSchema: api.JSON(`{"type":"object","properties":{` + row.properties + `}}`),
		}})
		require.NoError(t, err, name)
		run, err := s.person.GetRun(t.Context(), raised.RunID)
		require.NoError(t, err, name)

		ours, theirs := mcp.NewInMemoryTransports()
		served, err := mcptools.NewServer(r.options).Connect(t.Context(), mcptools.Exact(theirs), nil)
		require.NoError(t, err, name)
		person := mcp.NewClient(&mcp.Implementation{Name: "old"}, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("the middleware answers, as a client without checks of its own")
		}})
		person.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
				if method == "elicitation/create" {
					return &mcp.ElicitResult{Action: "accept", Content: row.given}, nil
				}
				return next(ctx, method, request)
			}
		})
		session, err := person.Connect(t.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		require.NoError(t, err, name)

		checks := `{"run_id":"` + raised.RunID + `","wait_seconds":60}`
		if row.recorded == "" {
			require.Contains(t, s.refused(session, "check_decision", checks), "nothing was decided", name)
		} else {
			require.Equal(t, "answered", s.told(session, "check_decision", checks).Status, name)
			view, err := s.person.GetRequest(t.Context(), run.PendingQuestions[0].Handle)
			require.NoError(t, err, name)
			require.Equal(t, row.recorded, string(view.Resolution.Value), name)
		}
		require.NoError(t, session.Close(), name)
		_ = served.Wait()
	}
}
