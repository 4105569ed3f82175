package console

import "runtime/debug"

// Version returns the module's version, or the commit it was built from, or "dev".
func Version() string {
	info, there := debug.ReadBuildInfo()
	if !there {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "dev-" + setting.Value[:12]
		}
	}
	return "dev"
}
