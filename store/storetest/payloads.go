package storetest

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// payloads are JSON texts that a careless store would change.
var payloads = []string{
	`null`, `""`, `0`, `-0.0`, `1e400000`, `9007199254740993`, `0.1000000000000000055511151231257827`,
	`"nul \u0000 and \ud83d\ude42 and \/"`, "{ \"b\" : 1,\n\t\"a\" : [ ] }", `{"a":1,"A":2}`, `"</script>'$1?"`,
}

var payloadTests = map[string]func(*harness){
	"payload/carried byte for byte": func(h *harness) {
		texts := append([]string{strconv.Quote("x") + " ", quoted(bigText)}, payloads...)
		for n, text := range texts {
			session, run := numbered("s", n), numbered("r", n)
			h.do(&runs.CreateRun{SessionID: session, SessionGiven: true, RunID: run, Input: api.JSON(text), Metadata: api.JSON(`{"text":` + text + `}`)})
			fence := h.claim(run)
			h.do(&runs.Heartbeat{RunID: run, Fence: fence, Checkpoint: api.JSON(text + " ")})
			h.do(&runs.Release{RunID: run, Fence: fence})
			reply := h.do(&runs.ClaimRun{RunID: run, WorkerID: "w"})
			record, err := h.store.ClaimedRun(h.ctx, run)
			require.NoError(h, err)
			for _, stored := range [][2]api.JSON{
				{reply.Claim.Input, reply.Claim.Checkpoint}, {record.Run.Input, record.Run.Checkpoint},
			} {
				requireText(h, text, stored[0])
				if text != "null" {
					requireText(h, text+" ", stored[1])
				}
			}
			requireText(h, `{"text":`+text+`}`, record.Run.Metadata)
			h.do(&runs.AppendEvents{RunID: run, Fence: fenceOf(h, reply), Events: []api.JSON{api.JSON(`{"type":"note","text":` + text + `}`)}})
			events := h.events(session)
			compact, err := json.Marshal(api.JSON(`{"type":"note","text":` + text + `}`))
			require.NoError(h, err)
			requireText(h, string(compact), events[len(events)-1].Body)
			h.do(&runs.Complete{RunID: run, Fence: fenceOf(h, reply), Output: api.JSON(text)})
			if text != "null" {
				requireText(h, text, h.run(run).Run.Output)
			}
		}
	},
	"payload/reads of many runs leave it out": func(h *harness) {
		h.create("s", "r")
		require.Nil(h, h.run("r").Run.Input)
		list := h.runs(reads.RunQuery{Limit: 1})
		require.Nil(h, list[0].Run.Input)
	},
	"payload/a checkpoint stays until it is replaced": func(h *harness) {
		fence := h.started("s", "r")
		suspension := approvals("a")
		suspension.Checkpoint = api.JSON(`"one"`)
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: suspension})
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Actor: person})
		reply := h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(h, `"one"`, string(reply.Claim.Checkpoint))
		h.do(&runs.Heartbeat{RunID: "r", Fence: fenceOf(h, reply), Checkpoint: api.JSON(`"two"`)})
		h.clock.Advance(api.DefaultLeaseMs)
		reply = h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(h, `"two"`, string(reply.Claim.Checkpoint))
		require.Equal(h, `"do it"`, string(reply.Claim.Input))
	},
}

// requireText compares without printing a megabyte when it fails.
func requireText(h *harness, want string, got api.JSON) {
	h.Helper()
	if string(got) != want {
		require.Equal(h, abridged(want), abridged(string(got)))
		require.Fail(h, "the texts differ in their middle")
	}
}

func abridged(text string) string {
	if len(text) < 400 {
		return text
	}
	return text[:200] + "…" + text[len(text)-200:] + " (" + strconv.Itoa(len(text)) + " bytes)"
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	quotedText := make([]byte, 0, len(text)+2)
	quotedText = append(quotedText, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			quotedText = append(quotedText, '\\')
		}
		quotedText = append(quotedText, text[i])
	}
	return string(append(quotedText, '"'))
}
