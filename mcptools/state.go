package mcptools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/internal/canonical"
)

// stateHolds is how long a call's state is valid.
const stateHolds = 7 * 24 * time.Hour

// state is the payload of a requestState.
type state struct {
	// Call is the digest of the tool and its arguments.
	Call        string         `json:"call"`
	Principal   string         `json:"principal"`
	ExpiresAtMs int64          `json:"expires_at_ms"`
	Value       jsontext.Value `json:"value"`
}

// State returns a requestState that carries a value to the next round of a call. It is valid for
// seven days, for the same principal, tool and arguments.
func (w *Waits) State(call *mcp.CallToolRequest, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	text, err = json.Marshal(state{
		Call: digestOf(call), Principal: w.options.Principal, ExpiresAtMs: w.options.NowMs() + stateHolds.Milliseconds(), Value: text,
	})
	if err != nil {
		return "", err
	}
	return w.options.Signer.Sign(purposeState, text)
}

// ReadState reads the value of a call's requestState and reports whether it has one. Errors:
// invalid params for a state of another principal or call, or one that has expired; errors of the
// signer.
func (w *Waits) ReadState(ctx context.Context, call *mcp.CallToolRequest, value any) (bool, error) {
	if call.Params.RequestState == "" {
		return false, nil
	}
	var said state
	text, err := w.options.Signer.Verify(ctx, purposeState, call.Params.RequestState)
	switch {
	case err != nil && !errors.Is(err, ErrUnsigned):
		return false, err
	case err != nil || json.Unmarshal(text, &said) != nil || said.Principal != w.options.Principal || said.Call != digestOf(call):
		return false, badState("requestState was not made for this call")
	case w.options.NowMs() >= said.ExpiresAtMs:
		return false, badState("requestState is too old; call again without it")
	case json.Unmarshal(said.Value, value) != nil:
		return false, badState("requestState was not made for this call")
	}
	return true, nil
}

func badState(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// digestOf returns the digest of a call's tool and canonical arguments.
func digestOf(call *mcp.CallToolRequest) string {
	arguments, err := canonical.Text(call.Params.Arguments)
	if err != nil {
		arguments = call.Params.Arguments // not canonical: digested unchanged
	}
	sum := sha256.Sum256([]byte(call.Params.Name + "\x00" + string(arguments)))
	return hex.EncodeToString(sum[:])
}
