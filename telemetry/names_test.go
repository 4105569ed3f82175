package telemetry

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/rig"
)

var (
	metricName   = regexp.MustCompile(`holdpoint_[a-z_]+`)
	describedAs  = regexp.MustCompile(`fqName: "(holdpoint_[a-z_]+)"`)
	seriesSuffix = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// names returns the names of all metrics.
func names(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{"holdpoint_build_info": true}
	m := New("test")
	for _, collector := range append(slices.Concat(m.Door.collectors(), m.HTTP.collectors(), m.Webhooks.collectors()), newSampler(Source{})) {
		descriptions := make(chan *prometheus.Desc, 100)
		collector.Describe(descriptions)
		close(descriptions)
		for description := range descriptions {
			name := describedAs.FindStringSubmatch(description.String())
			require.NotNil(t, name, description)
			found[name[1]] = true
		}
	}
	return found
}

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	documented := text(t, "../docs/observe.md")
	for name := range names(t) {
		require.Contains(t, documented, "`"+name+"`")
	}
}

func TestRulesDashboardsAndPagesNameMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	known := names(t)
	looked := 0
	for _, path := range []string{"../docs/observe.md", "../deploy/prometheus/holdpoint.rules.yml", "../deploy/prometheus/holdpoint.rules.test.yml", "../deploy/grafana/holdpoint.json"} {
		for _, name := range metricName.FindAllString(text(t, path), -1) {
			looked++
			require.True(t, known[name] || known[seriesSuffix.ReplaceAllString(name, "")], "%s names %s", path, name)
		}
	}
	require.Greater(t, looked, 100)
}

// series is a metric with one label and its value.
var series = regexp.MustCompile(`(holdpoint_[a-z_]+)\{([a-z_]+)=\\?"([a-z_]+)\\?"\}`)

func TestPagesNameLabelsThatThereAre(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	collectCounts(&model.Vitals{}, func(desc *prometheus.Desc, _ float64, labels ...string) {
		for _, label := range labels {
			shown[describedAs.FindStringSubmatch(desc.String())[1]+" "+label] = true
		}
	})
	looked := 0
	for _, path := range []string{"../docs/observe.md", "../docs/webhooks.md", "../deploy/prometheus/holdpoint.rules.yml", "../deploy/grafana/holdpoint.json"} {
		for _, found := range series.FindAllStringSubmatch(text(t, path), -1) {
			if strings.HasPrefix(found[1], "holdpoint_effects") || strings.HasPrefix(found[1], "holdpoint_oldest") || found[1] == "holdpoint_waits" {
				looked++
				require.True(t, shown[found[1]+" "+found[3]], "%s names %s", path, found[0])
			}
		}
	}
	require.Positive(t, looked)
}

// Every kind of effect is counted, so a new kind cannot be pending unseen.
func TestEveryKindOfEffectIsCounted(t *testing.T) {
	t.Parallel()
	constants := regexp.MustCompile(`EffectKind = "([a-z_]+)"`).FindAllStringSubmatch(text(t, "../api/effect.go"), -1)
	var kinds []api.EffectKind
	for _, constant := range constants {
		kinds = append(kinds, api.EffectKind(constant[1]))
	}
	require.ElementsMatch(t, kinds, api.EffectKinds())
}

func TestEveryAlertIsDocumentedAndTested(t *testing.T) {
	t.Parallel()
	alerts := regexp.MustCompile(`(?m)alert: (\w+)$`).FindAllStringSubmatch(text(t, "../deploy/prometheus/holdpoint.rules.yml"), -1)
	require.NotEmpty(t, alerts)
	documented, tested := text(t, "../docs/observe.md"), text(t, "../deploy/prometheus/holdpoint.rules.test.yml")
	for _, alert := range alerts {
		require.Contains(t, documented, "`"+alert[1]+"`")
		require.Contains(t, tested, alert[1]+" fires\n")
		require.Contains(t, tested, alert[1]+" is silent\n")
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	tool := rig.Need(t, "promtool")
	for _, check := range []string{"check config prometheus.yml", "check rules holdpoint.rules.yml", "test rules holdpoint.rules.test.yml"} {
		command := exec.CommandContext(t.Context(), tool, strings.Fields(check)...)
		command.Dir = filepath.Join("..", "deploy", "prometheus")
		said, err := command.CombinedOutput()
		require.NoError(t, err, "promtool %s: %s", check, said)
	}
}
