package rules

import (
	"slices"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

const (
	// examplesShown is the number of example calls of each kind.
	examplesShown = 3
	// maxExampleInput bounds the inputs and globs, in bytes, that examples are made from.
	maxExampleInput = 4096
)

// Examples returns calls that the rule would match, and similar ones that it would not, up to
// three of each. It ignores the rule's end and owner. The input is the canonical form behind
// Match.InputDigest; without it, or if it is large, there are no examples for a rule with a
// digest.
func (r *Rule) Examples(input []byte) api.RuleExamples {
	found := api.RuleExamples{Matching: []api.RuleExample{}, NotMatching: []api.RuleExample{}}
	base, known := r.exampleCall(input)
	if !known {
		return found
	}
	var seen []string
	show := func(to *[]api.RuleExample, example api.RuleExample, wanted bool) {
		text, whyNot := exampleText(&example), r.whyNotExample(&example)
		if len(*to) == examplesShown || wanted != (whyNot == "") || slices.Contains(seen, text) {
			return
		}
		example.WhyNot = whyNot
		seen, *to = append(seen, text), append(*to, example)
	}
	for _, example := range r.matchingExamples(base) {
		show(&found.Matching, example, true)
	}
	if len(found.Matching) == 0 {
		return found
	}
	// The nearest ones differ from a shown call in only one thing.
	for _, example := range r.nearExamples(found.Matching[0]) {
		show(&found.NotMatching, example, false)
	}
	return found
}

// whyNotExample judges an example like a call.
func (r *Rule) whyNotExample(example *api.RuleExample) string {
	call := Call{
		ToolName: example.ToolName, ToolCallID: example.ToolCallID, PatternKeys: example.PatternKeys, Input: example.Input,
		Directory: example.Directory,
		Budget:    NewBudget(1),
	}
	digest, err := document.Digest(example.Input)
	if err != nil {
		return "its input has no canonical form"
	}
	call.InputDigest = digest
	if whyNot := r.whyNotMatch(&call); whyNot != "" {
		return whyNot
	}
	// An allow must cover every key.
	if r.Effect == api.RuleAllow && len(r.Match.PatternKeys) > 0 {
		for _, key := range example.PatternKeys {
			if !slices.Contains(r.Match.PatternKeys, key) {
				return "it does not allow the call's pattern key " + quoted(key)
			}
		}
	}
	return ""
}

func exampleText(example *api.RuleExample) string {
	return string(document.Encode(example))
}

// exampleCall returns the call that examples start from: all conditions of the rule except its
// params.
func (r *Rule) exampleCall(input []byte) (base api.RuleExample, known bool) {
	base = api.RuleExample{ToolName: r.ToolName, ToolCallID: r.Match.ToolCallID, Input: api.JSON(`{}`), Directory: r.Match.Directory}
	if base.ToolName == "" {
		base.ToolName = "any-tool"
	}
	if len(r.Match.PatternKeys) > 0 {
		base.PatternKeys = []string{r.Match.PatternKeys[0]}
	}
	for _, glob := range r.Match.Params {
		if len(glob) > maxExampleInput || !utf8.ValidString(glob) {
			return base, false
		}
	}
	if r.Match.InputDigest != "" {
		if input == nil || len(input) > maxExampleInput {
			return base, false
		}
		base.Input = api.JSON(input)
	}
	return base, true
}

// matchingExamples returns calls that mostly match, most informative first.
func (r *Rule) matchingExamples(base api.RuleExample) []api.RuleExample {
	var all []api.RuleExample
	switch {
	case r.Match.InputDigest != "":
		all = append(all, base)
	case len(r.Match.Params) > 0:
		inputs := r.exampleInputs()
		for _, name := range paramNames(&r.Match) {
			if number, is := canonicalNumber(r.Match.Params[name]); is {
				inputs = append(inputs, withMember(inputs[0], name, api.JSON(number)))
			}
		}
		for _, input := range inputs {
			example := base
			example.Input = input
			all = append(all, example)
		}
	default:
		for _, input := range []string{`{"command":"ls"}`, `{"command":"rm -rf /"}`, `{}`} {
			example := base
			example.Input = api.JSON(input)
			all = append(all, example)
		}
	}
	// Each key alone, and all together.
	if len(r.Match.PatternKeys) > 1 {
		for _, key := range r.Match.PatternKeys[1:min(len(r.Match.PatternKeys), examplesShown)] {
			example := all[0]
			example.PatternKeys = []string{key}
			all = slices.Insert(all, 1, example)
		}
	}
	return all
}
