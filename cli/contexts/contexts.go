// Package contexts holds the commands for named contexts: a service's address and
// credentials. The package uses no client and no store.
package contexts

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/holdpoint/holdpoint/cli/console"
)

// Contexts is the command holdpoint contexts.
type Contexts struct {
	List   list   `cmd:"" help:"List the contexts; * marks the current one."`
	Set    set    `cmd:"" help:"Create or change a context; the first one becomes the current one."`
	Use    use    `cmd:"" help:"Select the current context."`
	Remove remove `cmd:"" help:"Remove a context with its token."`
}

type list struct {
	console.Format
}

// shown is a context as printed, without its token.
type shown struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Actor   string `json:"actor,omitempty"`
	Token   bool   `json:"token"`
	Current bool   `json:"current"`
	CA      string `json:"ca,omitempty"`
	// ClientCert and ClientKey are paths.
	ClientCert string `json:"client_cert,omitempty"`
	ClientKey  string `json:"client_key,omitempty"`
}

func all(contexts *console.Contexts) []shown {
	records := []shown{}
	for _, name := range contexts.Names() {
		one := contexts.Contexts[name]
		records = append(records, shown{name, one.Server, one.Actor, one.Token != "", name == contexts.Current, one.CA, one.ClientCert, one.ClientKey})
	}
	return records
}

// Run prints the contexts.
func (c *list) Run(terminal *console.Console) error {
	contexts, err := console.LoadContexts(terminal.LookupEnv)
	if err != nil {
		return err
	}
	records, rows := all(contexts), [][]string{}
	for _, record := range records {
		mark, token := "", "no"
		if record.Current {
			mark = "*"
		}
		if record.Token {
			token = "yes"
		}
		rows = append(rows, []string{record.Name, mark, record.Server, record.Actor, token})
	}
	if c.JSON {
		return console.PrintJSON(terminal.Stdout, records)
	}
	return terminal.Table([]string{"CONTEXT", "", "SERVER", "ACTOR", "TOKEN"}, rows)
}

// named is the argument of commands on one context.
type named struct {
	console.Format
	Name string `arg:"" name:"context" help:"Context name."`
}

func (n named) change(terminal *console.Console, change func(*console.Contexts) error) error {
	contexts, err := console.LoadContexts(terminal.LookupEnv)
	if err != nil {
		return err
	}
	if err := change(contexts); err != nil {
		return err
	}
	if err := contexts.Save(); err != nil {
		return err
	}
	if n.JSON {
		return console.PrintJSON(terminal.Stdout, all(contexts))
	}
	return nil
}

type set struct {
	named
	Server    string `required:"" placeholder:"URL" help:"Server address."`
	Actor     string `placeholder:"NAME" help:"Name to record with your decisions (when no token is required, or yours may act for others)."`
	TokenFile string `placeholder:"PATH" help:"Store the token from this file; - for stdin."`
	console.CertificatePaths
}

// Run writes a context. What is not given stays as it was for the same server. There is no flag for the token, because every user can list the
// command lines of processes.
func (c *set) Run(terminal *console.Console) error {
	token := ""
	if c.TokenFile != "" {
		path := c.TokenFile
		if path == "-" {
			path = "/dev/stdin"
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return console.Usage("--token-file: %w", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return console.Usage("--token-file: %s is empty", c.TokenFile)
		}
	}
	if err := c.Absolute(c.Server); err != nil {
		return err
	}
	written := console.Context{
		Server: c.Server, Actor: c.Actor, Token: token, CA: c.CA, ClientCert: c.ClientCert, ClientKey: c.ClientKey,
	}
	return c.change(terminal, func(contexts *console.Contexts) error {
		if c.Name == "" {
			return console.Usage("the name is empty")
		}
		if known := contexts.Contexts[c.Name]; known.Server == written.Server {
			written.Token, written.Actor = cmp.Or(written.Token, known.Token), cmp.Or(written.Actor, known.Actor)
			paths := console.Certificates{CA: written.CA, ClientCert: written.ClientCert, ClientKey: written.ClientKey}
			paths.Complete(known)
			written.CA, written.ClientCert, written.ClientKey = paths.CA, paths.ClientCert, paths.ClientKey
		}
		contexts.Contexts[c.Name] = written
		if contexts.Current == "" {
			contexts.Current = c.Name
		}
		return nil
	})
}

type use struct{ named }

// Run makes a context the current one.
func (c *use) Run(terminal *console.Console) error {
	return c.change(terminal, func(contexts *console.Contexts) error {
		if _, there := contexts.Contexts[c.Name]; !there {
			return contexts.Unknown(c.Name)
		}
		contexts.Current = c.Name
		return nil
	})
}

type remove struct{ named }

// Run removes a context.
func (c *remove) Run(terminal *console.Console) error {
	return c.change(terminal, func(contexts *console.Contexts) error {
		if _, there := contexts.Contexts[c.Name]; !there {
			return fmt.Errorf("no context %q", c.Name)
		}
		delete(contexts.Contexts, c.Name)
		if contexts.Current == c.Name {
			contexts.Current = ""
		}
		return nil
	})
}
