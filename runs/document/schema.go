package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/holdpoint/holdpoint/api"
)

// errNoRemote rejects references to other documents. Schemas come from callers, so the service
// never fetches one.
var errNoRemote = errors.New("references to other documents are not allowed")

type noRemote struct{}

func (noRemote) Load(string) (any, error) { return nil, errNoRemote }

// compileSchema compiles a JSON Schema, 2020-12 unless it names another draft. Every validation
// against it, or a part of it, is charged to the budget. It returns an error, worded for the
// caller, if the text is not a schema or is too complex.
func compileSchema(text api.JSON, budget *schemaBudget) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	const location = "urn:holdpoint:schema"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noRemote{})
	compiler.UseRegexpEngine(budget.compilePattern)
	budget.assertFormats(compiler)
	compiler.RegisterVocabulary(budget.vocabulary())
	compiler.AssertVocabs()
	if err := compiler.AddResource(location, document); err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	schema, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", err)
	}
	budget.compiled = true
	return schema, boundSchema(schema)
}

// CheckSchema returns a fault at pointer if text is not a usable schema, and nil otherwise. A
// nil text means no schema and is valid.
func CheckSchema(text api.JSON, pointer string) []api.Fault {
	if text == nil {
		return nil
	}
	if err := schemas.of(text).failure(); err != nil {
		return []api.Fault{{Pointer: pointer, Detail: oneLine(err.Error())}}
	}
	return nil
}

// MatchSchema returns the faults of a value against a schema, nil if it matches. The schema has
// passed [CheckSchema], the value [Check]; pointer locates the value in the caller's body.
// Callers choose both texts, so a validation that takes too many steps ends with a fault.
func MatchSchema(schemaText, value api.JSON, pointer string) []api.Fault {
	return new(Work).MatchSchema(schemaText, value, pointer)
}

// MatchSchema is [MatchSchema] for one of a call's values. Once the call's budget is spent, the
// remaining values have a fault.
func (w *Work) MatchSchema(schemaText, value api.JSON, pointer string) []api.Fault {
	if w.isSpent() {
		return []api.Fault{{Pointer: pointer, Detail: "cannot be checked: the values of this call take too much work together"}}
	}
	schema := schemas.of(schemaText)
	if err := schema.failure(); err != nil {
		return []api.Fault{{Pointer: pointer, Detail: "cannot be checked: the schema " + oneLine(err.Error())}}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []api.Fault{{Pointer: pointer, Detail: "is not JSON"}}
	}
	spent, err := schema.validate(document)
	w.add(spent, len(schemaText))
	if errors.Is(err, errBudgetSpent) {
		return []api.Fault{{Pointer: pointer, Detail: "cannot be checked: the schema is too complex for this value"}}
	}
	if failed, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return schemaFaults(failed, pointer)
	}
	return nil
}

const (
	// maxSchemaFaults bounds the listed faults of a value.
	maxSchemaFaults = 20
	// maxFailuresRead bounds the failures that are collected and sorted, so that a value with
	// very many failures costs no more.
	maxFailuresRead = 1_000
)

// schemaFaults lists the innermost failures, which name the invalid members. The library returns
// them unordered, so they are sorted: equal calls get equal replies.
func schemaFaults(failed *jsonschema.ValidationError, pointer string) []api.Fault {
	var faults []api.Fault
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 || len(faults) == maxFailuresRead {
			return
		}
		at := jsontext.Pointer(pointer)
		for _, token := range e.InstanceLocation {
			at = at.AppendToken(token)
		}
		faults = append(faults, api.Fault{Pointer: string(at), Detail: oneLine(leafDetail(e))})
	}
	walk(failed)
	slices.SortFunc(faults, func(a, b api.Fault) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	return faults[:min(len(faults), maxSchemaFaults)]
}

// leafDetail returns the message about one failure, mostly the library's. It sorts the property
// names, which the library lists in random order.
func leafDetail(e *jsonschema.ValidationError) string {
	switch failed := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		slices.Sort(failed.Properties)
	case *kind.Format:
		return formatDetail(failed)
	case *kind.FalseSchema:
		return "is not allowed"
	}
	if unit := e.DetailedOutput(); unit.Error != nil {
		return unit.Error.String()
	}
	return "does not fit the schema"
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
