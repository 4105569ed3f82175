package sqlite

import (
	"testing"

	"github.com/holdpoint/holdpoint/store/storetest"
)

func TestRulesAreLoadedAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	storetest.RequireRuleLoads(t, &engine{store: openInMemory(t, Options{})})
}

func TestTheVersionOfRulesGrows(t *testing.T) {
	t.Parallel()
	storetest.RequireRuleVersions(t, &engine{store: openInMemory(t, Options{})})
}
