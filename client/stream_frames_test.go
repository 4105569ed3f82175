package client

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// framesOf reads all frames of a stream.
func framesOf(body io.Reader) ([]streamFrame, error) {
	var all []streamFrame
	for frame, err := range readFrames(body) {
		if err != nil {
			return all, err
		}
		all = append(all, frame)
	}
	return all, nil
}

func TestFrames(t *testing.T) {
	t.Parallel()
	whole := []streamFrame{{id: "1", name: "a", data: []byte("{}")}, {id: "2", name: "b", data: []byte("[\n1]")}}
	for name, text := range map[string]string{
		"as the service writes": "retry: 1000\n\nid: 1\nevent: a\ndata: {}\n\n: keepalive\n\nid: 2\nevent: b\ndata: [\ndata: 1]\n\n",
		"CR LF":                 "id: 1\r\nevent: a\r\ndata: {}\r\n\r\nid: 2\r\nevent: b\r\ndata: [\r\ndata: 1]\r\n\r\n",
		"CR":                    "id: 1\revent: a\rdata: {}\r\rid: 2\revent: b\rdata: [\rdata: 1]\r\r",
		"without spaces":        "id:1\nevent:a\ndata:{}\n\nid:2\nevent:b\ndata:[\ndata:1]\n\n",
		"cut in a frame":        "id: 1\nevent: a\ndata: {}\n\nid: 2\nevent: b\ndata: [\ndata: 1]\n\nid: 3\nevent: c\ndata: {}\n",
		"cut in a line":         "id: 1\nevent: a\ndata: {}\n\nid: 2\nevent: b\ndata: [\ndata: 1]\n\nid: 3\nevent: c\ndata: {",
		"unknown fields":        "id: 1\nevent: a\nlater: x\ndata: {}\n\nid: 9\n\nid: 2\nevent: b\ndata: [\ndata: 1]\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
				got, err := framesOf(body)
				require.NoError(t, err)
				require.Equal(t, whole, got)
			}
		})
	}
}

func TestABrokenConnectionIsNoEnd(t *testing.T) {
	t.Parallel()
	got, err := framesOf(io.MultiReader(strings.NewReader("id: 1\ndata: {}\n\nid: 2\n"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Len(t, got, 1)
}

// FuzzFrames: the result does not depend on how a stream is split into reads, and no member
// has a line break where none is allowed.
func FuzzFrames(f *testing.F) {
	for _, text := range []string{
		"retry: 1000\n\nid: 1\nevent: a\ndata: {}\n\n", "id: 1\r\ndata: x\r\n\r\n", "data\n\ndata\ndata\n\n", ":\n\n", "\r\n\r\n", "id:\r\r\n\ndata:\n\n", "\ufeffid: 1\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := framesOf(bytes.NewReader(text))
		require.NoError(t, err)
		parts, err := framesOf(iotest.OneByteReader(bytes.NewReader(text)))
		require.NoError(t, err)
		require.Equal(t, whole, parts)
		for _, one := range whole {
			require.False(t, strings.ContainsAny(one.id+one.name, "\r\n"))
			require.NotContains(t, string(one.data), "\r")
		}
	})
}
