package multiplex

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	made := &call{method: "POST", target: "/v1/runs?x=%2F", header: http.Header{"Content-Type": {"application/json"}, "Prefer": {"wait=1", "x"}}, body: bytes.Repeat([]byte("b"), 70_000)}
	message := appendFrame(nil, kindCall, 300, made.append)
	message = appendFrame(message, kindCancel, 1, nil)
	message = appendFrame(message, kindPart, 1<<40, func(to []byte) []byte { return append(to, "part"...) })

	f, rest, err := nextFrame(message)
	require.NoError(t, err)
	require.Equal(t, kindCall, f.kind)
	require.Equal(t, uint64(300), f.call)
	got, err := readCall(f.payload)
	require.NoError(t, err)
	require.Equal(t, made, got)
	f, rest, err = nextFrame(rest)
	require.NoError(t, err)
	require.Equal(t, frame{kind: kindCancel, call: 1, payload: []byte{}}, f)
	f, rest, err = nextFrame(rest)
	require.NoError(t, err)
	require.Equal(t, frame{kind: kindPart, call: 1 << 40, payload: []byte("part")}, f)
	require.Empty(t, rest)
}

func TestFramesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	headers := func(header http.Header) []byte {
		return (&call{method: "GET", target: "/v1/x", header: header}).append(nil)
	}
	for name, payload := range map[string][]byte{
		"nothing":                        {},
		"a text that is longer":          {200, 1, 'x'},
		"more headers than there may be": append((&call{}).append(nil)[:2], 65),
		"headers that are cut off":       append((&call{}).append(nil)[:2], 2, 1, 'a'),
		"a credential of its own":        headers(http.Header{"Authorization": {"Bearer x"}}),
		"an origin of its own":           headers(http.Header{"Origin": {"https://evil.example"}}),
		"a host by another writing":      headers(http.Header{"hOST": {"evil.example"}}),
		"a header with a line break":     headers(http.Header{"X-Actor": {"a\r\nb"}}),
	} {
		_, err := readCall(payload)
		require.ErrorIs(t, err, errMalformed, name)
	}
	for _, message := range [][]byte{{}, {1}, {1, 0x80}, {1, 1}, {1, 1, 5, 'x'}} {
		_, _, err := nextFrame(message)
		require.ErrorIs(t, err, errMalformed)
	}
	for _, payload := range [][]byte{{}, {100, 0}, {0x80}, {200, 1}, {200, 5, 0}} {
		_, err := readAnswer(payload)
		require.ErrorIs(t, err, errMalformed)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(nil, kindCall, 1, (&call{method: "GET", target: "/v1/runs", header: http.Header{"Prefer": {"wait=1"}}, body: []byte("{}")}).append))
	f.Add(appendFrame(nil, kindReply, 2, func(to []byte) []byte {
		return append(appendHeader(appendNumber(to, 200), http.Header{"Link": {"x"}}), "{}"...)
	}))
	f.Add([]byte{2, 1, 0, 5, 0, 0})
	f.Fuzz(func(t *testing.T, message []byte) {
		for rest := message; len(rest) > 0; {
			var one frame
			var err error
			before := len(rest)
			if one, rest, err = nextFrame(rest); err != nil {
				require.ErrorIs(t, err, errMalformed)
				return
			}
			require.Less(t, len(rest), before)
			if c, err := readCall(one.payload); err == nil {
				again, err := readCall(c.append(nil))
				require.NoError(t, err)
				require.Equal(t, c, again)
			} else {
				require.ErrorIs(t, err, errMalformed)
			}
			if a, err := readAnswer(one.payload); err == nil {
				require.True(t, a.status >= 200 && a.status < 600)
			}
		}
	})
}
