//go:build unix

package rig

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// eximConfig takes mail for every address and delivers it to one directory. ACCOUNT, DIR and PORT are replaced.
const eximConfig = `
primary_hostname = localhost
spool_directory = DIR/spool
log_file_path = DIR/log/%slog
pid_file_path = DIR/spool/pid
exim_user = ACCOUNT
exim_group = GROUP
deliver_drop_privilege
tls_advertise_hosts =
acl_smtp_rcpt = all
acl_smtp_data = all
keep_environment =
begin acl
all:
  accept
begin routers
all:
  driver = accept
  transport = mailbox
begin transports
mailbox:
  driver = appendfile
  directory = DIR/mail
  maildir_format
  create_directory
`

// Mailbox is an Exim that delivers the mail for every address to one directory.
type Mailbox struct {
	server    slot
	directory string
	address   string
}

// NewMailbox starts Exim. It is killed with the test. It needs exim4; see [Missing].
func NewMailbox(tb testing.TB) *Mailbox {
	tb.Helper()
	program := Need(tb, "exim4", "/usr/sbin/exim4")
	port, err := fixedPort()
	require.NoError(tb, err)
	directory, err := os.MkdirTemp("", "holdpoint-mail-*") //nolint:usetesting // only root may enter the parent of a TempDir
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(directory)) })
	account, err := user.Current()
	require.NoError(tb, err)
	var credential *syscall.Credential
	if account.Uid == "0" {
		// Exim delivers nothing as root.
		account, err = user.Lookup("Debian-exim")
		require.NoError(tb, err)
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		require.NoError(tb, err)
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		require.NoError(tb, err)
		credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	group, err := user.LookupGroupId(account.Gid)
	require.NoError(tb, err)
	for _, name := range []string{"", "spool", "log", "mail"} {
		at := filepath.Join(directory, name)
		require.NoError(tb, os.MkdirAll(at, 0o700))
		if credential != nil {
			require.NoError(tb, os.Chown(at, int(credential.Uid), int(credential.Gid)))
		}
	}
	config := filepath.Join(directory, "exim.conf")
	text := strings.NewReplacer("ACCOUNT", account.Username, "GROUP", group.Name, "DIR", directory).Replace(eximConfig)
	require.NoError(tb, os.WriteFile(config, []byte(text), 0o644))
	m := &Mailbox{directory: directory, address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	command := exec.Command(program, "-C", config, "-bdf", "-oX", "127.0.0.1."+strconv.Itoa(port))
	require.NoError(tb, m.server.start(command, credential, filepath.Join(directory, "output"), func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.address)
		if err != nil {
			return err
		}
		return conn.Close()
	}))
	tb.Cleanup(func() { m.server.end(func(d *daemon) { d.signal(syscall.SIGKILL) }) })
	return m
}

// Address is where it takes mail, as HOST:PORT.
func (m *Mailbox) Address() string { return m.address }

// Mails returns the delivered mails, the oldest first.
func (m *Mailbox) Mails(tb testing.TB) (mails []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(m.directory, "mail", "new", "*"))
	require.NoError(tb, err)
	slices.Sort(files) // a name begins with the time
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(tb, err)
		mails = append(mails, string(text))
	}
	return mails
}
