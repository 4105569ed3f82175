package relay_test

import (
	"net/http"
	"testing"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
)

// Clients ask for the models before they show anything.
func TestModels(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t), relay.Options{})
	s.get(t, "/models").Is(http.StatusOK, `{"models":[],"default":null}`)
	s.do(t, http.MethodHead, "/models", "").Want(http.StatusOK)
	named := serve(t, dialecttest.SQLite(t), relay.Options{Models: []string{"local/one", "local/two"}})
	named.get(t, "/models").Is(http.StatusOK, `{"models":["local/one","local/two"],"default":"local/one","defaultModel":"local/one"}`)
}
