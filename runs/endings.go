package runs

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// drainFirst ends the first batch of the payload's runs, and enqueues an effect for the rest. It
// reports whether it ended a run that takes no slot.
func (w *workingCopy) drainFirst(p drainPayload) (ended bool) {
	next, ended := w.drain(&p)
	if next != nil {
		w.enqueueEffect(&model.Effect{
			SessionID: w.session.SessionID, EffectID: model.EffectID(api.EffectDrainSession, p.ID), RunID: next.RunID,
			Kind: api.EffectDrainSession, TargetSessionID: w.session.SessionID, Payload: document.Encode(p),
		})
	}
	return ended
}

// drain ends up to DrainChunk fully loaded runs. It returns the oldest run that is left, or the last
// loaded one if others may be left, or nil. It reports whether it ended a run that takes no slot.
func (w *workingCopy) drain(p *drainPayload) (next *model.Run, ended bool) {
	list := slices.DeleteFunc(w.unfinished(), func(run *model.Run) bool { return !p.ends(run) })
	whole := slices.IndexFunc(list, func(run *model.Run) bool { return w.state.LeftOut[run.RunID] })
	if whole < 0 {
		whole = len(list)
	}
	rest := list[min(whole, DrainChunk):]
	list = slices.Clip(list[:len(list)-len(rest)])
	if p.Ended {
		// These two hold the slot or may be claimed, so they are ended now.
		for _, first := range []*model.Run{w.activeRun(), w.queueHead()} {
			if slices.Contains(rest, first) {
				list = append(list, first)
				rest = slices.DeleteFunc(slices.Clone(rest), func(run *model.Run) bool { return run == first })
			}
		}
	}
	ended = w.declineClarifications(list, p)
	if p.Ended {
		w.cancelRuns(list, p)
	} else {
		ended = w.interruptCalls(list, p) || ended
	}
	if len(rest) == 0 {
		return w.cut(p), ended
	}
	return rest[0], ended
}

// cut returns the last loaded run after which the drain may have to end runs that are not loaded, or nil.
func (w *workingCopy) cut(p *drainPayload) *model.Run {
	if p.Ended {
		return w.state.Cut[""]
	}
	for _, kind := range []api.RunKind{api.KindCall, api.KindParentClarification} {
		if last := w.state.Cut[kind]; last != nil && p.ends(last) {
			return last
		}
	}
	return nil
}

// interruptCalls ends the calls of an interrupted session. It reports whether there was one.
func (w *workingCopy) interruptCalls(list []*model.Run, p *drainPayload) (found bool) {
	for _, run := range list {
		if run.Kind != api.KindCall {
			continue
		}
		w.expireDue(run)
		if !model.Terminal(run.Status) {
			found = true
			w.interruptRun(run, p.Reason, p.by(api.ViaInterrupt))
		}
	}
	return found
}

// interruptRun interrupts a run and cancels its open requests.
func (w *workingCopy) interruptRun(run *model.Run, reason string, actor Actor) {
	w.settleRequests(run, w.openRequests(run.RunID), api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: reason, ResolvedBy: actor.Name, ViaPrincipal: actor.ViaPrincipal, Via: api.ViaInterrupt,
	})
	run.Error = reason
	w.finishRun(run, api.StatusInterrupted, model.LeaseRevoked, api.EventInterrupted, reasonEvent{api.EventInterrupted, reason})
}

// cancelRuns cancels runs of an ended session.
func (w *workingCopy) cancelRuns(list []*model.Run, p *drainPayload) {
	actor := p.by(api.ViaEnd)
	for _, run := range list {
		w.expireDue(run)
		if !model.Terminal(run.Status) {
			w.cancelRun(run, p.why(), actor, p.Reason)
		}
	}
}

// ends reports whether the drain ends a run.
func (p *drainPayload) ends(run *model.Run) bool {
	return p.Ended || !model.TakesSlot(run.Kind) && run.FirstEventID <= p.LastEventID
}

// by returns who ended or interrupted the session.
func (p *drainPayload) by(via string) Actor {
	return Actor{Name: p.Actor, ViaPrincipal: p.ViaPrincipal, Via: via}
}

// why returns the text that is recorded with the ended runs.
func (p *drainPayload) why() string {
	if p.Ended {
		return cmp.Or(p.Reason, "the session has ended")
	}
	return cmp.Or(p.Reason, "interrupted by operator")
}
