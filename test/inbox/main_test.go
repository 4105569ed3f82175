//go:build unix && browser

package inbox

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m, removeNode) }

//go:embed node/package.json node/package-lock.json
var nodeFiles embed.FS

// nodeInstalled is the directory that removeNode removes.
var nodeInstalled string

func removeNode() {
	if nodeInstalled != "" {
		_ = os.RemoveAll(nodeInstalled)
	}
}

// axeSource is axe-core, installed once in the life of the process.
var axeSource = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "holdpoint-axe-*")
	if err != nil {
		return "", err
	}
	nodeInstalled = directory
	if err := os.CopyFS(directory, nodeFiles); err != nil {
		return "", err
	}
	command := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--silent")
	command.Dir = filepath.Join(directory, "node")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	source, err := os.ReadFile(filepath.Join(directory, "node", "node_modules", "axe-core", "axe.min.js"))
	return string(source), err
})

// browserNames are how distributions call the browser.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// startBrowser returns a context in which tabs can be opened. Chromium without windows, if it is there, computes
// half as much as Chromium that hides its windows; it shows no notifications.
func startBrowser(t testing.TB) context.Context {
	t.Helper()
	return startNamed(t, append([]string{"chromium-headless-shell", "chrome-headless-shell"}, browserNames...))
}

// startWholeBrowser returns a browser that shows notifications.
func startWholeBrowser(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	return startNamed(t, browserNames, more...)
}

func startNamed(t testing.TB, names []string, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	rig.KeepNetwork(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(rig.Need(t, names...)), chromedp.UserDataDir(t.TempDir()),
		// A sandbox needs rights that the account of a test may lack, or, as root, a flag.
		chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(2*time.Minute))
	allocated, release := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(release)
	browser, stop := chromedp.NewContext(allocated)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Do(browser))
	return browser
}
