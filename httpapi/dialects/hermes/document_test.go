package hermes_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

var (
	console  = regexp.MustCompile("(?s)```console\n(.*?)```")
	address  = regexp.MustCompile(`http://127\.0\.0\.1:4000([^' ]+)`)
	sentBody = regexp.MustCompile(` -d '([^']*)'`)
	anHandle = regexp.MustCompile(`request_[0-9a-z]{26}`)
	aMoment  = regexp.MustCompile(`("(?:requested|expires)_at": ?)[0-9.]+`)
)

// TestDocument runs the examples of docs/hermes.md and compares the replies. Ids and times differ:
// a call uses the ids in the latest reply that has them.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/hermes.md")
	require.NoError(t, err)
	store := dialecttest.SQLite(t)
	s := serve(t, store)
	handle, calls := "", 0
	for _, block := range console.FindAllStringSubmatch(string(text), -1) {
		for _, step := range strings.Split(block[1], "$ curl ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			path := address.FindStringSubmatch(command)[1]
			if strings.Contains(command, "-sN ") {
				route, session, _ := strings.Cut(path, "?session_id=")
				got := s.follow(t, route, session).next() + "\n\n"
				require.Equal(t, masked(want), masked(got), command)
				calls++
				continue
			}
			method, body := http.MethodGet, ""
			if sent := sentBody.FindStringSubmatch(command); sent != nil {
				method, body = http.MethodPost, anHandle.ReplaceAllString(sent[1], handle)
			}
			got := s.Do(t, method, path, body)
			if strings.Contains(command, "-o /dev/null") {
				require.Less(t, got.Status, 300, got.Text)
				continue
			}
			require.Equal(t, masked(want), masked(got.Text+"\n"), command)
			if shown := anHandle.FindString(got.Text); shown != "" {
				handle = shown
			}
			calls++
		}
	}
	require.Equal(t, 8, calls)
}

func masked(text string) string {
	return aMoment.ReplaceAllString(anHandle.ReplaceAllString(text, "request_0"), "${1}0.0")
}
