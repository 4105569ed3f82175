package tasks

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Status is the status of a task.
type Status string

// The statuses. The last three are final.
const (
	StatusWorking       Status = "working"
	StatusInputRequired Status = "input_required"
	StatusCompleted     Status = "completed"
	StatusFailed        Status = "failed"
	StatusCancelled     Status = "cancelled"
)

// Task is a task as the client sees it.
type Task struct {
	ID     string
	Status Status
	// Message explains the status.
	Message     string
	CreatedAtMs int64
	UpdatedAtMs int64
	// PollIntervalMs is how long the client should wait between polls.
	PollIntervalMs int64
	// InputRequests are the open input requests of a task with StatusInputRequired.
	InputRequests mcp.InputRequestMap
	// Result is the call's result, for a task with StatusCompleted.
	Result *mcp.CallToolResult
	// Error is the protocol error of a task with StatusFailed.
	Error *jsonrpc.Error
}

// The values of resultType.
const (
	resultTask     = "task"
	resultComplete = "complete"
)

// header has the members that a task has in every reply.
type header struct {
	ResultType     string `json:"resultType"`
	TaskID         string `json:"taskId"`
	Status         Status `json:"status"`
	StatusMessage  string `json:"statusMessage,omitempty"`
	CreatedAt      string `json:"createdAt"`
	LastUpdatedAt  string `json:"lastUpdatedAt"`
	TTLMs          *int64 `json:"ttlMs"` // null: a task lives as long as its run
	PollIntervalMs int64  `json:"pollIntervalMs,omitempty"`
}

func (t *Task) header(resultType string) header {
	return header{
		ResultType: resultType, TaskID: t.ID, Status: t.Status, StatusMessage: t.Message,
		CreatedAt: timeOf(t.CreatedAtMs), LastUpdatedAt: timeOf(max(t.CreatedAtMs, t.UpdatedAtMs)), PollIntervalMs: t.PollIntervalMs,
	}
}

func timeOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// created is the result of a call that became a task.
type created struct {
	mcp.ResultBase
	header
}

// detailed is the result of tasks/get.
type detailed struct {
	mcp.ResultBase
	header
	InputRequests *mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *mcp.CallToolResult  `json:"result,omitempty"`
	Error         *jsonrpc.Error       `json:"error,omitempty"`
}

func (t *Task) detailed() *detailed {
	shown := &detailed{header: t.header(resultComplete)}
	switch t.Status {
	case StatusInputRequired:
		shown.InputRequests = &t.InputRequests
	case StatusCompleted:
		shown.Result = t.Result
	case StatusFailed:
		shown.Error = t.Error
	case StatusWorking, StatusCancelled:
	}
	return shown
}

// acknowledged is the result of tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}
