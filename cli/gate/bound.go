package gate

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// boundCommand is a command whose files match the approved ones.
type boundCommand struct {
	*exec.Cmd
	// held stay open until the command has started. Where supported, it is started by
	// descriptor.
	held []*os.File
}

// changedError means that a command is no longer the approved one.
type changedError struct{ what string }

func (e *changedError) Error() string { return e.what + " since this was approved" }

// bind opens the directory and the program of a plan and compares them with the approved
// ones. An edited command is resolved now. Errors: a changedError; any error of the file
// system.
func bind(plan plan) (*boundCommand, error) {
	command := &boundCommand{Cmd: &exec.Cmd{Args: plan.argv, Dir: plan.cwd}}
	if err := command.bind(plan); err != nil {
		command.release()
		return nil, err
	}
	return command, nil
}

func (c *boundCommand) bind(plan plan) error {
	directory, err := os.Open(plan.cwd)
	if err != nil {
		return err
	}
	c.held = append(c.held, directory)
	if now, err := filepath.EvalSymlinks(plan.cwd); plan.sameCwd && (err != nil || now != plan.cwd) {
		return &changedError{fmt.Sprintf("the directory %s was moved or replaced by a link", plan.cwd)}
	}
	now, err := resolve(plan.argv, plan.cwd)
	if err != nil && plan.bound == nil {
		return err
	}
	if plan.bound != nil {
		if err := plan.compare(now); err != nil {
			return err
		}
	}
	c.Path, c.Dir = now.Program.Path, plan.cwd
	if byDescriptor := descriptorPath(directory); byDescriptor != "" {
		c.Dir = byDescriptor
	}
	if now.Program.SHA256 == unreadable {
		return nil
	}
	program, err := os.Open(now.Program.Path)
	if err != nil {
		return &changedError{fmt.Sprintf("the program %s cannot be read any more", now.Program.Path)}
	}
	c.held = append(c.held, program)
	// The path may lead to another file since the comparison.
	if digest, err := digestOfFile(program); err != nil || digest != now.Program.SHA256 {
		return &changedError{fmt.Sprintf("the program %s has changed", now.Program.Path)}
	}
	if byDescriptor := descriptorPath(program); byDescriptor != "" && isBinary(program) {
		c.Path = byDescriptor
	}
	return nil
}

// compare returns a changedError for the first file that differs.
func (r resolved) compare(now resolved, name string) error {
	type pair struct {
		noun          string
		approved, now *boundFile
	}
	pairs := []pair{{"program", &r.Program, &now.Program}, {"interpreter", r.Interpreter, now.Interpreter}, {"script", r.Script, now.Script}}
	for i := range max(len(r.OtherScripts), len(now.OtherScripts)) {
		other := pair{noun: "script"}
		if i < len(r.OtherScripts) {
			other.approved = &r.OtherScripts[i]
		}
		if i < len(now.OtherScripts) {
			other.now = &now.OtherScripts[i]
		}
		pairs = append(pairs, other)
	}
	for _, one := range pairs {
		was, is := boundFile{}, boundFile{}
		if one.approved != nil {
			was = *one.approved
		}
		if one.now != nil {
			is = *one.now
		}
		switch {
		case was.Path != is.Path && was.Path == "":
			return &changedError{fmt.Sprintf("the %s %s has appeared", one.noun, is.Path)}
		case was.Path != is.Path && is.Path == "":
			return &changedError{fmt.Sprintf("the %s %s has gone", one.noun, was.Path)}
		case was.Path != is.Path:
			return &changedError{fmt.Sprintf("%s has come to mean %s instead of %s", name, is.Path, was.Path)}
		case was.SHA256 != is.SHA256:
			return &changedError{fmt.Sprintf("the content of the %s %s has changed", one.noun, was.Path)}
		}
	}
	return nil
}

// isBinary reports whether the system runs the file directly. A script is opened by its
// interpreter, by name.
func isBinary(file *os.File) bool {
	var magic [4]byte
	_, err := file.ReadAt(magic[:], 0)
	return (err == nil || err == io.EOF) && string(magic[:]) == "\x7fELF"
}

func (c *boundCommand) release() {
	for _, file := range c.held {
		_ = file.Close() // opened only for reading
	}
}
