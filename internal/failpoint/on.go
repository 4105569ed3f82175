//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

// Hit is the point of that name.
func Hit(name string) { process.hit(os.Getenv(Variable), name) }

// Statement is the point of a step of an SQL statement, such as "sqlite.before",
// named by the step and by what the statement does.
func Statement(step, query string) { Hit(step + "." + summary(query)) }

// process holds the points of this process. It is a global because a point has no other way to
// know that it is armed; it exists only with the tag.
var process points

// points counts the hits since the file was last changed.
type points struct {
	mu     sync.Mutex
	plan   string
	counts map[string]int
}

// hit does what the file says. A hit that kills never returns and keeps the lock, so that no other
// point of the process is passed until the signal arrives.
func (p *points) hit(path, name string) {
	if path == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := os.ReadFile(path)
	if err != nil {
		p.plan = ""
		return
	}
	if p.plan != string(text) {
		p.plan, p.counts = string(text), map[string]int{}
	}
	p.counts[name]++
	var doomed string
	var count int
	switch _, err := fmt.Sscanf(p.plan, "kill %s %d", &doomed, &count); {
	case strings.TrimSpace(p.plan) == "record":
		record(path+".hits", name)
	case err != nil:
		panic("failpoint: " + path + " says " + p.plan)
	case doomed == name && count == p.counts[name]:
		die()
	}
}

func record(path, name string) {
	hits, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer hits.Close()
	if _, err := hits.WriteString(name + "\n"); err != nil {
		panic(err)
	}
}

// die ends the process as kill -9 does.
func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

var verb = regexp.MustCompile(`(?is)^\s*(INSERT INTO|UPDATE|DELETE FROM|[A-Z]+)\s*([a-z_]*)(?:.*?\bFROM ([a-z_]+))?`)

// summary names a statement by its verb and its table: "INSERT-INTO-events".
func summary(query string) string {
	found := verb.FindStringSubmatch(query)
	if found == nil {
		return "statement"
	}
	words := strings.Fields(strings.ToUpper(found[1]))
	switch {
	case words[0] == "SELECT" && found[3] != "":
		words = append(words, found[3])
	case len(words) > 1 || words[0] == "UPDATE":
		words = append(words, found[2])
	}
	return strings.Join(words, "-")
}
