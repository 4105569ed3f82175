package document

import (
	"errors"
	"strings"
	"sync"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// assertedFormats are the formats that are checked, in every draft, and their descriptions in faults. The
// forms of the inbox check the same formats (web/assets/schema.js).
var assertedFormats = map[string]string{
	"date":      "a date, such as 2026-12-24",
	"date-time": "a date and time, such as 2026-12-24T18:00:00Z",
	"email":     "an email address",
	"uri":       "a URL with its scheme, such as https://example.com",
	"uuid":      "a UUID",
	"ipv4":      "an IPv4 address",
	"ipv6":      "an IPv6 address",
}

// ignoredFormats are the library's other formats. The one that is missing, "regex", cannot be replaced:
// schemaBudget.compilePattern accepts every value of it.
var ignoredFormats = []string{
	"hostname", "time", "duration", "period", "json-pointer", "relative-json-pointer", "iri", "uri-reference",
	"iri-reference", "uri-template", "semver",
}

// The check of a format is charged like a match of formatSize instructions with a text that is formatBytes
// longer.
const (
	formatSize  = 4
	formatBytes = 16
)

// libraryFormats returns the checks of the asserted formats. The library exports them only in compiled
// schemas.
var libraryFormats = sync.OnceValue(func() map[string]*jsonschema.Format {
	properties := map[string]any{}
	for name := range assertedFormats {
		properties[name] = map[string]any{"format": name}
	}
	const location = "urn:holdpoint:formats"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(location, map[string]any{"properties": properties}); err != nil {
		panic(err) // the document is new to the compiler
	}
	formats := map[string]*jsonschema.Format{}
	for name, schema := range compiler.MustCompile(location).Properties {
		formats[name] = schema.Format
	}
	return formats
})

// assertFormats makes a compiler check the asserted formats and no others, whatever the draft.
// Every check is charged to the budget.
func (b *schemaBudget) assertFormats(compiler *jsonschema.Compiler) {
	compiler.AssertFormat()
	for _, name := range ignoredFormats {
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	for name, library := range libraryFormats() {
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(value any) error {
			text, is := value.(string)
			if !is {
				return nil
			}
			b.chargeMatch(formatSize, len(text)+formatBytes)
			if isLoose(name, text) {
				return errFormat
			}
			return library.Validate(text)
		}})
	}
}

var errFormat = errors.New("does not have the format")

// isLoose finds texts that the library accepts although they do not have the format: a time or an address
// with a signed number, an email address that begins with "@" or with a quotation that does not end, and a URL
// with white space or with nothing after its scheme.
func isLoose(format, text string) bool {
	switch format {
	case "date-time":
		return len(text) > 19 && strings.ContainsAny(text[11:19]+text[len(text)-5:], "+-")
	case "ipv4":
		return strings.ContainsAny(text, "+-")
	case "email":
		_, literal, _ := strings.Cut(text, "@[")
		return strings.HasPrefix(text, "@") || strings.HasPrefix(text, `"`) && !strings.Contains(text[1:], `"@`) ||
			!strings.Contains(literal, "IPv6:") && strings.ContainsAny(literal, "+-")
	case "uri":
		_, rest, _ := strings.Cut(text, ":")
		return rest == "" || strings.ContainsFunc(text, unicode.IsSpace)
	}
	return false
}

// formatDetail returns the message about a text without its format. The library's message repeats the text,
// which may be long.
func formatDetail(failed *kind.Format) string { return "must be " + assertedFormats[failed.Want] }
