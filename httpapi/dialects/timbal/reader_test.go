package timbal_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// event is one frame of a stream.
type event struct {
	seq  int64
	text string
	map_ map[string]any
}

func (e *event) kind() string { return e.at("type").(string) }

// at returns the value at a path of names and indexes.
func (e *event) at(path ...any) any { return dialecttest.At(e.map_, path...) }

// shown is a stream that is being read.
type shown struct {
	*dialecttest.Stream
	runID    string
	comments int
}

// open starts or resumes a run and returns its stream.
func (s *service) open(t *testing.T, path, body string, options ...dialecttest.Option) *shown {
	t.Helper()
	stream := s.Follow(t, http.MethodPost, path, body, options...)
	require.Equal(t, "text/event-stream", stream.Response.Header.Get("Content-Type"))
	return &shown{Stream: stream, runID: stream.Response.Header.Get("X-Run-Id")}
}

// next returns the next event, nil at the end of the stream.
func (r *shown) next() *event {
	r.T.Helper()
	for {
		frame, err := r.Read()
		if err == io.EOF { //nolint:errorlint // a stream that is cut within a frame ends with another error
			return nil
		}
		require.NoError(r.T, err, "the stream hangs or was cut")
		if frame.Comment != "" {
			r.comments++
			continue
		}
		one := &event{text: frame.Data}
		if strings.HasPrefix(frame.Text, "data: ") { // of a child session, without a number
			require.Equal(r.T, "data: "+frame.Data, frame.Text)
		} else {
			require.Equal(r.T, "id: "+frame.ID+"\ndata: "+frame.Data, frame.Text)
			one.seq, err = strconv.ParseInt(frame.ID, 10, 64)
			require.NoError(r.T, err)
		}
		require.NoError(r.T, json.Unmarshal([]byte(one.text), &one.map_), "%s", one.text)
		require.Equal(r.T, r.runID, one.at("run_id"), "X-Run-Id and run_id are one")
		return one
	}
}

// rest returns all events up to the end. The run's own are numbered without gaps.
func (r *shown) rest() []*event {
	r.T.Helper()
	var all []*event
	var last int64
	for one := r.next(); one != nil; one = r.next() {
		if one.seq != 0 {
			if last != 0 {
				require.Equal(r.T, last+1, one.seq)
			}
			last = one.seq
		}
		all = append(all, one)
	}
	return all
}

func kinds(events []*event) []string {
	names := make([]string, len(events))
	for i, one := range events {
		names[i] = one.kind()
	}
	return names
}

// show is open for a stream that ends on its own.
func (s *service) show(t *testing.T, body string, options ...dialecttest.Option) []*event {
	t.Helper()
	stream := s.open(t, "/stream", body, options...)
	all := stream.rest()
	require.NotEmpty(t, all)
	require.Equal(t, int64(1), all[0].seq)
	require.Equal(t, "START", all[0].kind())
	return all
}
