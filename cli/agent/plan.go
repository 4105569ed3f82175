package agent

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
)

// plan returns the plan in a file that the input only names: Claude Code gives its path,
// Gemini CLI a name in its session's directory. The text is the start of it, at most one byte more than a description
// may have, and the digest is of the whole file. It returns "" if the input has the plan itself, or the file cannot be read.
func (i hookInput) plan() (text, digest string) {
	if !mcptools.ShowsPlan(i.ToolName) {
		return "", ""
	}
	var own struct {
		Plan string `json:"plan"`
	}
	var named struct {
		Path     string `json:"planFilePath"`
		Filename string `json:"plan_filename"`
	}
	if json.Unmarshal(i.ToolInput, &own) == nil && strings.TrimSpace(own.Plan) != "" || json.Unmarshal(i.ToolInput, &named) != nil {
		return "", ""
	}
	paths := []string{named.Path}
	if named.Filename != "" && i.Transcript != "" {
		project := filepath.Dir(filepath.Dir(i.Transcript))
		name := filepath.Base(named.Filename)
		paths = append(paths, filepath.Join(project, i.SessionID, "plans", name), filepath.Join(project, "plans", name))
	}
	for _, path := range slices.DeleteFunc(paths, func(path string) bool { return !filepath.IsAbs(path) }) {
		if text, digest, err := readPlan(path); err == nil {
			return text, digest
		}
	}
	return "", ""
}

// readPlan returns the start of a file and a digest of the whole file. A file that is larger than the input of a hook may
// be is never the same: its digest does not recur.
func readPlan(path string) (start, digest string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", "", os.ErrNotExist
	}
	file, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	hash := sha256.New()
	whole := io.TeeReader(io.LimitReader(file, maxHookInput+1), hash)
	text, err := io.ReadAll(io.LimitReader(whole, api.MaxTextLength+1))
	if err != nil {
		return "", "", err
	}
	rest, err := io.Copy(io.Discard, whole)
	if err != nil {
		return "", "", err
	}
	if int64(len(text))+rest > maxHookInput {
		return string(text), rand.Text(), nil
	}
	return string(text), hex.EncodeToString(hash.Sum(nil)), nil
}
