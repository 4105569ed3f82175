package channels

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
)

// A template has the id by which a receiver recognizes a repeated message, and cannot replace the header.
func TestTheIDOfAMessage(t *testing.T) {
	t.Parallel()
	given := &channel{Kind: api.ChannelHTTP, URL: "https://chat.example/send/{{.ID}}", Body: `{"nonce": {{json .ID}}}`}
	made, err := given.http("", nil)
	require.NoError(t, err)
	for _, link := range []string{"https://holdpoint.example/l/1", "https://holdpoint.example/l/2"} {
		to, header, body, err := made.request("ada", &notify.Message{ID: "notify:ops:1", Link: link})
		require.NoError(t, err)
		id := header.Get("Idempotency-Key")
		require.Regexp(t, "^[0-9a-f]{32}$", id)
		require.Equal(t, "https://chat.example/send/"+id, to)
		require.JSONEq(t, `{"nonce": "`+id+`"}`, string(body))
	}
	given.Headers = map[string]string{"idempotency-key": "{{.Link}}"}
	_, err = given.http("", nil)
	require.EqualError(t, err, "headers: the service sets Idempotency-Key; a template has its value as {{.ID}}")
}
