package docstest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// TestLimitsAreDocumented holds the numbers in the table of limits of docs/configuration.md equal to
// the constants that they stand for, in the order of the row.
func TestLimitsAreDocumented(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(document(t, "docs/configuration.md"), "\n## Limits\n")
	require.True(t, found)
	for what, numbers := range map[string][]string{
		"Request body":         {size(wire.DefaultMaxBodyBytes)},
		"Nesting of JSON":      {count(api.MaxJSONDepth)},
		"Ids":                  {"1–" + count(api.MaxIDLength)},
		"Idempotency keys":     {"1–" + count(api.MaxIdempotencyKeyLength)},
		"`X-Actor`":            {"1–" + count(api.MaxActorLength)},
		"Texts (":              {size(api.MaxTextLength)},
		"Names (":              {count(api.MaxNameLength)},
		"`sensitive_paths` of": {count(api.MaxSensitivePaths)},
		"Queued runs of":       {count(api.MaxQueuedRuns), size(api.MaxQueuedBytes)},
		"Questions of other":   {count(api.MaxOpenClarifications), size(api.MaxClarificationBytes)},
		"Messages in one":      {count(api.MaxMessages), size(api.MaxMessageBytes)},
		"Requests in one":      {count(api.MaxRequestsPerSuspension)},
		"Faults listed":        {count(api.MaxFaults)},
		"Open requests of":     {count(api.MaxOpenRequests), size(api.MaxOpenRequestBytes)},
		"Answers to some":      {size(api.MaxPartialAnswerBytes)},
		"Questions in one":     {count(api.MaxQuestionsPerRequest), count(api.MaxOptionsPerQuestion)},
		"Rules in force that": {
			count(api.MaxRulesOfAllSessions), size(api.MaxRuleBytesOfAllSessions), count(api.MaxRulesOfSession), size(api.MaxRuleBytesOfSession),
		},
		"Rules in force about": {count(api.MaxExactRulesOfSession), size(api.MaxExactRuleBytesOfSession)},
		"Params of one rule":   {count(api.MaxRuleParams), size(api.MaxGlobLength), count(api.MaxRuleUses)},
		"A value that globs":   {size(api.MaxGlobText)},
		"Resolutions in one":   {count(api.MaxResolutionsPerBatch)},
		"Events in one call":   {count(api.MaxEventsPerCall), size(api.MaxEventBytesPerCall)},
		"A JSON Schema":        {size(api.MaxSchemaBytes)},
		"Deadlines":            {time.UnixMilli(api.MaxTimeMs).UTC().Format("2006")},
		"Leases":               {seconds(api.MinLeaseMs), fmt.Sprintf("%d h", api.MaxLeaseMs/3_600_000), seconds(api.DefaultLeaseMs)},
		"`wait_ms` of":         {seconds(api.MaxWaitMs)},
		"Runs of one claim":    {count(api.MaxRunsPerClaim), count(api.MaxAgentsPerClaim)},
		"Lists":                {"1–" + count(api.MaxPageLimit), count(api.DefaultPageLimit), count(api.MaxUnpaged), size(api.MaxReplyBytes)},
		"Events or outputs":    {count(api.MaxEventsPerList), size(api.MaxReplyBytes)},
		"Outputs in a view":    {count(api.MaxOutputsShown), size(api.MaxReplyBytes)},
	} {
		row := regexp.MustCompile(`(?m)^\| `+regexp.QuoteMeta(what)+`[^|]*\|(.*)\|$`).FindAllStringSubmatch(table, -1)
		require.Len(t, row, 1, "the row %q", what)
		rest := row[0][1]
		for _, number := range numbers {
			at := regexp.MustCompile(`(^|[^0-9,])` + regexp.QuoteMeta(number) + `($|[^0-9,]|,[^0-9])`).FindStringIndex(rest)
			require.NotNil(t, at, "%q should say %s: %s", what, number, row[0][1])
			rest = rest[at[0]+len(number):]
		}
	}
}

// count writes a number as the documents do: 10,000.
func count(n int) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func size(bytes int) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

func seconds(ms int) string { return fmt.Sprintf("%d s", ms/1000) }
