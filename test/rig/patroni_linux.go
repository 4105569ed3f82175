package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

const machines = 3

// Patroni is three machines on one network, each with a Postgres that Patroni manages, with
// synchronous replication. A machine is a network namespace, so it can be lost or disconnected as a
// whole. The network's switch is a namespace too, so that firewall rules of this machine do not
// affect it.
//
// etcd has its own machine. An etcd member that restarts with a machine answers reads from old
// data, and Patroni before 4.0.6 trusts it: it promotes the old leader again, without commits that
// others have acknowledged meanwhile. See
// docs/reliability.md#losing-a-postgres-and-a-proxy-in-between.
type Patroni struct {
	Machines  []*PatroniMachine
	etcd      *PatroniMachine
	name      string
	subnet    string
	directory string
	bin       string // where Postgres' programs are
	ip        string
	setpriv   string
	account   *syscall.Credential
}

// PatroniMachine is one of the machines, or the machine of etcd.
type PatroniMachine struct {
	cluster   *Patroni
	number    int
	Address   string
	commands  [][]string
	daemons   []*daemon
	namespace string
}

// NewPatroni starts the machines and returns when one of them leads and another is its synchronous
// standby. They are gone with the test. It needs Postgres, patroni, etcd, ip and root; see [Missing].
func NewPatroni(tb testing.TB) *Patroni {
	tb.Helper()
	bin := NeedPostgres(tb)
	patroni, etcd := Need(tb, "patroni", "/usr/bin/patroni"), Need(tb, "etcd", "/usr/bin/etcd")
	if os.Geteuid() != 0 {
		Missing(tb, "root, who may make network namespaces")
	}
	account, err := postgrestest.Unprivileged()
	require.NoError(tb, err)
	directory, err := os.MkdirTemp("/tmp", "holdpoint-patroni-") //nolint:usetesting // Another user must enter it.
	require.NoError(tb, err)
	require.NoError(tb, os.Chown(directory, int(account.Uid), int(account.Gid)))
	p := &Patroni{
		name: "hp" + strconv.Itoa(os.Getpid()), subnet: fmt.Sprintf("10.213.%d.", os.Getpid()%250),
		directory: directory, bin: bin, account: account,
		ip: Need(tb, "ip", "/usr/sbin/ip"), setpriv: Need(tb, "setpriv", "/usr/bin/setpriv"),
	}
	changeNetwork(tb)
	tb.Cleanup(p.remove)

	p.network(tb, "netns", "add", p.name)
	p.network(tb, "-n", p.name, "link", "add", "switch", "type", "bridge")
	p.network(tb, "-n", p.name, "link", "set", "switch", "up")
	// This machine's own end of the network.
	p.network(tb, "link", "add", p.name, "type", "veth", "peer", "name", "port0", "netns", p.name)
	p.network(tb, "addr", "add", p.subnet+"254/24", "dev", p.name)
	p.network(tb, "link", "set", p.name, "up")
	p.network(tb, "-n", p.name, "link", "set", "port0", "master", "switch", "up")

	p.etcd = p.newMachine(machines + 1)
	p.etcd.attach(tb)
	clients, peers := "http://"+p.etcd.Address+":2379", "http://"+p.etcd.Address+":2380"
	p.etcd.commands = [][]string{p.etcd.inside(etcd, "--name", "etcd", "--data-dir", p.etcd.path("etcd"),
		"--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "etcd="+peers, "--unsafe-no-fsync", "--enable-v2=false")}
	require.NoError(tb, p.etcd.Start())
	for number := 1; number <= machines; number++ {
		m := p.newMachine(number)
		p.Machines = append(p.Machines, m)
		m.attach(tb)
		require.NoError(tb, os.WriteFile(m.path("patroni.yml"), m.settings(), 0o644))
		require.NoError(tb, os.Mkdir(m.path("sockets"), 0o700))
		require.NoError(tb, os.Chown(m.path("sockets"), int(account.Uid), int(account.Gid)))
		m.commands = [][]string{m.inside(patroni, m.path("patroni.yml"))}
		require.NoError(tb, m.Start())
	}
	p.AwaitLeader(tb, nil)
	return p
}

func (p *Patroni) newMachine(number int) *PatroniMachine {
	return &PatroniMachine{cluster: p, number: number, Address: p.subnet + strconv.Itoa(number), namespace: fmt.Sprintf("%s-%d", p.name, number)}
}

// attach connects the machine to the network.
func (m *PatroniMachine) attach(tb testing.TB) {
	tb.Helper()
	p := m.cluster
	p.network(tb, "netns", "add", m.namespace)
	p.network(tb, "-n", m.namespace, "link", "add", "eth0", "type", "veth", "peer", "name", m.port(), "netns", p.name)
	p.network(tb, "-n", m.namespace, "addr", "add", m.Address+"/24", "dev", "eth0")
	p.network(tb, "-n", m.namespace, "link", "set", "eth0", "up")
	p.network(tb, "-n", m.namespace, "link", "set", "lo", "up")
	p.network(tb, "-n", p.name, "link", "set", m.port(), "master", "switch", "up")
}

// network calls ip.
func (p *Patroni) network(tb testing.TB, arguments ...string) {
	tb.Helper()
	output, err := exec.CommandContext(tb.Context(), p.ip, arguments...).CombinedOutput()
	require.NoError(tb, err, "ip %s: %s", strings.Join(arguments, " "), output)
}

// inside is the command line that runs another one on the machine.
func (m *PatroniMachine) inside(arguments ...string) []string {
	account := m.cluster.account
	return append([]string{
		m.cluster.ip, "netns", "exec", m.namespace, m.cluster.setpriv, "--pdeathsig", "KILL",
		"--reuid", strconv.Itoa(int(account.Uid)), "--regid", strconv.Itoa(int(account.Gid)), "--clear-groups",
	}, arguments...)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (m *PatroniMachine) port() string { return "port" + strconv.Itoa(m.number) }

func (m *PatroniMachine) path(name string) string {
	return filepath.Join(m.cluster.directory, fmt.Sprintf("machine%d-%s", m.number, name))
}

// settings are Patroni's settings. The loss of a leader is noticed after ttl, which is at
// least 20 s. The rest of ttl is for a slow machine: a leader that does not reach etcd for
// retry_timeout steps down.
func (m *PatroniMachine) settings() []byte {
	type object = map[string]any
	// JSON is YAML.
	return must(json.Marshal(object{
		"scope": "holdpoint", "name": fmt.Sprintf("machine%d", m.number),
		"restapi": object{"listen": m.Address + ":8008", "connect_address": m.Address + ":8008"},
		"etcd3":   object{"host": m.cluster.etcd.Address + ":2379"},
		"bootstrap": object{
			"dcs": object{
				"ttl": 20, "loop_wait": 1, "retry_timeout": 9, "synchronous_mode": true, "synchronous_mode_strict": true,
				"postgresql": object{"use_pg_rewind": true, "parameters": object{"max_connections": 200}},
			},
			"initdb": []any{object{"encoding": "UTF8"}, object{"locale": "C"}},
			"pg_hba": []string{"local all all trust", "host all all 0.0.0.0/0 trust", "host replication all 0.0.0.0/0 trust"},
		},
		"postgresql": object{
			"listen": m.Address + ":5432", "connect_address": m.Address + ":5432", "data_dir": m.path("data"), "bin_dir": m.cluster.bin, "pgpass": m.path("pgpass"),
			"authentication": object{"superuser": object{"username": "postgres"}, "replication": object{"username": "replicator"}},
			"parameters":     object{"unix_socket_directories": m.path("sockets")},
		},
	}))
}

// Start starts the machine's programs and does not wait for them.
func (m *PatroniMachine) Start() error {
	for _, arguments := range m.commands {
		command := exec.CommandContext(context.Background(), arguments[0], arguments[1:]...)
		command.Dir = m.cluster.directory
		started, err := startDaemon(command, nil, m.path("log"))
		if err != nil {
			return err
		}
		m.daemons = append(m.daemons, started)
	}
	return nil
}

// Kill ends every process of the machine at once.
func (m *PatroniMachine) Kill() {
	for {
		listed, _ := exec.CommandContext(context.Background(), m.cluster.ip, "netns", "pids", m.namespace).Output()
		pids := strings.Fields(string(listed))
		if len(pids) == 0 {
			break
		}
		for _, text := range pids {
			if pid, err := strconv.Atoi(text); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	for _, d := range m.daemons {
		<-d.ended
	}
	m.daemons = nil
}

// Cut disconnects the machine from the network while its processes continue. Connect undoes it.
func (m *PatroniMachine) Cut() error { return m.setPort("down") }

// Connect puts the machine on the network again.
func (m *PatroniMachine) Connect() error { return m.setPort("up") }

// AwaitDemoted waits until the machine's own Postgres rejects writes. Patroni demotes it once etcd
// is unreachable. A leader that reconnects before that answers reads from old data.
func (m *PatroniMachine) AwaitDemoted(tb testing.TB) {
	tb.Helper()
	url := fmt.Sprintf("postgres://postgres@/postgres?host=%s", m.path("sockets"))
	Await(tb, func() bool {
		conn, err := pgx.Connect(tb.Context(), url)
		if err != nil {
			return tb.Context().Err() == nil // it is stopped, or stops
		}
		defer conn.Close(tb.Context())
		var follows bool
		err = conn.QueryRow(tb.Context(), "SELECT pg_is_in_recovery()").Scan(&follows)
		return err != nil || follows
	}, "machine %d takes writes although it is cut off", m.number)
}

func (m *PatroniMachine) setPort(state string) error {
	output, err := exec.CommandContext(context.Background(), m.cluster.ip, "-n", m.cluster.name, "link", "set", m.port(), state).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// Log is the output of the machine's Patroni and Postgres.
func (m *PatroniMachine) Log() string {
	text, _ := os.ReadFile(m.path("log"))
	return string(text)
}

// URL is the address of a database on the machine that accepts writes.
func (p *Patroni) URL(database string) string {
	var hosts []string
	for _, m := range p.Machines {
		hosts = append(hosts, m.Address+":5432")
	}
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable&target_session_attrs=read-write", strings.Join(hosts, ","), database)
}

// member is an entry of Patroni's reply to /cluster.
type member struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// AwaitLeader waits until a machine other than the given one leads and has a synchronous standby, and
// returns it.
func (p *Patroni) AwaitLeader(tb testing.TB, except *PatroniMachine) (leader *PatroniMachine) {
	tb.Helper()
	p.await(tb, func(ctx context.Context) bool {
		for _, m := range p.Machines {
			if members, err := m.members(ctx); m != except && err == nil && m.leads(members) {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

// AwaitStandbys waits until all other machines follow the leader. It asks the leader's own
// Postgres, because Patroni on a reconnected machine may report old data.
func (p *Patroni) AwaitStandbys(tb testing.TB) {
	tb.Helper()
	const following = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND application_name LIKE 'machine%'"
	p.await(tb, func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, p.URL("postgres"))
		if err != nil {
			return false
		}
		defer conn.Close(tb.Context())
		var count int
		return conn.QueryRow(ctx, following).Scan(&count) == nil && count == machines-1
	})
}

// leads returns whether the machine leads and has a synchronous standby.
func (m *PatroniMachine) leads(members []member) bool {
	leads, synchronous := false, false
	for _, member := range members {
		synchronous = synchronous || member.Role == "sync_standby"
		leads = leads || member.Role == "leader" && member.Name == fmt.Sprintf("machine%d", m.number)
	}
	return leads && synchronous
}

// await waits until the cluster is in the wanted state, and logs the machines' output if it times
// out.
func (p *Patroni) await(tb testing.TB, wanted func(context.Context) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*Patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if wanted(ctx) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			for _, m := range p.Machines {
				log := m.Log()
				tb.Logf("machine %d: %s", m.number, log[max(0, len(log)-4000):])
			}
			require.FailNow(tb, "the cluster does not become as it should")
		}
	}
}

// statusClient keeps no connections open, and limits the time to dial a disconnected machine.
var statusClient = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
}}

func (m *PatroniMachine) members(ctx context.Context) ([]member, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Address+":8008/cluster", nil)
	if err != nil {
		return nil, err
	}
	response, err := statusClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Members []member `json:"members"`
	}
	return answer.Members, json.UnmarshalRead(response.Body, &answer)
}

// CreateDatabase creates an empty database and returns its URL once every machine has it: a client
// that reaches a standby without it does not try another one.
func (p *Patroni) CreateDatabase(tb testing.TB, name string) string {
	tb.Helper()
	Await(tb, func() bool {
		conn, err := pgx.Connect(tb.Context(), p.URL("postgres"))
		if err != nil {
			return false // on a busy machine the leader may just have changed
		}
		defer conn.Close(tb.Context())
		_, err = conn.Exec(tb.Context(), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
		refused, ok := errors.AsType[*pgconn.PgError](err)
		return err == nil || ok && refused.Code == "42P04" // it exists
	}, "no machine takes a new database")
	for _, m := range p.Machines {
		there := fmt.Sprintf("postgres://postgres@%s:5432/%s?sslmode=disable", m.Address, name)
		Await(tb, func() bool {
			conn, err := pgx.Connect(tb.Context(), there)
			return err == nil && conn.Close(tb.Context()) == nil
		}, "machine %d has no database", m.number)
	}
	return p.URL(name)
}

func (p *Patroni) remove() {
	for _, m := range append(p.Machines, p.etcd) {
		if m == nil {
			continue // not made
		}
		m.Kill()
		_ = exec.CommandContext(context.Background(), p.ip, "netns", "delete", m.namespace).Run()
	}
	_ = exec.CommandContext(context.Background(), p.ip, "link", "delete", p.name).Run()
	_ = exec.CommandContext(context.Background(), p.ip, "netns", "delete", p.name).Run()
	_ = os.RemoveAll(p.directory)
}
