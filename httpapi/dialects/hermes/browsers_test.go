package hermes_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
)

func TestBrowsers(t *testing.T) {
	t.Parallel()
	dialecttest.TestBrowsers(t, hermes.Mount)
}
