package mcptools

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// contentText is the member of a filled form's _meta with the text of its content. The library of the
// protocol decodes numbers into doubles, and passes _meta on.
const contentText = "holdpoint.dev/content-text"

// formResponses is the member of a call's params with the filled forms.
const formResponses = "inputResponses"

// Exact returns a transport that keeps the digits of numbers in filled forms. Without it a number is
// refused where a double may be another one.
func Exact(transport mcp.Transport) mcp.Transport { return exactTransport{transport} }

type exactTransport struct{ mcp.Transport }

// Connect implements [mcp.Transport].
func (t exactTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	connection, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return exactConnection{connection}, nil
}

type exactConnection struct{ mcp.Connection }

// Read implements [mcp.Connection].
func (c exactConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	switch message := message.(type) {
	case *jsonrpc.Request:
		message.Params = exactParams(message.Params)
	case *jsonrpc.Response:
		message.Result = exactForm(message.Result)
	}
	return message, err
}

// ExactBody is [Exact] for the body of an HTTP request. A body without forms is not decoded.
func ExactBody(body []byte) []byte {
	if !bytes.Contains(body, []byte(formResponses)) {
		return body
	}
	return within(body, "params", exactParams)
}

// exactParams adds the texts to the forms among the params of a call.
func exactParams(params []byte) []byte {
	return within(params, formResponses, func(responses []byte) []byte {
		var all map[string]jsontext.Value
		if json.Unmarshal(responses, &all) != nil {
			return responses
		}
		for id, response := range all {
			all[id] = exactForm(response)
		}
		return encoded(all, responses)
	})
}

// exactForm adds the text to a filled form. Anything else, and what cannot be read, is returned as it
// is.
func exactForm(text []byte) []byte {
	return within(text, "content", nil)
}

// within changes a member of an object, or, without change, adds its text to the object's _meta.
func within(text []byte, name string, change func([]byte) []byte) []byte {
	if !bytes.Contains(text, []byte(`"`+name+`"`)) {
		return text
	}
	var object map[string]jsontext.Value
	if json.Unmarshal(text, &object) != nil || object[name] == nil {
		return text
	}
	if change != nil {
		object[name] = change(object[name])
		return encoded(object, text)
	}
	meta := map[string]jsontext.Value{}
	if given, there := object["_meta"]; there && json.Unmarshal(given, &meta) != nil {
		return text
	}
	quoted, err := jsontext.AppendQuote(nil, object[name])
	if err != nil {
		return text
	}
	meta[contentText] = quoted
	object["_meta"] = encoded(meta, nil)
	return encoded(object, text)
}

func encoded(value any, otherwise []byte) []byte {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return otherwise
	}
	return text
}
