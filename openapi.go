package holdpoint

import _ "embed"

//go:embed openapi.yaml
var openAPIYAML []byte

// openapi.json says the same as openapi.yaml. It is written from it by
// go test ./httpapi -run TestOpenAPIJSON -update.
//
//go:embed openapi.json
var openAPIJSON []byte

// OpenAPIYAML returns the OpenAPI 3.1 description of the API. The caller must not
// change it.
func OpenAPIYAML() []byte { return openAPIYAML }

// OpenAPIJSON returns the same description as JSON. The caller must not change it.
func OpenAPIJSON() []byte { return openAPIJSON }
