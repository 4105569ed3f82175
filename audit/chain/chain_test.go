package chain_test

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/audit/chain"
)

// TestVectors computes the chain in docs/spec. Its hashes come from another program in another
// language.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/spec/audit-vectors.json")
	require.NoError(t, err)
	var events []struct {
		SessionID   string         `json:"session_id"`
		ID          string         `json:"id"`
		TimestampMs int64          `json:"timestamp_ms"`
		RunID       string         `json:"run_id"`
		Actor       string         `json:"actor"`
		Event       jsontext.Value `json:"event"`
		BodyDigest  string         `json:"body_digest"`
		Prev        string         `json:"prev"`
		Hash        string         `json:"hash"`
	}
	require.NoError(t, json.Unmarshal(text, &events))
	require.Len(t, events, 4)
	prev := ""
	for _, e := range events {
		var typed struct {
			Type string `json:"type"`
		}
		require.NoError(t, json.Unmarshal(e.Event, &typed))
		digest, err := chain.BodyDigest(e.Event)
		require.NoError(t, err)
		require.Equal(t, e.BodyDigest, digest)
		digest, err = chain.OwnBodyDigest(typed.Type, e.Event)
		require.NoError(t, err)
		require.Equal(t, e.BodyDigest, digest)
		require.Equal(t, prev, e.Prev)
		link := chain.Link{
			SessionID: e.SessionID, ID: e.ID, Type: typed.Type, TimestampMs: e.TimestampMs,
			RunID: e.RunID, Actor: e.Actor, BodyDigest: e.BodyDigest, Prev: e.Prev,
		}
		require.Equal(t, e.Hash, link.Hash())
		prev = e.Hash
	}
}

func TestBodyDigest(t *testing.T) {
	t.Parallel()
	for _, equal := range [][]string{
		{`{"type":"x","a":1,"b":[1,2]}`, `{ "b": [1.0, 2e0], "type": "x", "a": 1 }`, `{"a":1,"b":[1,2]}`, `{"\u0074ype":"y","b":[1,2],"a":1}`},
		{`{"type":"x"}`, `{}`, ` { } `, `{"type":{"type":1}}`},
		{`{"a":{"type":1},"type":"x"}`, `{"a":{"type":1}}`},
	} {
		first, err := chain.BodyDigest([]byte(equal[0]))
		require.NoError(t, err)
		for _, text := range equal {
			digest, err := chain.BodyDigest([]byte(text))
			require.NoError(t, err)
			require.Equal(t, first, digest, text)
			digest, err = chain.OwnBodyDigest("x", []byte(text))
			require.NoError(t, err)
			require.Equal(t, first, digest, text)
		}
	}
	for _, bad := range []string{``, `[]`, `7`, `{`, `{"a"}`, `{"a":1,"a":2}`, `{}{}`, `{"type":"x"`, `{"type":"x",}`, `{"type":"x"}}`, "{\"a\":\"\xff\"}"} {
		_, err := chain.BodyDigest([]byte(bad))
		require.Error(t, err, bad)
		_, err = chain.OwnBodyDigest("x", []byte(bad))
		require.Error(t, err, bad)
	}
}

// FuzzBodyDigest: both ways to compute a digest are one.
func FuzzBodyDigest(f *testing.F) {
	for _, seed := range []string{`{"type":"x","a":1}`, `{"type":"x"}`, `{"a":"\u0000","type":"x"}`, `{"type":"x","type2":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		one, errOne := chain.BodyDigest(body)
		two, errTwo := chain.OwnBodyDigest("x", body)
		if errOne == nil {
			require.NoError(t, errTwo)
			require.Equal(t, one, two)
		}
	})
}
