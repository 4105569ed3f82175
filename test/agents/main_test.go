//go:build linux && agents

package agents

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"github.com/holdpoint/holdpoint/test/rig"
)

//go:embed node
var nodeFiles embed.FS

// installedVariable tells the process in the namespace where the agents are installed;
// isolatedVariable that it is in one.
const (
	installedVariable = "HOLDPOINT_AGENTS_INSTALLED"
	isolatedVariable  = "HOLDPOINT_AGENTS_ISOLATED"
)

// TestMain installs the agents and runs the tests again in a network namespace, where there is
// no registry any more.
func TestMain(m *testing.M) {
	if os.Getenv(installedVariable) != "" {
		if os.Getenv(isolatedVariable) != "" {
			if err := loopbackUp(); err != nil {
				fmt.Fprintln(os.Stderr, "loopback in the namespace:", err)
				os.Exit(1)
			}
		}
		rig.Main(m)
		return
	}
	os.Exit(installAndRun())
}

func installAndRun() int {
	directory, err := os.MkdirTemp("", "holdpoint-agents-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(directory) }()
	installed := "none"
	if _, err := exec.LookPath("npm"); err == nil {
		installed = filepath.Join(directory, "node")
		if err := install(directory, installed); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	environment := append(os.Environ(), installedVariable+"="+installed)
	command := again(append(environment, isolatedVariable+"=yes"))
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		command.SysProcAttr.AmbientCaps = []uintptr{12} // CAP_NET_ADMIN, for loopback
	}
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "no network namespace here, the agents may reach the network:", err)
		command = again(environment)
		if err := command.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	_ = command.Wait() // the exit code says it
	return command.ProcessState.ExitCode()
}

// install installs what node/package-lock.json pins.
func install(directory, installed string) error {
	if err := os.CopyFS(directory, nodeFiles); err != nil {
		return err
	}
	command := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--silent")
	command.Dir = installed
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	return nil
}

// again is this process with another environment.
func again(environment []string) *exec.Cmd {
	command := exec.Command(os.Args[0], os.Args[1:]...)
	command.Env = environment
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command
}

// loopbackUp switches on the one interface of a new namespace.
func loopbackUp() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); failed != 0 {
		return failed
	}
	return nil
}
