//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

// Hit marks a failpoint with the given name.
func Hit(name string) { process.hit(os.Getenv(Variable), name) }

// Statement marks a failpoint at a step of an SQL statement, such as "sqlite.before". Its
// name is the step and a summary of the statement.
func Statement(step, query string) { Hit(step + "." + summary(query)) }

// process holds the state of this process. It is a global because failpoints have no other
// way to find out whether they are armed.
var process points

// points counts the hits since the file was last changed.
type points struct {
	mu     sync.Mutex
	plan   string
	counts map[string]int
}

// hit acts on the file. A hit that kills never returns and keeps the lock, so that no other
// failpoint is passed before the signal arrives.
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

// die ends the process like kill -9.
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

// summary names a statement by its verb and table, such as "INSERT-INTO-events".
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
