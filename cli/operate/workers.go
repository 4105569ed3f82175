package operate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Workers is the command holdpoint workers.
type Workers struct {
	List list[workerLease, workerFilter] `cmd:"" help:"List active workers with their leases."`
}

// workerLease is a lease with its holder.
type workerLease struct {
	WorkerID string `json:"worker_id"`
	api.HeldLease
}

type workerFilter struct {
	AgentID string `name:"agent-id" aliases:"agent" placeholder:"ID" help:"Only runs of this agent."`
}

func (f workerFilter) read(ctx context.Context, c *client.Client) ([]workerLease, error) {
	view, err := c.ListWorkers(ctx)
	if err != nil {
		return nil, err
	}
	leases := []workerLease{}
	for _, worker := range view.Workers {
		for _, lease := range worker.Leases {
			if f.AgentID == "" || f.AgentID == lease.AgentID {
				leases = append(leases, workerLease{worker.WorkerID, lease})
			}
		}
	}
	return leases, nil
}

func (workerFilter) table() table[workerLease] {
	return table[workerLease]{
		header: []string{"WORKER", "PRINCIPAL", "RUN", "SESSION", "NAME", "AGENT", "STATUS", "ATTEMPT", "LAST ACTIVE", "LEASE EXPIRES"},
		row: func(lease *workerLease, now time.Time) []string {
			return []string{
				lease.WorkerID, lease.HolderPrincipal, lease.RunID, lease.SessionID, sessionName(lease.SessionID, lease.AgentID, lease.Session), lease.AgentID, string(lease.Status),
				strconv.FormatInt(lease.Attempt, 10), console.Ago(lease.UpdatedAtMs, now), console.Ago(lease.ExpiresAtMs, now),
			}
		},
	}
}

// WhoAmI is the command holdpoint whoami.
type WhoAmI = show[api.Me, identity]

// identity is the caller's identity as the service sees it.
type identity struct{}

func (identity) find(ctx context.Context, c *client.Client) (*api.Me, error) { return c.Me(ctx) }

func (identity) fields(me *api.Me, now time.Time) []console.Field {
	signedIn := map[string]string{"token": "with a token", "session": "in a browser", "open": "without a token: the service asks for none"}
	return []console.Field{
		{"principal", me.Principal},
		{"on behalf of", me.OnBehalfOf},
		{"role", string(me.Role)},
		{"groups", strings.Join(me.Groups, ", ")},
		{"signed in", signedIn[me.Via]},
		{"token", me.TokenID},
		{"sessions", strings.Join(me.SessionPrefixes, ", ")},
		{"agents", strings.Join(me.AgentIDs, ", ")},
		{"expires", console.Moment(me.ExpiresAtMs, now)},
	}
}
