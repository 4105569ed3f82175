package document

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the work that a schema of a caller may cause. A schema is small, but
// its references may make it mean exponentially much.
const (
	// maxSchemaCost is how many subschemas one value can be checked against when a
	// request is raised, counted without a value.
	maxSchemaCost = 100_000
	// maxSchemaChecks is how many checks of a value against a subschema one answer
	// may cost: a recursive schema costs as much as the value makes it.
	maxSchemaChecks = 200_000
	// maxPatternSize bounds all regular expressions of a schema, in the instructions
	// that they are compiled to.
	maxPatternSize = 100_000
	// maxPatternWork bounds the matching of regular expressions in one answer, in
	// instructions times bytes. One such step takes some ten nanoseconds, so this is
	// about a tenth of a second.
	maxPatternWork = 10_000_000
)

var (
	errTooComplex        = errors.New("is too complex")
	errPatternTooComplex = errors.New("its regular expressions are too complex")
	errBudgetSpent       = errors.New("the schema takes too many checks")
)

// schemaBudget counts the work of one schema. The zero value has spent nothing.
type schemaBudget struct {
	checks      int
	patternSize int
	patternWork int
}

// validate checks a value. It returns errBudgetSpent when that takes too long, and
// otherwise what the library says.
func (b *schemaBudget) validate(schema *jsonschema.Schema, document any) (err error) {
	// The library can be stopped in no other way. Nothing else is recovered from.
	defer func() {
		if reason := recover(); reason == errBudgetSpent {
			err = errBudgetSpent
		} else if reason != nil {
			panic(reason)
		}
	}()
	return schema.Validate(document)
}

// vocabulary is how the library calls the budget at each check against an object
// schema; it knows no keyword.
func (b *schemaBudget) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:holdpoint:budget",
		Compile: func(_ *jsonschema.CompilerContext, object map[string]any) (jsonschema.SchemaExt, error) {
			return schemaCharge{budget: b, weight: keywords(object)}, nil
		},
	}
}

// keywords counts the keywords of a schema and what stands directly in them: the
// subschemas that fail at once are not reported by themselves.
func keywords(object map[string]any) int {
	count := 1
	for _, value := range object {
		switch value := value.(type) {
		case []any:
			count += len(value)
		case map[string]any:
			count += len(value)
		}
	}
	return count
}

type schemaCharge struct {
	budget *schemaBudget
	weight int
}

// Validate implements jsonschema.SchemaExt.
func (c schemaCharge) Validate(*jsonschema.ValidatorContext, any) {
	c.budget.checks += c.weight
	if c.budget.checks > maxSchemaChecks {
		panic(errBudgetSpent)
	}
}

// compilePattern compiles a regular expression with the library's default engine.
// Each match is charged to the budget.
func (b *schemaBudget) compilePattern(pattern string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := patternSize(parsed)
	if b.patternSize += size; b.patternSize > maxPatternSize {
		return nil, errPatternTooComplex
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return chargedPattern{Regexp: compiled, size: size, budget: b}, nil
}

// chargedPattern is a regular expression whose matches are charged to a budget: a
// schema may refer to one expression as often as it has room for references.
type chargedPattern struct {
	*regexp.Regexp

	size   int
	budget *schemaBudget
}

// MatchString panics with errBudgetSpent when the budget is spent, which
// schemaBudget.validate turns into an error.
func (p chargedPattern) MatchString(text string) bool {
	p.budget.patternWork += p.size * (len(text) + 1)
	if p.budget.patternWork > maxPatternWork {
		panic(errBudgetSpent)
	}
	return p.Regexp.MatchString(text)
}

// patternSize is about how many instructions an expression is compiled to.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

// boundSchema refuses a schema that could keep the checker busy for ever: chains
// of references that double at every step. It counts the subschemas that one
// value may be checked against, through references too; a recursion counts once.
func boundSchema(schema *jsonschema.Schema) error {
	if schemaCost(schema, map[*jsonschema.Schema]int{}) > maxSchemaCost {
		return errTooComplex
	}
	return nil
}

func schemaCost(schema *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if cost, seen := known[schema]; seen {
		return cost
	}
	known[schema] = 1
	cost := 1
	eachSubschema(schema, func(sub *jsonschema.Schema) {
		if sub != nil {
			cost = min(cost+schemaCost(sub, known), maxSchemaCost+1)
		}
	})
	known[schema] = cost
	return cost
}

// eachSubschema visits the subschemas that a check against the schema leads to. It
// may visit nil.
func eachSubschema(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	for _, sub := range []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	} {
		visit(sub)
	}
	if s.DynamicRef != nil {
		visit(s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		for _, sub := range list {
			visit(sub)
		}
	}
	for _, byName := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, sub := range byName {
			visit(sub)
		}
	}
	for _, sub := range s.PatternProperties {
		visit(sub)
	}
	for _, dependency := range s.Dependencies {
		visitAny(dependency, visit)
	}
	visitAny(s.AdditionalProperties, visit)
	visitAny(s.Items, visit)
	visitAny(s.AdditionalItems, visit)
}

// visitAny visits what a keyword holds that is a schema in one form and something
// else in another.
func visitAny(value any, visit func(*jsonschema.Schema)) {
	switch value := value.(type) {
	case *jsonschema.Schema:
		visit(value)
	case []*jsonschema.Schema:
		for _, sub := range value {
			visit(sub)
		}
	}
}
