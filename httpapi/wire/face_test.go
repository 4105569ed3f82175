package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
)

// A route without an action is refused for every caller, even where no credential is required. The
// same route with an action is answered.
func TestARouteWithoutAnActionIsRefused(t *testing.T) {
	t.Parallel()
	handle := func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	for action, status := range map[auth.Action]int{"": http.StatusForbidden, auth.Administer: http.StatusNoContent} {
		for _, access := range []*Access{nil, {}, {Quotas: NewQuotas(Quota{}, 1<<20, 0, time.Now)}} {
			router := chi.NewRouter()
			access.Mount(router, &Face{Routes: []Route{Get("/get", action, handle), Post("/post", action, handle), Stream("/stream", action, handle)}})
			for path, method := range map[string]string{"/get": http.MethodGet, "/post": http.MethodPost, "/stream": http.MethodGet} {
				answer := httptest.NewRecorder()
				router.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
				require.Equal(t, status, answer.Code, "%s %s", action, path)
			}
		}
	}
}
