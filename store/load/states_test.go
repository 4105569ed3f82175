package load

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Updates rarely change a session's metadata, which may be large.
func TestMetadataIsWrittenWhenItChanged(t *testing.T) {
	t.Parallel()
	kept := &model.Session{SessionID: "kept", Metadata: api.JSON(`{"a":1}`)}
	changed := &model.Session{SessionID: "changed", Metadata: api.JSON(`{"a":2}`)}
	states := &States{loaded: map[string]*model.Session{
		"kept": {SessionID: "kept", Metadata: api.JSON(`{"a":1}`)}, "changed": {SessionID: "changed", Metadata: api.JSON(`{"a":1}`)},
	}}
	require.Equal(t, []*model.Session{changed}, states.Amended([]*model.Session{kept, changed}))
}
