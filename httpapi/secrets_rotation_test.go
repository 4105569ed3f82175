package httpapi_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/httpapi"
)

// During a rotation of secret keys, replicas that were not restarted do not know the new key. They
// do not claim runs that they cannot decrypt, and know the key once they have re-read the file.
func TestRotatingSecretKeysKeepsEveryClaim(t *testing.T) {
	t.Parallel()
	for engine, open := range openers {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			const newKey = "new:bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="
			store := open(t)
			var file atomic.Pointer[string]
			file.Store(new(firstKey))
			old, err := sealing.Read(func() (string, error) { return *file.Load(), nil })
			require.NoError(t, err)
			restarted := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Sealer = secretKeys(t, newKey) })
			before := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Sealer = old })

			held := restarted.claimed(t)
			restarted.post(t, "/v1/runs/"+held.run+"/suspend", `{"fence":"`+held.fence+`","questions":[
				{"id":"q","tool_call_id":"c","sensitive":true,"questions":[{"id":"one","question":"One?"}]}]}`).want(http.StatusOK)
			restarted.post(t, "/v1/runs/"+held.run+"/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"one","freeform_answer":"`+secret+`"}]}}`).want(http.StatusAccepted)

			agent := restarted.get(t, "/v1/runs/"+held.run).at("agent_id").(string)
			claim := `{"worker_id":"w2","agent_ids":["` + agent + `"]}`
			require.Empty(t, before.post(t, "/v1/runs/claim", claim).want(http.StatusOK).list("claims"))
			before.post(t, "/v1/runs/"+held.run+"/claim", `{"worker_id":"w2"}`).refused(api.CodeRunNotClaimable)

			file.Store(new(newKey + "\n" + firstKey))
			require.NoError(t, old.Reload())
			reply := before.post(t, "/v1/runs/"+held.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
			require.Equal(t, secret, reply.at("resume", "questions", 0, "resolution", "answers", 0, "freeform_answer"))
			require.Equal(t, "new", old.First())
		})
	}
}
