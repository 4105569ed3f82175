package relay_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
)

func TestBrowsers(t *testing.T) {
	t.Parallel()
	dialecttest.TestBrowsers(t, relay.New(relay.Options{DefaultAgentID: "assistant"}))
}
