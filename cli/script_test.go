package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// TestScripts runs the scenarios of testdata/script against real processes.
//
// They use the commands of testscript and the following ones. Commands that wait poll until
// the condition holds, and fail after a while.
//
//	await-server FILE            until FILE holds the URL of a ready service;
//	                             sets HOLDPOINT_SERVER and ADDRESS
//	await-pending KIND [N]       until N (1) approvals or questions are open; sets
//	                             REQUEST, HANDLE, RUN, SESSION, and REQUEST2, HANDLE2, …
//	await-run RUN STATUS         until the run has the status
//	await-queued SESSION         until a run is queued in the session
//	await-effects STATE N        until N effects are in that state
//	await-dead-letters SESSION N until N messages of the session are dead letters
//	await-file FILE              until FILE exists
//	await-lines FILE N           until FILE has that many lines
//	await-text FILE REGEXP       until the text of FILE matches
//	receiver FILE                write posted bodies to FILE, and make channels.yaml for it
//	await-stderr NAME REGEXP     until stderr of a started process matches
//	exits CODE PROGRAM ARGS…     run a program, which must end with this exit code
//	start NAME [<FILE] PROGRAM ARGS…   run it in the background, with input from FILE
//	signal NAME KILL|TERM|…      send it a signal
//	ends NAME CODE               it ends with this code; stdout and stderr then match
//	                             its output
//	post PATH FILE               post the JSON in FILE; stdout then matches the reply
//	await-post PATH FILE         repeat it until it succeeds
//	refused STATUS PATH FILE     post it, which fails with this status; stdout matches the reply
//	killed-and-back FILE         FILE is the output of a demo: its first process was killed,
//	                             the second one shows the same prompt, and both have ended
//	empty DIRECTORY              the directory is empty
//	sql FILE STATEMENT           change a SQLite file directly
//	certificates                 write ca.pem, and server, coder, stranger as .pem and
//	                             .key; all but stranger are signed by that CA
//	env-stdout NAME REGEXP       set a variable to the regexp's group in stdout
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: t.TempDir(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOLDPOINT_ACTOR", "tester")
			// A command would collect garbage while it starts, before main tells it not to. What "start" starts, such as
			// serve, has the default.
			env.Setenv("GOGC", "400")
			running := processes{}
			env.Values[processesKey{}] = running
			env.Defer(running.killAll)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await-server":       awaitServer,
			"await-pending":      awaitPending,
			"await-run":          awaitsOfService(2, hasStatus),
			"await-queued":       awaitsOfService(1, hasQueue),
			"await-effects":      awaitsOfService(2, hasEffects),
			"await-dead-letters": awaitsOfService(2, hasDeadLetters),
			"await-file":         awaitFile,
			"await-entry":        awaitEntry,
			"await-lines":        awaitLines,
			"await-stderr":       awaitStderr,
			"exits":              exits,
			"start":              start,
			"signal":             signalProcess,
			"ends":               ends,
			"post":               post,
			"await-post":         awaitPost,
			"refused":            refused,
			"killed-and-back":    killedAndBack,
			"empty":              empty,
			"sql":                execSQL,
			"env-stdout":         envStdout,
			"receiver":           receiver,
			"await-text":         awaitText,
			"certificates":       certificates,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// patience bounds how long a condition may take. It is long because the machine may be
// busy; tests return as soon as the condition holds.
const patience = 60 * time.Second

// await polls until done.
func await(ts *testscript.TestScript, what string, done func(context.Context) (bool, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("gave up waiting for %s: %v", what, err)
		case <-ticker.C:
		}
	}
}

func withClient(ts *testscript.TestScript, use func(*client.Client)) {
	options := []client.Option{client.WithRetry(client.RetryPolicy{MaxAttempts: 1})}
	if file := ts.Getenv("HOLDPOINT_TOKEN_FILE"); file != "" {
		options = append(options, client.WithToken(strings.TrimSpace(ts.ReadFile(file))))
	}
	c, err := client.New(ts.Getenv("HOLDPOINT_SERVER"), options...)
	ts.Check(err)
	defer c.Close()
	use(c)
}

func needs(ts *testscript.TestScript, neg bool, args []string, least, most int) {
	if neg || len(args) < least || len(args) > most {
		ts.Fatalf("bad use of a command of this test: %v", args)
	}
}

func awaitServer(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 1)
	await(ts, "the service", func(ctx context.Context) (bool, error) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil {
			return false, err
		}
		url := strings.TrimSpace(string(text))
		ts.Setenv("HOLDPOINT_SERVER", url)
		ts.Setenv("ADDRESS", strings.TrimPrefix(url, "http://"))
		withClient(ts, func(c *client.Client) { err = c.Ready(ctx) })
		return err == nil, err
	})
}

func awaitPending(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 2)
	count := 1
	if len(args) == 2 {
		var err error
		count, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	type item struct{ request, handle, run, session string }
	withClient(ts, func(c *client.Client) {
		var items []item
		await(ts, args[0], func(ctx context.Context) (bool, error) {
			items = nil
			if args[0] == "questions" {
				page, err := c.ListQuestions(ctx, client.PendingListParams{})
				if err != nil {
					return false, err
				}
				for _, found := range page.Items {
					items = append(items, item{found.Request.ID, found.Request.Handle, found.RunID, found.SessionID})
				}
			} else {
				page, err := c.ListApprovals(ctx, client.PendingListParams{})
				if err != nil {
					return false, err
				}
				for _, found := range page.Items {
					items = append(items, item{found.Request.ID, found.Request.Handle, found.RunID, found.SessionID})
				}
			}
			return len(items) == count, nil
		})
		for i, found := range items {
			suffix := ""
			if i > 0 {
				suffix = strconv.Itoa(i + 1)
			}
			ts.Setenv("REQUEST"+suffix, found.request)
			ts.Setenv("HANDLE"+suffix, found.handle)
			ts.Setenv("RUN"+suffix, found.run)
			ts.Setenv("SESSION"+suffix, found.session)
		}
	})
}

