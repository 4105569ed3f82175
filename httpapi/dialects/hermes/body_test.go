package hermes

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A large body waits for its slot before it is parsed, a small one does not.
func TestALargeBodyIsParsedInASlot(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	for name, read := range map[string]func(http.ResponseWriter, *http.Request) error{
		"approval": func(w http.ResponseWriter, r *http.Request) error { _, err := callOf(w, r); return err },
		"clarify":  (&face{}).respondClarification,
	} {
		post := func(bytes int) error {
			body := `{"session_id":"","x":"` + strings.Repeat("x", bytes) + `"}`
			return read(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodPost, "/", strings.NewReader(body)))
		}
		require.Equal(t, refuse(http.StatusBadRequest, textNoSession), post(1), name)
		require.ErrorIs(t, post(cpulimit.Bytes), context.Canceled, name)
	}
}

// A large answer waits for a slot before it is compared with the options or read as JSON.
func TestALargeAnswerIsReadInASlot(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	for name, question := range map[string]*openQuestion{
		"structured": {structured: &api.UserQuestion{}, request: &model.Request{}, body: &api.UserQuestionRequest{}},
		"typed":      {request: &model.Request{}, body: &api.UserQuestionRequest{}},
	} {
		// The face has no store, so an answer that is read is a panic.
		require.ErrorIs(t, (&face{}).answerQuestion(gone, question, strings.Repeat("x", cpulimit.Bytes), runs.Actor{}), context.Canceled, name)
	}
}
