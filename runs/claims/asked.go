package claims

import "github.com/holdpoint/holdpoint/runs/reads"

// maxAsked bounds the agents that are remembered.
const maxAsked = 4096

// asked remembers when workers asked for the runs of agents. The dispatcher's mutex guards it.
type asked struct {
	// byAgent has every agent that was asked for after sinceMs; "" stands for all agents.
	byAgent map[string]askedAgent
	sinceMs int64
}

type askedAgent struct {
	atMs int64
	// byName: a claim named the agent.
	byName bool
	// byRun: a run of the agent was claimed by its id. Such a worker asks when it has heard of the decision,
	// so its silence says nothing.
	byRun bool
}

func (a *asked) note(agentIDs []string, nowMs int64) {
	if len(agentIDs) == 0 {
		agentIDs = []string{""}
	}
	for _, agentID := range agentIDs {
		one := a.of(agentID, nowMs)
		one.atMs, one.byName = nowMs, agentID != ""
		a.byAgent[agentID] = one
	}
}

func (a *asked) noteRun(agentID string, nowMs int64) {
	one := a.of(agentID, nowMs)
	one.atMs, one.byRun = nowMs, true
	a.byAgent[agentID] = one
}

// of returns an agent that is about to be written. If there is no room for it, everything is forgotten: the
// workers that are there ask again.
func (a *asked) of(agentID string, nowMs int64) askedAgent {
	one, known := a.byAgent[agentID]
	if !known && len(a.byAgent) >= maxAsked {
		a.forget(nowMs)
	}
	return one
}

func (a *asked) forget(nowMs int64) { a.byAgent, a.sinceMs = map[string]askedAgent{}, nowMs }

// lastMs is when an agent's runs may have been asked for last.
func (a *asked) lastMs(agentID string) int64 {
	return max(a.byAgent[agentID].atMs, a.byAgent[""].atMs, a.sinceMs)
}

func (d *Dispatcher) noteRun(agentID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked.noteRun(agentID, d.options.NowMs())
}

// Silence is how long no worker has asked for the runs of an agent: this process, or another replica that says so.
type Silence struct {
	// Ms is at least so long; 0 while a claim is in progress or if silence says nothing about the agent.
	Ms int64
	// Named says that a worker asked for this agent by name before.
	Named bool
}

// SilenceOf returns how long no worker has asked for an agent's runs. Claims of every scope count.
func (d *Dispatcher) SilenceOf(agentID string) Silence {
	d.mu.Lock()
	defer d.mu.Unlock()
	own, others := d.asked.byAgent[agentID], d.askedOthers.byAgent[agentID]
	silence := Silence{Named: own.byName || others.byName}
	asking := d.everyAgent != nil && d.everyAgent.claimers > 0
	for _, shared := range d.byAgent[agentID] {
		asking = asking || shared.claimers > 0
	}
	if !asking && !own.byRun && !others.byRun {
		silence.Ms = max(d.options.NowMs()-max(d.asked.lastMs(agentID), d.askedOthers.lastMs(agentID)), 0)
	}
	return silence
}

// AskedSince implements [reads.Asks]. Claims in progress count, and every agent whose runs were ever claimed by
// their ids: a replica that has just started cannot know of those.
func (d *Dispatcher) AskedSince(ms int64) (reads.Asked, int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	nowMs := d.options.NowMs()
	for _, shared := range d.demands {
		if shared.claimers > 0 {
			d.asked.note(shared.agentIDs, nowMs)
		}
	}
	if d.asked.sinceMs >= ms {
		return reads.Asked{Any: true}, nowMs
	}
	var all reads.Asked
	for agentID, one := range d.asked.byAgent {
		if one.atMs >= ms || one.byRun {
			all.Agents = append(all.Agents, reads.AskedAgent{AgentID: agentID, Named: one.byName, ByRun: one.byRun})
		}
	}
	return all, nowMs
}

// HearAsked implements [reads.Asks].
func (d *Dispatcher) HearAsked(heard reads.Asked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	nowMs := d.options.NowMs()
	if heard.Any {
		d.askedOthers.forget(nowMs)
	}
	for _, agent := range heard.Agents {
		one := d.askedOthers.of(agent.AgentID, nowMs)
		one.atMs, one.byName, one.byRun = nowMs, one.byName || agent.Named, one.byRun || agent.ByRun
		d.askedOthers.byAgent[agent.AgentID] = one
	}
}
