package timbal_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
)

var (
	console       = regexp.MustCompile("(?s)```console\n(.*?)```")
	call          = regexp.MustCompile(`^curl -sN http://127\.0\.0\.1:4000(/\S+) -H 'Content-Type: application/json' -d '([^']*)'$`)
	shownID       = regexp.MustCompile(`(?:run|request)_[0-9a-z]+…`)
	whatIsLeftOut = regexp.MustCompile(`…`)
)

// TestDocument makes the calls of docs/timbal.md and compares the streams. Ids differ: the second call
// sends what the first one showed. An ellipsis stands for anything within a line.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/timbal.md")
	require.NoError(t, err)
	blocks := console.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 1)
	steps := strings.Split(blocks[0][1], "$ ")[1:]
	require.Len(t, steps, 2)
	s := &service{dialecttest.Serve(t, dialecttest.SQLite(t), timbal.New(timbal.Options{DefaultAgentID: "default"}))}
	ask := question("q")
	ask.Questions[0].Options = ask.Questions[0].Options[:2]
	ids := map[string]string{}
	var w *worker
	for _, step := range steps {
		command, want, _ := strings.Cut(step, "\n")
		parts := call.FindStringSubmatch(command)
		require.NotNil(t, parts, command)
		stream := s.open(t, parts[1], shownID.ReplaceAllStringFunc(parts[2], func(id string) string {
			require.Contains(t, ids, id)
			return ids[id]
		}))
		if w == nil {
			w = s.claim(t, stream.runID)
			w.wait(ask)
		} else {
			w.goOn()
		}
		var got strings.Builder
		for _, one := range stream.rest() {
			fmt.Fprintf(&got, "id: %d\ndata: %s\n\n", one.seq, one.text)
		}
		require.Regexp(t, "^"+quoted(strings.TrimSpace(want))+"$", strings.TrimSpace(got.String()))
		for _, shown := range shownID.FindAllString(want, -1) {
			if _, known := ids[shown]; !known {
				kind, _, _ := strings.Cut(shown, "_")
				ids[shown] = regexp.MustCompile(kind + `_[0-9a-z]{20,}`).FindString(got.String())
			}
		}
	}
}

// quoted is the pattern of what a page shows.
func quoted(shown string) string {
	parts := shownID.Split(shown, -1)
	for i, part := range parts {
		literal := whatIsLeftOut.Split(part, -1)
		for j := range literal {
			literal[j] = regexp.QuoteMeta(literal[j])
		}
		parts[i] = strings.Join(literal, `[^\n]*`)
	}
	return strings.Join(parts, `\w+`)
}
