package document

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits on the work of a caller's schema. A small schema can cause exponential work through its
// references.
const (
	// maxSchemaCost bounds the subschemas that one value can be validated against. It is checked
	// without a value, when the request is raised.
	maxSchemaCost = 100_000
	// maxSchemaChecks bounds the evaluated keywords per value. The cost of a recursive schema
	// depends on the value, so it is counted during validation.
	maxSchemaChecks = 200_000
	// maxPatternSize bounds all regular expressions of a schema together, in compiled
	// instructions.
	maxPatternSize = 100_000
	// minMatchedBytes is the shortest text that every regular expression of a schema must be
	// able to match within maxPatternWork. A schema below that could hardly be answered.
	minMatchedBytes = 15
	// maxPatternWork bounds the matching of regular expressions for one value, in instructions
	// times bytes. One such step takes about 10 ns, so the bound is about 0.1 s.
	maxPatternWork = 10_000_000
	// maxValuesOfCall is how many values of maximum cost one call can check, out of up to 1,000
	// values.
	maxValuesOfCall = 10
	// checkedBytes is how many bytes of a schema cost one check to read.
	checkedBytes = 16
)

// Work counts the validation work of one call. The zero value is ready to use. It is not safe
// for concurrent use.
type Work struct{ spent schemaBudget }

func (w *Work) isSpent() bool {
	return w.spent.checks > maxValuesOfCall*maxSchemaChecks || w.spent.patternSize > maxValuesOfCall*maxPatternSize ||
		w.spent.patternWork > maxValuesOfCall*maxPatternWork
}

func (w *Work) add(budget schemaBudget, schemaBytes int) {
	w.spent.checks += budget.checks + schemaBytes/checkedBytes
	w.spent.patternSize += budget.patternSize
	w.spent.patternWork += budget.patternWork
}

var (
	errTooComplex        = errors.New("is too complex")
	errPatternTooComplex = errors.New("its regular expressions are too complex")
	errBudgetSpent       = errors.New("the schema takes too many checks")
)

// schemaBudget counts the work of one schema. The zero value is ready to use. It is not safe for
// concurrent use.
type schemaBudget struct {
	checks      int
	patternSize int
	patternWork int
	// compiled says that the schema has no more regular expressions to compile.
	compiled bool
}

// validate validates a value. It returns errBudgetSpent when the budget is spent, and otherwise
// the library's result.
func (b *schemaBudget) validate(schema *jsonschema.Schema, document any) (err error) {
	// Only a panic stops the library. Other panics continue.
	defer func() {
		reason := recover()
		if thrown, isError := reason.(error); isError && errors.Is(thrown, errBudgetSpent) {
			err = errBudgetSpent
		} else if reason != nil {
			panic(reason)
		}
	}()
	return schema.Validate(document)
}

// vocabulary returns a vocabulary without keywords. The library calls it for each validation
// against an object schema, which charges the budget.
func (b *schemaBudget) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:holdpoint:budget",
		Compile: func(_ *jsonschema.CompilerContext, object map[string]any) (jsonschema.SchemaExt, error) {
			return schemaCharge{budget: b, weight: keywords(object)}, nil
		},
	}
}

// keywords counts the keywords of a schema and their direct entries. The library does not
// report the subschemas that fail at once, so they are charged here.
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

// Validate implements jsonschema.SchemaExt: it charges the budget, and panics when it is spent.
func (c schemaCharge) Validate(*jsonschema.ValidatorContext, any) {
	c.budget.checks += c.weight
	if c.budget.checks > maxSchemaChecks {
		panic(errBudgetSpent)
	}
}

// compilePattern parses a regular expression like the library's default. The budget is charged
// for its size and for each match. It is compiled at the first match, because that can take up
// to 10 MB. After compilation, the library calls it only with values of the format "regex", which is
// not checked.
func (b *schemaBudget) compilePattern(pattern string) (jsonschema.Regexp, error) {
	if b.compiled {
		return &chargedPattern{text: pattern}, nil
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := patternSize(parsed)
	if b.patternSize += size; b.patternSize > maxPatternSize {
		return nil, errPatternTooComplex
	}
	// A pattern that parses compiles.
	return &chargedPattern{text: pattern, compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) }), size: size, budget: b}, nil
}

// chargedPattern is a regular expression whose matches are charged to a budget: a schema may
// refer to one expression many times.
type chargedPattern struct {
	text     string
	compiled func() *regexp.Regexp
	size     int
	budget   *schemaBudget
}

// String implements jsonschema.Regexp.
func (p *chargedPattern) String() string { return p.text }

// MatchString implements jsonschema.Regexp.
func (p *chargedPattern) MatchString(text string) bool {
	p.budget.chargeMatch(p.size, len(text)+1)
	return p.compiled().MatchString(text)
}

// chargeMatch charges size instructions for each of so many bytes. It panics with errBudgetSpent when
// the budget is spent; schemaBudget.validate returns that as an error.
func (b *schemaBudget) chargeMatch(size, bytes int) {
	b.patternWork += size * bytes
	if b.patternWork > maxPatternWork {
		panic(errBudgetSpent)
	}
}

// patternSize estimates how many instructions an expression compiles to.
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

// boundSchema rejects a schema that would take too long, such as a chain of references that
// doubles at every step. It counts the subschemas that one value may be validated against, and
// the instructions of their regular expressions, through references too; a recursion counts
// once.
func boundSchema(schema *jsonschema.Schema) error {
	switch cost := costOf(schema, map[*jsonschema.Schema]schemaCost{}); {
	case cost.checks > maxSchemaCost:
		return errTooComplex
	case cost.patterns > maxPatternWork/(minMatchedBytes+1):
		return errPatternTooComplex
	}
	return nil
}

// schemaCost is the maximum cost of checking one value.
type schemaCost struct {
	checks int
	// patterns counts instructions of regular expressions.
	patterns int
}

func costOf(schema *jsonschema.Schema, known map[*jsonschema.Schema]schemaCost) schemaCost {
	if cost, seen := known[schema]; seen {
		return cost
	}
	cost := schemaCost{checks: 1, patterns: instructions(schema.Pattern)}
	for pattern := range schema.PatternProperties {
		cost.patterns += instructions(pattern)
	}
	known[schema] = cost
	eachSubschema(schema, func(sub *jsonschema.Schema) {
		if sub != nil {
			added := costOf(sub, known)
			cost.checks = min(cost.checks+added.checks, maxSchemaCost+1)
			cost.patterns = min(cost.patterns+added.patterns, maxPatternWork)
		}
	})
	known[schema] = cost
	return cost
}

func instructions(pattern jsonschema.Regexp) int {
	if charged, ok := pattern.(*chargedPattern); ok {
		return charged.size
	}
	return 0
}

// eachSubschema calls visit with the subschemas that are validated with the schema. Some may be
// nil.
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

// visitAny visits the schemas in a keyword's value that may also be something else, such as a
// boolean.
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
