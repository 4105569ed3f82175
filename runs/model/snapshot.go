package model

import "github.com/holdpoint/holdpoint/api"

// agentStatuses translates session statuses for agents.
var agentStatuses = map[api.Status]api.AgentStatus{
	api.SessionIdle: api.AgentIdle, api.SessionEnded: api.AgentCompleted, api.StatusRunning: api.AgentRunning,
	api.StatusWaitingForApproval: api.AgentWaitingForApproval, api.StatusWaitingForUserQuestion: api.AgentWaitingForUserInput,
}

// snapshotOf returns the snapshot of a session from its view.
func snapshotOf(view *api.SessionView) api.SessionSnapshot {
	snapshot := api.SessionSnapshot{
		Agent: api.SnapshotAgent{
			ID: view.AgentID, Status: agentStatuses[view.Status], SpawnedAtMs: view.CreatedAtMs, Subtasks: []api.JSON{},
			Conversation: api.SnapshotConversation{SessionID: view.SessionID, ThreadID: view.SessionID},
		},
		Status: view.Status, QueuedRunIDs: view.QueuedRunIDs, PendingApprovals: view.PendingApprovals,
		PendingQuestions: make([]api.UserQuestionRequest, len(view.PendingQuestions)),
	}
	if view.ActiveRun != nil {
		snapshot.ActiveRunID = &view.ActiveRun.RunID
	}
	for i := range view.PendingQuestions {
		snapshot.PendingQuestions[i] = view.PendingQuestions[i].Request
	}
	return snapshot
}
