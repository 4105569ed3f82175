package timbal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
)

// writeBelow writes an APPROVAL for each new approval of the sessions below the run's. They are not in
// the run's log, so their frames have no number. A failed read ends nothing.
func (k *sink) writeBelow() error {
	raised, _, err := k.below.Changes(k.ctx)
	if err != nil && k.ctx.Err() == nil {
		k.face.Logger.LogAttrs(k.ctx, slog.LevelWarn, "read approvals of child sessions",
			slog.String("run_id", k.segment.id.runID), slog.String("error", err.Error()))
	}
	for _, pending := range raised {
		frame := fmt.Appendf(nil, "data: %s\n\n", kit.Encode(k.segment.approvalOfChild(pending)))
		if _, err := k.out.Write(frame); err != nil {
			return err
		}
	}
	return nil
}

// approvalOfChild shows an approval of a session below as a runnable nested in the run. Its metadata
// names the session that asks.
func (s *segment) approvalOfChild(pending *model.PendingRequest) any {
	approval := pending.Request.Approval()
	metadata := slices.DeleteFunc(kit.ObjectOf(approval.Metadata), func(member kit.Member) bool { return member.Name == "requested_by" })
	approval.Metadata = append(metadata, kit.MemberOf("requested_by", pending.Request.SessionID)).JSON()
	w := &wait{approval: &approval}
	shown, _ := w.event(s, "").(approvalEvent)
	shown.Path = fmt.Sprintf("%s.%s.%s", pathOf(s.agentID), pathOf(pending.AgentID), w.name())
	shown.RunnablePath, shown.ParentCallID = shown.Path, kit.OrNull(pending.Request.RunID)
	return shown
}

// ofChildren splits the entries about requests of child sessions from the others.
func (r *resumption) ofChildren(all []*resumeEntry) (own, children []*resumeEntry) {
	for _, entry := range all {
		if entry.request.RunID == r.record.Run.RunID {
			own = append(own, entry)
		} else {
			children = append(children, entry)
		}
	}
	return own, children
}

// decideChildren decides the entries about requests of child sessions, one run after the other. It
// returns a segment only when that is the whole answer: own is the number of the run's own entries.
func (f *face) decideChildren(ctx context.Context, r *resumption, entries []*resumeEntry, own int, nowMs int64) (*segment, error) {
	var decisions []*decision
	for len(entries) > 0 {
		runID := entries[0].request.RunID
		var of, others []*resumeEntry
		for _, entry := range entries {
			if entry.request.RunID == runID {
				of = append(of, entry)
			} else {
				others = append(others, entry)
			}
		}
		d := decide(runID, of, r.childKey(runID), r.actor, f.MaxRuleAgeMs, nowMs)
		if d.invalid != nil {
			return f.resumeFailed(ctx, r, d.invalid.Error())
		}
		decisions, entries = append(decisions, d), others
	}
	for _, d := range decisions {
		if d.command == nil {
			continue
		}
		reply, err := f.Store.Do(ctx, d.command)
		switch {
		case err == nil:
			r.replayed = reply.Replayed
		case len(decisions) == 1 && own == 0:
			return f.resumeRefused(ctx, r, d, err)
		case isLate(err), kit.Unfit(err):
			// Others of the map may be decided already, so this is only a warning.
			r.warnings = append(r.warnings, fmt.Sprintf("resume id %s: %s", wire.Shown(d.entries[0].id), detailOf(err)))
		default:
			return nil, err
		}
	}
	return nil, nil
}

// childKey is the key of the decision about a child's run. A session may have several runs in one
// map.
func (r *resumption) childKey(runID string) string {
	key := r.key
	if key == "" && r.name != nil {
		key = "context.id " + r.name.id
	}
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\x00" + runID))
	return hex.EncodeToString(sum[:])
}
