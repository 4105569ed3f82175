package codex_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

func TestBrowsers(t *testing.T) {
	t.Parallel()
	dialecttest.TestBrowsers(t, codex.Mount)
}
