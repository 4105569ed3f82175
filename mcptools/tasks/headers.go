package tasks

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// nameHeader routes all calls of one task to the same backend in load balancers. The SDK checks the
// other headers, and this one only for the methods that it knows.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// CheckName refuses calls of the extension whose Mcp-Name header differs from the task id in the
// body. next refuses bodies of more than maxBodyBytes.
func CheckName(next http.Handler, maxBodyBytes int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains([]string{methodGet, methodUpdate, methodCancel}, r.Header.Get(methodHeader)) {
			next.ServeHTTP(w, r)
			return
		}
		start, putBack, err := ReadAhead(r, maxBodyBytes)
		putBack(start)
		var call struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				TaskID string `json:"taskId"`
			} `json:"params"`
		}
		if err != nil || json.Unmarshal(start, &call) != nil || call.Method != r.Header.Get(methodHeader) || call.Params.TaskID == r.Header.Get(nameHeader) {
			next.ServeHTTP(w, r) // next refuses the malformed body
			return
		}
		answer, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": call.ID,
			"error": map[string]any{"code": mcp.CodeHeaderMismatch, "message": "the header " + nameHeader + " is not the taskId of the body"},
		})
		if err != nil {
			answer = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the call has no id"}}`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(answer)
	})
}
