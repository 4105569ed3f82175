package codex_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// A worker chooses how many values may be chosen, and a caller how many texts it sends.
// The time is linear in both.
func TestManyChoices(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	const choices = 80_000
	texts := make([]string, choices)
	for i := range texts {
		texts[i] = `"` + strconv.Itoa(choices-i) + `"`
	}
	list := "[" + strings.Join(texts, ",") + "]"
	r := service.waiting(t, questions(`{"id":"q","tool_call_id":"c","questions":[],"payload":{"options":`+list+`},"response_schema":{"type":"array"}}`))
	handle := service.get(t, "/api/sessions/"+r.session+"/tool-input").Want(http.StatusOK).TextAt("data", 0, "requestId")
	service.post(t, "/api/tool-input/"+handle+"/decision", `{"decision":"accept","answers":{"value":{"answers":`+list+`}}}`).Want(http.StatusOK)
}

// A body of 1 MiB with a fault in each of its shortest members gets a short reply.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	many := make([]string, 100_000)
	for i := range many {
		many[i] = `"` + strconv.Itoa(i) + `":1`
	}
	long := strings.Repeat("x", 300_000)
	for _, answers := range []string{
		`{"q":{"answers":[1` + strings.Repeat(",1", 400_000) + `]}}`,
		`{` + strings.Join(many, ",") + `}`,
		`{"` + long + `":{"answers":[` + strings.Repeat("1,", 300) + `1]}}`,
	} {
		got := service.post(t, "/api/tool-input/nobody/decision", `{"decision":"accept","answers":`+answers+`}`).Want(http.StatusBadRequest)
		require.LessOrEqual(t, got.Count("issues"), api.MaxFaults)
		require.Less(t, len(got.Text), 1<<20)
	}
}

// What an agent sends in 1 MiB is not shown in many times as much.
func TestShortMembersAreShownInAsManyBytes(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	t.Run("a list in many lists", func(t *testing.T) {
		t.Parallel()
		deep := strings.Repeat("[", 55) + "1" + strings.Repeat(",1", 300_000) + strings.Repeat("]", 55)
		r := service.waiting(t, `"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{"x":`+deep+`}}]`)
		shown := service.get(t, "/api/sessions/"+r.session+"/transcript").Want(http.StatusOK)
		require.Contains(t, shown.TextAt("data", 0, "details"), deep, "on one line")
		require.Less(t, len(shown.Text), 4<<20)
	})
	t.Run("choices", func(t *testing.T) {
		t.Parallel()
		list := "[0" + strings.Repeat(",1", 300_000) + ",7]"
		r := service.waiting(t, questions(`{"id":"q","tool_call_id":"c","questions":[],"payload":{"options":`+list+`},"response_schema":{"type":"integer"}}`))
		shown := service.get(t, "/api/sessions/"+r.session+"/tool-input").Want(http.StatusOK)
		require.Equal(t, kit.MaxChoices, shown.Count("data", 0, "questions", 0, "options"))
		require.Equal(t, true, shown.At("data", 0, "questions", 0, "isOther"), "for the others")
		require.Less(t, len(shown.Text), 4<<20)
		require.Less(t, len(service.get(t, "/api/sessions/"+r.session+"/transcript").Want(http.StatusOK).Text), 4<<20)
		service.post(t, "/api/tool-input/"+shown.TextAt("data", 0, "requestId")+"/decision", `{"decision":"accept","answers":{"value":{"answers":["7"]}}}`).Want(http.StatusOK)
	})
}
