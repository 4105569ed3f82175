package runs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxSchemaBytes bounds a JSON Schema that a worker sends along.
const MaxSchemaBytes = 64 << 10

// errNoRemote answers every reference that leaves the schema: nothing is fetched.
var errNoRemote = errors.New("references to other documents are not allowed")

type noRemote struct{}

func (noRemote) Load(string) (any, error) { return nil, errNoRemote }

// compileSchema reads a JSON Schema (2020-12 unless it says otherwise).
func compileSchema(text JSON) (*jsonschema.Schema, error) {
	if len(text) > MaxSchemaBytes {
		return nil, fmt.Errorf("is larger than %d bytes", MaxSchemaBytes)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if err := boundSchema(document); err != nil {
		return nil, err
	}
	const location = "urn:holdpoint:schema"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noRemote{})
	if err := compiler.AddResource(location, document); err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	schema, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	return schema, nil
}

// checkSchema returns a fault when the member at the pointer is no usable schema.
func checkSchema(text JSON, pointer string) []Fault {
	if text == nil {
		return nil
	}
	if _, err := compileSchema(text); err != nil {
		return []Fault{{Pointer: pointer, Detail: oneLine(err.Error())}}
	}
	return nil
}

// matchSchema returns the faults of a value against a schema that was checked when
// the request was raised; pointer is where the value stands in the caller's body.
func matchSchema(schemaText, value JSON, pointer string) []Fault {
	schema, err := compileSchema(schemaText)
	if err != nil {
		return []Fault{{Pointer: pointer, Detail: "cannot be checked: the schema " + oneLine(err.Error())}}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []Fault{{Pointer: pointer, Detail: "is not JSON"}}
	}
	err = schema.Validate(document)
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return nil
	}
	return schemaFaults(failed, pointer)
}

// schemaFaults lists the innermost failures, which name the members at fault.
func schemaFaults(failed *jsonschema.ValidationError, pointer string) []Fault {
	const most = 20
	var faults []Fault
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(faults) == most {
			return
		}
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		at := pointer
		for _, token := range e.InstanceLocation {
			at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
		}
		faults = append(faults, Fault{Pointer: at, Detail: oneLine(leafDetail(e))})
	}
	walk(failed)
	return faults
}

// leafDetail is the library's own sentence about one failure.
func leafDetail(e *jsonschema.ValidationError) string {
	if unit := e.DetailedOutput(); unit.Error != nil {
		return unit.Error.String()
	}
	return "does not fit the schema"
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// maxSchemaCost bounds how many subschemas one value can be checked against.
const maxSchemaCost = 100_000

// boundSchema refuses a schema that could keep the checker busy for ever: chains
// of references that double at every step. It counts the subschemas that one
// value may be checked against, through references too.
func boundSchema(document any) error {
	cost := schemaCost{document: document, known: map[string]int{}}
	if cost.of(document) > maxSchemaCost {
		return errors.New("is too complex")
	}
	return nil
}

type schemaCost struct {
	document any
	known    map[string]int
}

// of counts a subschema with all below it. A reference counts as what it points
// to; one that is being counted already is a recursion, which the depth of the
// value bounds.
func (c *schemaCost) of(node any) int {
	total := 1
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			total = min(total+c.of(item), maxSchemaCost+1)
		}
	case map[string]any:
		for key, item := range node {
			if key == "$defs" || key == "definitions" {
				continue
			}
			reference, isText := item.(string)
			if isText && (key == "$ref" || key == "$dynamicRef") {
				total = min(total+c.reference(reference), maxSchemaCost+1)
				continue
			}
			total = min(total+c.of(item), maxSchemaCost+1)
		}
	}
	return total
}

func (c *schemaCost) reference(reference string) int {
	if cost, known := c.known[reference]; known {
		return cost
	}
	c.known[reference] = 1
	target := c.find(reference)
	if target == nil {
		return 1
	}
	cost := c.of(target)
	c.known[reference] = cost
	return cost
}

// find follows a reference by pointer inside the document; any other kind is left
// to the compiler, which refuses what it cannot find.
func (c *schemaCost) find(reference string) any {
	pointer, local := strings.CutPrefix(reference, "#/")
	if !local {
		return nil
	}
	node := c.document
	for token := range strings.SplitSeq(pointer, "/") {
		object, isObject := node.(map[string]any)
		if !isObject {
			return nil
		}
		node = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return node
}
