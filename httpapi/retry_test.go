package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// An operator retries a failed run with an idempotency key.
func testRetry(t *testing.T, a *rig) {
	session, run := a.name("session"), a.name("run")
	path := "/v1/runs/" + run
	a.post(t, "/v1/runs", `{"session_id":"`+session+`","run_id":"`+run+`","input":1,"claim":{"worker_id":"w"}}`).want(http.StatusAccepted)
	a.post(t, path+"/retry", "").refused(api.CodeRunStateConflict)
	a.post(t, path+"/release", `{"fence":"1","last_error":"flaky","attempt":1,"delay_ms":0}`).want(http.StatusOK)
	view := a.get(t, path).want(http.StatusOK)
	require.Equal(t, "flaky", view.at("last_error"))
	a.post(t, path+"/claim", `{"worker_id":"w"}`).want(http.StatusOK)
	a.post(t, path+"/release", `{"fence":"2","attempt":1}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/attempt")
	a.post(t, path+"/release", `{"fence":"2","last_error":"x","delay_ms":3600001}`).refused(api.CodeInvalidRequest).pointer("/delay_ms")
	a.post(t, path+"/fail", `{"fence":"2","error":"broken"}`).want(http.StatusOK)
	retried := a.post(t, path+"/retry", "", key("k")).want(http.StatusOK)
	require.Equal(t, "running", retried.at("status"))
	require.Equal(t, "broken", retried.at("last_error"))
	again := a.post(t, path+"/retry", "", key("k")).want(http.StatusOK)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	a.post(t, path+"/claim", `{"worker_id":"w"}`).want(http.StatusOK)
	a.post(t, path+"/complete", `{"fence":"3"}`).want(http.StatusOK)
}
