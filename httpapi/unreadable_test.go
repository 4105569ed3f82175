package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// damagedStore is a store in which the requests of one run were changed from outside of the
// service.
type damagedStore struct {
	runs.Store
	runID string
}

func (s *damagedStore) Within(reads.Scope) reads.Reader { return s }

func (s *damagedStore) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	record, err := s.Store.Run(ctx, runID)
	if err == nil && runID == s.runID {
		for i := range record.Requests {
			record.Requests[i].Body = api.JSON(`{"id":`)
		}
	}
	return record, err
}

func (s *damagedStore) PendingRequests(ctx context.Context, q reads.RequestQuery) ([]model.PendingRequest, error) {
	found, err := s.Store.PendingRequests(ctx, q)
	for i := range found {
		if found[i].Request.RunID == s.runID {
			found[i].Request.Body = api.JSON(`{"id":`)
		}
	}
	return found, err
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestRowThatCannotBeReadFailsItsRoutesOnly(t *testing.T) {
	t.Parallel()
	store := &damagedStore{Store: openSQLite(t)}
	var out lockedBuffer
	service := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
	damaged := service.waiting(t, `"approvals":[`+approval("a1")+`]`)
	healthy := service.waiting(t, `"approvals":[`+approval("a1")+`]`)
	store.runID = damaged.run
	for _, path := range []string{"/v1/runs/" + damaged.run, "/v1/runs/" + damaged.run + "/stream", "/v1/approvals"} {
		got := service.get(t, path, expecting(lenient)).refused(wire.CodeInternalError)
		require.NotContains(t, got.text, "document", "no list leaves the row out, and no reply shows what is wrong")
	}
	require.Contains(t, out.String(), "stack=")
	require.Contains(t, out.String(), "a stored document cannot be read")
	service.get(t, "/v1/runs/"+healthy.run).want(http.StatusOK)
	service.post(t, "/v1/runs/"+healthy.run+"/approvals", allow("a1")).want(http.StatusAccepted)
}
