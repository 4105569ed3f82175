package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVariablesThatNothingReadsAreNamed(t *testing.T) {
	t.Parallel()
	variables := map[string]string{
		"HOLDPOINT_DATABASE": "sqlite:x.db", "HOLDPOINT_CONFIG": "x.json", "HOLDPOINT_LOG_LEVEL": "debug", "HOLDPOINT_TLS_CERT": "cert.pem",
		"HOLDPOINT_TOKEN": "t", "HOLDPOINT_MAX_ATTEMPTS": "",
		"HOLDPOINT_MIGRATE": "off", "HOLDPOINT_KEEP_RUNS": "90d", "HOLDPOINT_ALLOWED_HOST": "holdpoint.example", "HOLDPOINT_OTLP_ENDPOINT": "http://collector:4318",
	}
	unread := unreadVariables(func(name string) (string, bool) {
		value, there := variables[name]
		return value, there
	})
	require.ElementsMatch(t, []string{"HOLDPOINT_MIGRATE", "HOLDPOINT_KEEP_RUNS", "HOLDPOINT_ALLOWED_HOST", "HOLDPOINT_OTLP_ENDPOINT"}, unread)
}
