package relay_test

import (
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// service is a whole service with the dialect in it.
type service struct{ *dialecttest.Service }

func serve(tb testing.TB, store runs.Store, options relay.Options, change ...func(*httpapi.Options)) *service {
	tb.Helper()
	return &service{dialecttest.Serve(tb, store, relay.New(options), change...)}
}

// onEngines runs a test against a service on each engine.
func onEngines(t *testing.T, options relay.Options, test func(t *testing.T, s *service)) {
	t.Helper()
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		test(t, serve(t, database.Open(t), options))
	})
}

// reply is a reply of the dialect, or of /v1.
type reply struct{ *dialecttest.Reply }

func (s *service) do(t *testing.T, method, path, body string) *reply {
	t.Helper()
	return &reply{s.Do(t, method, path, body, dialecttest.Header("X-Actor", "mara"))}
}

func (s *service) post(t *testing.T, path, body string) *reply {
	t.Helper()
	return s.do(t, http.MethodPost, path, body)
}

func (s *service) get(t *testing.T, path string) *reply {
	t.Helper()
	return s.do(t, http.MethodGet, path, "")
}

// refused checks for one of the errors of the dialect.
func (r *reply) refused(status int, text string) {
	r.T.Helper()
	encoded, err := json.Marshal(text)
	require.NoError(r.T, err)
	r.Is(status, `{"error":`+string(encoded)+`}`)
	require.Equal(r.T, "application/json", r.Header.Get("Content-Type"))
}

const (
	invalidJSON     = "Invalid JSON body"
	relayIncomplete = "sessionId and response are required"
	chatIncomplete  = "model and messages are required"
	noSession       = "Session not found"
	noRelay         = "Relay not found"
)

// answer decides about a relay.
func (s *service) answer(t *testing.T, sessionID, relayID, response string) *reply {
	t.Helper()
	return s.post(t, "/chat/relay/"+relayID, `{"sessionId":"`+sessionID+`","response":`+response+`}`)
}

// accepted checks the only success that there is.
func (r *reply) accepted() {
	r.T.Helper()
	r.Is(http.StatusOK, `{"success":true}`)
}
