package claims

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
		a.byAgent, a.sinceMs = map[string]askedAgent{}, nowMs
	}
	return one
}

func (d *Dispatcher) noteRun(agentID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked.noteRun(agentID, d.options.NowMs())
}

// Silence is how long no worker has asked this process for the runs of an agent.
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
	own, all := d.asked.byAgent[agentID], d.asked.byAgent[""]
	silence := Silence{Named: own.byName}
	asking := d.everyAgent != nil && d.everyAgent.claimers > 0
	for _, shared := range d.byAgent[agentID] {
		asking = asking || shared.claimers > 0
	}
	if !asking && !own.byRun {
		silence.Ms = max(d.options.NowMs()-max(own.atMs, all.atMs, d.asked.sinceMs), 0)
	}
	return silence
}
