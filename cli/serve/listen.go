package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/prompt"
)

// unixScheme is the prefix of the address of a Unix socket.
const unixScheme = "unix:"

// listen opens the address. Unless reachable, it refuses an address that other machines can
// reach.
func listen(ctx context.Context, address string, reachable bool) (net.Listener, error) {
	if err := checkAddress(address, reachable); err != nil {
		return nil, err
	}
	if path, isPath := strings.CutPrefix(address, unixScheme); isPath {
		return listenUnix(ctx, path)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(address) // checkAddress has validated it
		return nil, fmt.Errorf("listen on %s: the address is in use, maybe by another holdpoint service\n"+
			"           Stop it, or take another address: --listen %s", address, net.JoinHostPort(host, "PORT"))
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	// The machine determines what localhost means.
	if !reachable && !isLoopback(listener) {
		_ = listener.Close()
		return nil, refuse(listener.Addr().String())
	}
	return listener, nil
}

func refuse(address string) error {
	return console.Usage("refusing to listen on %s with --auth=none: other machines could reach it, and anyone there could approve anything.\n"+
		"           Listen on 127.0.0.1, leave out --auth=none, or, where the network is trusted, add --insecure-no-auth", address)
}

// refuseOpen returns the error for a service without tokens on a reachable address;
// database is the URL for creating a token.
func refuseOpen(address, database string) error {
	program := console.Program()
	if !strings.HasPrefix(database, "sqlite:") {
		database = "URL" // it may contain a password
	}
	return console.Usage("refusing to listen on %s: other machines could reach it, and there are no tokens, so anyone there could approve anything.\n"+
		"           Create one and start again:\n"+
		"             %[2]s tokens create --name admin --role admin --database %[3]s\n"+
		"             %[2]s serve --listen %[4]s --database %[3]s\n"+
		"           or use --auth=required and create it later", address, program, prompt.QuoteArgument(database), prompt.QuoteArgument(address))
}

// isLoopback reports whether only this machine can reach the listener.
func isLoopback(listener net.Listener) bool {
	if listener.Addr().Network() == "unix" {
		return true
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// reachableURL returns a URL by which this machine reaches the listener.
func reachableURL(scheme string, listener net.Listener) string {
	if listener.Addr().Network() == "unix" {
		return listener.Addr().String()
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return scheme + "://" + listener.Addr().String()
	}
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, address.Port)
}

// unixListener is a listener on a socket that was moved into place. The socket is removed
// on Close.
type unixListener struct {
	*net.UnixListener
	path string
}

// Addr returns the address in the form of --listen.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: unixScheme + l.path} }

// Close closes the listener and removes the socket.
func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if err == nil {
		_ = os.Remove(l.path) // a process started later may have replaced it
	}
	return err
}

// listenUnix opens a socket that only its owner may use, and replaces a stale one. It is
// created in a private directory and moved into place, so that it never exists with another
// mode.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("listen on unix:%s: the file exists and is not a socket", path)
		}
		var dialer net.Dialer
		if answering, err := dialer.DialContext(ctx, "unix", path); err == nil {
			_ = answering.Close()
			return nil, fmt.Errorf("listen on unix:%s: another process listens there", path)
		}
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".holdpoint-")
	if err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	defer func() { _ = os.RemoveAll(private) }() // empty by now
	var config net.ListenConfig
	opened, err := config.Listen(ctx, "unix", filepath.Join(private, "s"))
	if err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	listener, _ := opened.(*net.UnixListener)
	listener.SetUnlinkOnClose(false)
	err = os.Chmod(filepath.Join(private, "s"), 0o600)
	if err == nil {
		err = os.Rename(filepath.Join(private, "s"), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on unix:%s: %w", path, err), listener.Close())
	}
	return &unixListener{listener, path}, nil
}

// writeListenFile writes the URL for scripts, atomically.
func writeListenFile(path, url string) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".holdpoint-listen-*")
	if err != nil {
		return fmt.Errorf("--listen-file: %w", err)
	}
	_, err = temporary.WriteString(url + "\n")
	if closing := temporary.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // already gone after the rename
		return fmt.Errorf("--listen-file: %w", err)
	}
	return nil
}
