package agent

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
)

// plan returns the plan in a file that the input only names: Claude Code gives its path,
// Gemini CLI a name in its session's directory. It returns "" if the file cannot be read.
func (i hookInput) plan() string {
	if !mcptools.ShowsPlan(i.ToolName) {
		return ""
	}
	var named struct {
		Path     string `json:"planFilePath"`
		Filename string `json:"plan_filename"`
	}
	if json.Unmarshal(i.ToolInput, &named) != nil {
		return ""
	}
	paths := []string{named.Path}
	if named.Filename != "" && i.Transcript != "" {
		project := filepath.Dir(filepath.Dir(i.Transcript))
		name := filepath.Base(named.Filename)
		paths = append(paths, filepath.Join(project, i.SessionID, "plans", name), filepath.Join(project, "plans", name))
	}
	for _, path := range slices.DeleteFunc(paths, func(path string) bool { return !filepath.IsAbs(path) }) {
		if text, err := readStart(path); err == nil {
			return text
		}
	}
	return ""
}

// readStart returns the start of a file, at most one byte more than a description may have.
func readStart(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", os.ErrNotExist
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text := make([]byte, min(info.Size(), api.MaxTextLength+1))
	n, err := file.ReadAt(text, 0)
	if n == len(text) {
		err = nil
	}
	return string(text[:n]), err
}
