package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// drafts are the values of $schema; empty for the default.
var drafts = []string{
	"", "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

func schemaOf(draft, members string) api.JSON {
	if draft == "" {
		return api.JSON("{" + members + "}")
	}
	return api.JSON(fmt.Sprintf(`{"$schema":%q,%s}`, draft, members))
}

// Seven formats are checked in every draft. The texts are also in test/inbox/units/form.test.mjs: the page
// and the service agree on them.
func TestFormatsAreCheckedInEveryDraft(t *testing.T) {
	t.Parallel()
	for format, texts := range map[string]struct {
		detail    string
		good, bad []string
	}{
		"date": {"must be a date, such as 2026-12-24", []string{"2024-02-29", "0001-01-01"}, []string{"soon", "", "2023-02-29", "2026-1-2", "2026-12-24T18:00:00Z"}},
		"date-time": {
			"must be a date and time, such as 2026-12-24T18:00:00Z",
			[]string{"2026-12-24T18:00:00Z", "2026-12-24t18:00:00z", "2026-12-24T18:00:00.5+01:00", "2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00", "2026-12-24T18:00:00-23:59"},
			[]string{"2026-12-24 18:00:00Z", "2026-12-24T18:00Z", "2026-12-24T18:00:00", "2026-12-24T24:00:00Z", "2026-12-24T25:00:00Z", "2026-12-24T18:00:60Z", "2026-12-24T+8:00:00Z", "2026-12-24T18:00:00+24:00", "2026-12-24T18:00:00.Z", "2023-02-29T18:00:00Z"},
		},
		"email": {
			"must be an email address",
			[]string{"a@b", "ada.lovelace+x@mail.example.com", `"a b"@example.com`, "ada@[10.0.0.1]", "ada@[IPv6:::1]", strings.Repeat("a", 64) + "@b"},
			[]string{"ada", "@example.com", "ada@", "a b@c", "a..b@c", ".a@c", "ada@exa_mple.com", "ada@-b", "ädä@example.com", strings.Repeat("a", 65) + "@b"},
		},
		"uri": {
			"must be a URL with its scheme, such as https://example.com",
			[]string{"https://example.com", "mailto:ada@example.com", "urn:isbn:1", "http://[::1]:8080/a?b#c", "https://example.com/ü"},
			[]string{"example.com", "/a", "https:", "https://example.com/a b", "//example.com", "1a:b", ":b"},
		},
		"uuid": {
			"must be a UUID",
			[]string{"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"},
			[]string{"123", "123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "123e4567-e89b-12d3-a456-42661417400g"},
		},
		"ipv4": {"must be an IPv4 address", []string{"10.0.0.1", "255.255.255.255"}, []string{"10.0.0.256", "10.0.0", "010.0.0.1", "+10.0.0.1", "::1", "10.0.0.1/8"}},
		"ipv6": {"must be an IPv6 address", []string{"::1", "fe80::a", "::ffff:10.0.0.1"}, []string{"1::2::3", "fe80::a%eth0", "[::1]", "10.0.0.1", "12345::"}},
	} {
		for _, draft := range drafts {
			schema := schemaOf(draft, fmt.Sprintf(`"properties":{"x":{"type":"string","format":%q}}`, format))
			require.Empty(t, document.CheckSchema(schema, ""), "%s", schema)
			match := func(text string) []api.Fault {
				return document.MatchSchema(schema, document.Encode(map[string]string{"x": text}), "/value")
			}
			for _, good := range texts.good {
				require.Empty(t, match(good), "%s: %s", schema, good)
			}
			for _, bad := range texts.bad {
				require.Equal(t, []api.Fault{{Pointer: "/value/x", Detail: texts.detail}}, match(bad), "%s: %s", schema, bad)
			}
			require.Empty(t, document.MatchSchema(schemaOf(draft, fmt.Sprintf(`"format":%q`, format)), api.JSON(`7`), ""), "a format is about texts")
		}
	}
}

// Other formats describe a value, and are not checked in any draft. A text with the format "regex" is not
// compiled, so no number of them spends the budget of the schema.
func TestOtherFormatsAreNotChecked(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat(".{0,1000}", 60)
	for _, format := range []string{
		"hostname", "time", "duration", "period", "json-pointer", "relative-json-pointer", "iri", "uri-reference",
		"iri-reference", "uri-template", "semver", "regex", "int64", "multiline", "",
	} {
		for _, draft := range drafts {
			schema := schemaOf(draft, fmt.Sprintf(`"format":%q`, format))
			for range 3 {
				require.Empty(t, document.MatchSchema(schema, api.JSON(`"((\\ %zz ~2"`), ""), "%s", schema)
				require.Empty(t, document.MatchSchema(schema, document.Encode(pattern), ""), "%s", schema)
			}
		}
	}
}

// Formats take from the budget of a value.
func TestWorkOfFormatsIsBounded(t *testing.T) {
	t.Parallel()
	references := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/f"},`, 1_000), ",")
	schema := api.JSON(`{"$defs":{"f":{"format":"uri"}},"anyOf":[` + references + `]}`)
	require.Empty(t, document.CheckSchema(schema, ""))
	require.NotEmpty(t, document.MatchSchema(schema, api.JSON(`"soon"`), "/value"))
	faults := document.MatchSchema(schema, document.Encode(strings.Repeat("-", 20_000)), "/value")
	require.Equal(t, []api.Fault{{Pointer: "/value", Detail: "cannot be checked: the schema is too complex for this value"}}, faults)
}
