package console

import "github.com/holdpoint/holdpoint/api"

// Recipients are the flags that say who is notified of the requests that a command raises. They are not part
// of what a key identifies: for calls with one key those of the first call count.
type Recipients struct {
	Escalation *string  `xor:"recipients" placeholder:"NAME" help:"Who is notified and when: the name of an escalation of the service."`
	Notify     []string `sep:"none" xor:"recipients" placeholder:"SELECTOR" help:"Notify only these people, at once, if they may decide: user:NAME, group:NAME, role:operator, role:admin or oncall:NAME. Repeatable."`
}

// Chosen returns the escalation of the requests, or nil for the service's default. The service checks
// names and selectors.
func (r *Recipients) Chosen() (*api.Escalation, error) {
	switch {
	case r.Escalation != nil && *r.Escalation == "":
		return nil, Usage("--escalation is empty: give a name, or leave it out")
	case r.Escalation != nil:
		return &api.Escalation{Name: *r.Escalation}, nil
	case len(r.Notify) > 0:
		return &api.Escalation{Steps: []api.EscalationStep{{Notify: r.Notify}}}, nil
	}
	return nil, nil
}
