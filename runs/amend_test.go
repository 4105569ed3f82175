package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

func amend(metadata string) *runs.AmendSession {
	return &runs.AmendSession{SessionID: "s", Metadata: api.JSON(metadata)}
}

func TestAmendSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, with, after string // after is empty when nothing changes
	}{
		"into none":              {``, `{"title":"x"}`, `{"title":"x"}`},
		"nothing":                {`{"a":1}`, `{}`, ``},
		"nothing into none":      {``, `{}`, ``},
		"a member of none out":   {``, `{"a":null}`, ``},
		"an unknown one out":     {`{"a":1}`, `{"b":null}`, ``},
		"added at the end":       {`{"z":1,"a":2}`, `{"b":3}`, `{"z":1,"a":2,"b":3}`},
		"replaced in its place":  {`{"z":1,"a":2}`, `{"z":"new"}`, `{"z":"new","a":2}`},
		"replaced as a whole":    {`{"z":{"a":1,"b":2}}`, `{"z":{"b":3}}`, `{"z":{"b":3}}`},
		"null inside stays":      {`{"a":1}`, `{"b":{"c":null}}`, `{"a":1,"b":{"c":null}}`},
		"one out":                {`{"z":1,"a":2}`, `{"z":null}`, `{"a":2}`},
		"all out":                {`{"z":1,"a":2}`, `{"a":null,"z":null}`, `{}`},
		"the same, in other ink": {`{"a":{"x":1,"y":[2]}}`, `{ "\u0061" : {"y":[2.0],"x":1} }`, ``},
		"another order of array": {`{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[2,1]}`},
		"names to be escaped":    {`{"a\"b":1,"é\n":2}`, `{"é\u000a":3,"":4}`, `{"a\"b":1,"é\n":3,"":4}`},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			create := &runs.CreateSession{SessionID: "s"}
			if test.before != "" {
				create.Metadata = api.JSON(test.before)
			}
			h.must(create)
			h.nowMs += 10
			if test.after == "" {
				reply := h.requireUnchanged(amend(test.with))
				require.Equal(t, test.before, string(reply.Session.Metadata))
				return
			}
			reply := h.must(amend(test.with))
			require.False(t, reply.Existing)
			require.Equal(t, test.after, string(reply.Session.Metadata))
			require.Equal(t, test.after, string(h.states["s"].Session.Metadata))
			require.Equal(t, h.nowMs, reply.Session.UpdatedAtMs)
			require.Equal(t, int64(startMs), reply.Session.CreatedAtMs)
			require.Empty(t, h.events["s"])
			h.requireUnchanged(amend(test.with))
			h.checkHealthy()
		})
	}
}

func TestAmendSessionIsRefused(t *testing.T) {
	h := parallelHouse(t)
	for _, text := range []string{``, `null`, `[]`, `1`, `"x"`} {
		require.Equal(t, []string{"/metadata"}, pointersOf(h.refused(api.CodeInvalidRequest, amend(text))), text)
	}
	h.refused(api.CodeSessionNotFound, amend(`{}`))

	half := `"` + strings.Repeat("x", api.MaxMetadataBytes/2) + `"`
	h.must(&runs.CreateSession{SessionID: "s"})
	require.Equal(t, []string{"/metadata"}, pointersOf(h.refused(api.CodeInvalidRequest, amend(`{"a":`+half+`,"b":`+half+`}`))))
	h.must(amend(`{"a":` + half + `}`))
	require.Equal(t, []string{"/metadata"}, pointersOf(h.refused(api.CodeInvalidRequest, amend(`{"b":`+half+`}`))))

	// Metadata that was too large from the start may shrink.
	h.must(&runs.CreateSession{SessionID: "large", Metadata: api.JSON(`{"a":` + half + `,"b":` + half + `,"c":1}`)})
	h.must(&runs.AmendSession{SessionID: "large", Metadata: api.JSON(`{"c":null}`)})
	h.refused(api.CodeInvalidRequest, &runs.AmendSession{SessionID: "large", Metadata: api.JSON(`{"c":1}`)})
	// Metadata of an ended session can still be amended.
	h.must(&runs.EndSession{SessionID: "s"})
	h.must(amend(`{"a":null}`))
}

