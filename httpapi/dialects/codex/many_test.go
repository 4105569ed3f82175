package codex_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
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
