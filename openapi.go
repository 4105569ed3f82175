// Package holdpoint holds the description of the API, openapi.yaml, which belongs
// to no package below because the server, the clients and the tests are all held
// to it. It must not import any of them.
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