func TestLabelAndOrigin(t *testing.T) {
	h := parallelHouse(t)
	shop := &api.SessionOrigin{Project: "shop", Directory: "~/src/shop", Host: "ada"}
	create := func(runID string, about *api.SessionAbout) *runs.CreateRun {
		return &runs.CreateRun{
			SessionID: "s", SessionGiven: true, RunID: runID, Kind: api.KindCall, Input: api.JSON(`1`), Session: about,
			Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}},
		}
	}
	h.must(create("r1", &api.SessionAbout{Label: "nightly", Origin: shop}))
	shown := func() api.SessionAbout { return model.AboutOf(h.states["s"].Session.About) }
	require.Equal(t, api.SessionAbout{Label: "nightly", Origin: shop}, shown())
	raised := h.events["s"][len(h.events["s"])-1]
	require.Contains(t, string(raised.Body), `"session":{"label":"nightly","origin":{"project":"shop","directory":"~/src/shop","host":"ada"}}`)

	// Absent and empty members stay, given ones replace, and a repeated call changes nothing.
	h.must(create("r2", nil))
	h.must(create("r3", &api.SessionAbout{Origin: &api.SessionOrigin{}}))
	require.Equal(t, api.SessionAbout{Label: "nightly", Origin: shop}, shown())
	h.must(create("r4", &api.SessionAbout{Label: "daily"}))
	h.requireUnchanged(create("r1", &api.SessionAbout{Label: "another", Origin: shop}))
	require.Equal(t, api.SessionAbout{Label: "daily", Origin: shop}, shown())

	view := func() api.SessionView {
		record := model.SessionRecord{Session: *h.states["s"].Session}
		return record.View()
	}
	require.Equal(t, "daily", view().Label)
	require.Equal(t, shop, view().Origin)
	empty := ""
	h.must(&runs.AmendSession{SessionID: "s", Label: &empty, Metadata: api.JSON(`{"a":1}`)})
	require.Equal(t, api.SessionAbout{Origin: shop}, shown())
	require.Equal(t, `{"a":1}`, string(h.states["s"].Session.Metadata))
	h.requireUnchanged(&runs.AmendSession{SessionID: "s", Origin: shop})
	h.must(&runs.AmendSession{SessionID: "s", Origin: &api.SessionOrigin{}})
	require.Nil(t, h.states["s"].Session.About)
	require.Equal(t, `{"a":1}`, string(h.states["s"].Session.Metadata))
	require.Nil(t, view().Origin)

	for pointer, about := range map[string]*api.SessionAbout{
		"/label":            {Label: strings.Repeat("é", api.MaxLabelLength+1)},
		"/origin/project":   {Origin: &api.SessionOrigin{Project: strings.Repeat("x", api.MaxNameLength+1)}},
		"/origin/directory": {Origin: &api.SessionOrigin{Directory: strings.Repeat("x", api.MaxDirectoryLength+1)}},
		"/origin/host":      {Origin: &api.SessionOrigin{Host: strings.Repeat("x", api.MaxNameLength+1)}},
	} {
		require.Equal(t, "/session"+pointer, h.refused(api.CodeInvalidRequest, create("r9", about)).Faults[0].Pointer)
		amend := &runs.AmendSession{SessionID: "s", Origin: about.Origin}
		if about.Label != "" {
			amend.Label = &about.Label
		}
		require.Equal(t, pointer, h.refused(api.CodeInvalidRequest, amend).Faults[0].Pointer)
	}
	longest := strings.Repeat("é", api.MaxLabelLength)
	h.must(&runs.AmendSession{SessionID: "s", Label: &longest})
	require.Equal(t, len(longest), (&runs.AmendSession{Label: &longest}).Spec().Size().Bytes, "they count as stored bytes")
}