// awaitsOfService is a script command with arguments that polls the service.
func awaitsOfService(arguments int, done func(ctx context.Context, c *client.Client, args []string) (bool, error)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		needs(ts, neg, args, arguments, arguments)
		withClient(ts, func(c *client.Client) {
			await(ts, strings.Join(args, " "), func(ctx context.Context) (bool, error) { return done(ctx, c, args) })
		})
	}
}

func hasStatus(ctx context.Context, c *client.Client, args []string) (bool, error) {
	run, err := c.GetRun(ctx, args[0])
	if err != nil {
		return false, err
	}
	return string(run.Status) == args[1], errors.New("it is " + string(run.Status))
}

func hasQueue(ctx context.Context, c *client.Client, args []string) (bool, error) {
	session, err := c.GetSession(ctx, args[0])
	return err == nil && len(session.QueuedRunIDs) > 0, err
}

func hasEffects(ctx context.Context, c *client.Client, args []string) (bool, error) {
	page, err := c.ListEffects(ctx, client.EffectListParams{State: api.EffectState(args[0])})
	return err == nil && strconv.Itoa(len(page.Items)) == args[1], err
}

func hasDeadLetters(ctx context.Context, c *client.Client, args []string) (bool, error) {
	letters, err := c.DeadLetters(ctx, args[0])
	return err == nil && strconv.Itoa(len(letters)) == args[1], err
}

func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 1)
	await(ts, args[0], func(context.Context) (bool, error) {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil, err
	})
}

func awaitLines(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	await(ts, args[0], func(context.Context) (bool, error) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return bytes.Count(text, []byte("\n")) == count, err
	})
}

func awaitStderr(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	said := regexp.MustCompile(args[1])
	running := started(ts, args[0])
	await(ts, args[1], func(context.Context) (bool, error) {
		text, err := os.ReadFile(running.err)
		return said.Match(text), err
	})
}

func post(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	status, text := send(ts, args[0], args[1])
	if status > 299 {
		ts.Fatalf("POST %s: %d: %s", args[0], status, text)
	}
	_, err := ts.Stdout().Write(text)
	ts.Check(err)
}

func awaitPost(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	await(ts, args[0], func(context.Context) (bool, error) {
		status, text := send(ts, args[0], args[1])
		return status < 300, errors.New(string(text))
	})
}

func refused(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 3, 3)
	status, text := send(ts, args[1], args[2])
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("POST %s: %d, want %s: %s", args[1], status, args[0], text)
	}
	_, err := ts.Stdout().Write(text)
	ts.Check(err)
}

func send(ts *testscript.TestScript, path, file string) (status int, text []byte) {
	body := []byte(ts.ReadFile(file))
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		ts.Getenv("HOLDPOINT_SERVER")+path, bytes.NewReader(body))
	ts.Check(err)
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	ts.Check(err)
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	ts.Check(err)
	return response.StatusCode, text
}

var (
	firstProcess = regexp.MustCompile(`run in process (\d+), at`)
	kill9        = regexp.MustCompile(`kill -9 (\d+)\.`)
	askedBefore  = regexp.MustCompile(`The prompt is (request_\w+)\.`)
	startedAgain = regexp.MustCompile(`Started again as process (\d+)\. The prompt (request_\w+) is still open`)
)

func killedAndBack(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 1)
	told := ts.ReadFile(args[0])
	first, killed := firstProcess.FindStringSubmatch(told), kill9.FindStringSubmatch(told)
	before, again := askedBefore.FindStringSubmatch(told), startedAgain.FindStringSubmatch(told)
	if first == nil || killed == nil || before == nil || again == nil {
		ts.Fatalf("the demo did not kill its process")
	}
	if first[1] != killed[1] || again[1] == killed[1] || before[1] != again[2] {
		ts.Fatalf("process %s, killed %s with %s open, back as %s with %s", first[1], killed[1], before[1], again[1], again[2])
	}
	for _, text := range []string{first[1], again[1]} {
		pid, err := strconv.Atoi(text)
		ts.Check(err)
		if running(pid) {
			ts.Fatalf("process %d is still there", pid)
		}
	}
}

// running reports whether a process exists.
func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

func empty(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 1)
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, entry := range entries {
		ts.Fatalf("%s has %s", args[0], entry.Name())
	}
}

func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_pragma=ignore_check_constraints(1)")
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

func envStdout(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: env-stdout NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("no match for %s in stdout", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// receiver starts a server that writes the bodies of calls to a file, and writes a channels file that
// posts to it. $RECEIVER is its URL.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 1)
	path := ts.MkAbs(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = os.WriteFile(path+".new", text, 0o600)
		}
		if err == nil {
			_ = os.Rename(path+".new", path) // the script waits for it in vain then
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("RECEIVER", server.URL)
	text := "channels: {ops: {kind: http, url: '" + server.URL + "/{{path .Address}}', body: '{{.Text}}'}}\n"
	ts.Check(os.WriteFile(ts.MkAbs("channels.yaml"), []byte(text), 0o600))
}

// awaitText waits until a file has a text that fits.
func awaitText(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	wanted := regexp.MustCompile(args[1])
	await(ts, args[0], func(context.Context) (bool, error) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && wanted.Match(text), err
	})
}
