package wire_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A handler that fails writes nothing, so that its caller can answer with a problem.
func TestHandlersAnswerOrReturnTheirError(t *testing.T) {
	t.Parallel()
	serve := func(handle wire.HandlerFunc, body string) (*httptest.ResponseRecorder, error) {
		r := httptest.NewRequest(http.MethodPost, "/x", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		return w, handle(w, r)
	}
	broken := errors.New("broken")
	bodies := &wire.Bodies{MaxBytes: wire.DefaultMaxBodyBytes}
	verified := func(err error) wire.HandlerFunc {
		return wire.ReplyTo(bodies, http.StatusCreated, func(_ *http.Request, body *api.VerifyAddressBody) (api.StatusReply, error) {
			return api.StatusReply{Status: body.Code}, err
		})
	}
	for name, test := range map[string]struct {
		handle func(err error) wire.HandlerFunc
		status int
		reply  string
	}{
		"Reply": {func(err error) wire.HandlerFunc {
			return wire.Reply(http.StatusOK, func(*http.Request) (api.StatusReply, error) { return api.StatusReply{Status: "7"}, err })
		}, http.StatusOK, `{"status":"7"}` + "\n"},
		"ReplyTo": {verified, http.StatusCreated, `{"status":"7"}` + "\n"},
		"NoContent": {func(err error) wire.HandlerFunc {
			return wire.NoContent(func(*http.Request) error { return err })
		}, http.StatusNoContent, ""},
	} {
		w, err := serve(test.handle(nil), `{"code":"7"}`)
		require.NoError(t, err, name)
		require.Equal(t, test.status, w.Code, name)
		require.Equal(t, test.reply, w.Body.String(), name)

		w, err = serve(test.handle(broken), `{"code":"7"}`)
		require.ErrorIs(t, err, broken, name)
		require.Empty(t, w.Body.String(), name)
		require.Empty(t, w.Header(), name)
	}
	_, err := serve(verified(broken), `{}`)
	require.Equal(t, api.CodeInvalidRequest, refusal.CodeOf(err), "the body is checked first")
}
