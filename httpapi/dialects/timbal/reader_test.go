package timbal_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// event is one frame of a stream.
type event struct {
	seq  int64
	text string
	map_ map[string]any
}

func (e *event) kind() string { return e.at("type").(string) }

// at returns what is at a path of names and indexes.
func (e *event) at(path ...any) any {
	var at any = e.map_
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := at.(map[string]any)
			at = object[step]
		case int:
			array, _ := at.([]any)
			if step >= len(array) {
				return nil
			}
			at = array[step]
		}
	}
	return at
}

// shown is a stream that is being read.
type shown struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Reader
	runID    string
	comments int
	leave    context.CancelFunc
}

// open starts or resumes a run and returns its stream.
func (s *service) open(t *testing.T, path, body string, options ...option) *shown {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	response := s.send(ctx, t, http.MethodPost, path, body, options...)
	t.Cleanup(func() {
		leave()
		_ = response.Body.Close()
	})
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	}
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	return &shown{
		t: t, response: response, lines: bufio.NewReader(response.Body), runID: response.Header.Get("X-Run-Id"), leave: leave,
	}
}

// next returns the next event, nil at the end of the stream. A stream that hangs is
// closed, which fails the test.
func (r *shown) next() *event {
	r.t.Helper()
	watchdog := time.AfterFunc(20*time.Second, r.leave)
	defer watchdog.Stop()
	one := &event{}
	for {
		line, err := r.lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			require.Empty(r.t, line)
			require.Zero(r.t, one.seq, "the stream ends within a frame")
			return nil
		}
		require.NoError(r.t, err, "the stream hangs or was cut")
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, ": "):
			r.comments++
		case strings.HasPrefix(line, "id: "):
			one.seq, err = strconv.ParseInt(line[4:], 10, 64)
			require.NoError(r.t, err)
		case strings.HasPrefix(line, "data: "):
			one.text = line[6:]
			require.NoError(r.t, json.Unmarshal([]byte(one.text), &one.map_), "%s", one.text)
			require.Equal(r.t, r.runID, one.at("run_id"), "X-Run-Id and run_id are one")
		case line == "" && one.seq != 0:
			return one
		case line != "":
			require.Fail(r.t, "unexpected line", "%q", line)
		}
	}
}

// rest returns all events up to the end, which are numbered without gaps.
func (r *shown) rest() []*event {
	r.t.Helper()
	var all []*event
	for one := r.next(); one != nil; one = r.next() {
		if len(all) > 0 {
			require.Equal(r.t, all[len(all)-1].seq+1, one.seq)
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

// show is open for a stream that ends by itself.
func (s *service) show(t *testing.T, body string, options ...option) []*event {
	t.Helper()
	stream := s.open(t, "/stream", body, options...)
	all := stream.rest()
	require.NotEmpty(t, all)
	require.Equal(t, int64(1), all[0].seq)
	require.Equal(t, "START", all[0].kind())
	return all
}
