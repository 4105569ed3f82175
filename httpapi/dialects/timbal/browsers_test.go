package timbal_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
)

func TestBrowsers(t *testing.T) {
	t.Parallel()
	dialecttest.TestBrowsers(t, timbal.New(timbal.Options{DefaultAgentID: "assistant"}))
}
