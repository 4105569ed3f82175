package serve

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdpoint/holdpoint/cli/console"
)

// listen opens the address. Unless reachable it refuses an address that other machines can
// reach.
func listen(ctx context.Context, address string, reachable bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, console.Usage("--listen must be HOST:PORT: %w", err)
	}
	ip := net.ParseIP(host)
	if !reachable && !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return nil, refuse(address)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	// What the name localhost means is up to the machine.
	if !reachable && !isLoopback(listener) {
		_ = listener.Close()
		return nil, refuse(listener.Addr().String())
	}
	return listener, nil
}

func refuse(address string) error {
	return console.Usage("refusing to listen on %s with --auth=none: other machines could reach it, and anybody there could approve anything.\n"+
		"           Listen on 127.0.0.1, leave out --auth=none, or, where the network is trusted, say --insecure-no-auth beside it", address)
}

// refuseOpen refuses to be open to other machines; database is the URL to make a token with.
func refuseOpen(address, database string) error {
	program := console.Program()
	if !strings.HasPrefix(database, "sqlite:") {
		database = "URL" // it may hold a password
	}
	return console.Usage("refusing to listen on %s: other machines could reach it, and no token was ever made, so anybody there could approve anything.\n"+
		"           Make one, and start again:\n"+
		"             %[2]s tokens create --name admin --role admin --database %[3]s\n"+
		"             %[2]s serve --listen %[1]s --database %[3]s\n"+
		"           or say --auth=required and make it later", address, program, console.QuoteArgument(database))
}

func isLoopback(listener net.Listener) bool {
	address, ok := listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// reachableURL returns a URL by which this machine reaches the listener.
func reachableURL(listener net.Listener) string {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return "http://" + listener.Addr().String()
	}
	return fmt.Sprintf("http://127.0.0.1:%d", address.Port)
}

// writeListenFile writes the URL for scripts. The file appears complete.
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
		_ = os.Remove(temporary.Name()) // it may be there or not
		return fmt.Errorf("--listen-file: %w", err)
	}
	return nil
}
