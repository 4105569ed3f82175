package kheish

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxWaitingBytes limits the reads from /v1 that put waiting sessions and runs first in a list.
const maxWaitingBytes = 16 << 20

// itemsOf returns the items of a list, with or without an envelope.
func itemsOf(list any) []any {
	if page, ok := list.(map[string]any); ok {
		list = page["items"]
	}
	items, _ := list.([]any)
	return items
}

// askWaitingFirst returns a list of sessions or runs with the waiting ones first. The clients read
// an unpaged list once and ignore the rest, so every waiting item must be in it. A list by status has the
// items that are shown with it. Paged lists are unchanged.
func askWaitingFirst(next http.Handler, r *http.Request, key string) *kept {
	reply := ask(next, r)
	query := r.URL.Query()
	list, decoded := decode(reply.Body.Bytes())
	items, whole := list.([]any)
	paged := slices.ContainsFunc([]string{"limit", "page", "cursor"}, query.Has)
	if !reply.ok() || !decoded || !whole || paged {
		return reply
	}
	// /v1 counts a run that waits for approvals and answers as waiting for answers, and show as waiting for approval.
	switch status := query.Get("status"); {
	case status == statusQuestion:
		items = slices.DeleteFunc(items, forApprovals)
	case status == statusApproval:
		found, refused := withStatus(next, r, query, statusQuestion)
		if refused != nil {
			return refused
		}
		items = append(items, slices.DeleteFunc(found, func(one any) bool { return !forApprovals(one) })...)
	case status != "":
		return reply
	case len(reply.Header()["Link"]) > 0:
		for _, status := range []string{statusApproval, statusQuestion} {
			found, refused := withStatus(next, r, query, status)
			if refused != nil {
				return refused
			}
			items = append(items, found...)
		}
	}
	slices.SortStableFunc(items, func(a, b any) int { return rank(a) - rank(b) })
	seen, firsts := map[any]bool{}, items[:0]
	for _, one := range items {
		item, _ := one.(map[string]any)
		if id := item[key]; !seen[id] {
			seen[id] = true
			firsts = append(firsts, one)
		}
	}
	reply.Body.Reset()
	reply.Body.Write(encode(firsts))
	return reply
}

// forApprovals reports whether an item of a list has open approvals.
func forApprovals(one any) bool {
	item, _ := one.(map[string]any)
	return waitsForApprovals(item)
}

// rank sorts waiting approvals before waiting questions, and both before other items.
func rank(one any) int {
	item, _ := one.(map[string]any)
	switch {
	case item["status"] == statusApproval || forApprovals(one):
		return 0
	case item["status"] == statusQuestion:
		return 1
	}
	return 2
}

// withStatus returns the items with a status, or the error reply.
func withStatus(next http.Handler, r *http.Request, query url.Values, status string) (found []any, refused *kept) {
	parameters := maps.Clone(query)
	parameters.Set("status", status)
	for size := 0; size < maxWaitingBytes; {
		reply := askFor(next, r, r.URL.EscapedPath(), parameters)
		list, decoded := decode(reply.Body.Bytes())
		if !reply.ok() || !decoded {
			return nil, reply
		}
		found = append(found, itemsOf(list)...)
		size += reply.Body.Len()
		link := strings.Join(reply.Header()["Link"], "")
		_, link, _ = strings.Cut(link, "<")
		link, _, _ = strings.Cut(link, ">")
		following, err := url.Parse(link)
		if link == "" || err != nil {
			break
		}
		parameters = following.Query()
	}
	return found, nil
}

func shapeRuns(next http.Handler, w http.ResponseWriter, r *http.Request) {
	askWaitingFirst(next, r, "run_id").sendShown(w, r)
}

// maxTries is how often a run is read again while the service is temporarily unavailable.
const maxTries = 15

// retryAfter is the time between tries.
const retryAfter = time.Second

// shapeRun shows one run. The clients poll until it is over and give up at the first 503, so the
// call is held while the database is unavailable or the caller's quota is used up, but not during a
// shutdown.
func shapeRun(draining <-chan struct{}) shaper {
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		reply := ask(next, r)
		for range maxTries {
			if reply.Status != http.StatusServiceUnavailable && reply.Status != http.StatusTooManyRequests {
				break
			}
			timer := time.NewTimer(retryAfter)
			select {
			case <-timer.C:
				reply = ask(next, r)
				continue
			case <-draining:
			case <-r.Context().Done():
			}
			timer.Stop()
			break
		}
		reply.sendShown(w, r)
	}
}
