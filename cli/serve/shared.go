package serve

import (
	"log/slog"
	"os"
	"runtime"

	assembly "github.com/holdpoint/holdpoint/internal/service"
)

// warnOfSharedKeys logs which files of keys every user of the machine may read or write. Access of a group is meant, as in
// Kubernetes. Windows has no such modes.
func (s *service) warnOfSharedKeys() {
	if runtime.GOOS == "windows" {
		return
	}
	var shared []string
	for _, path := range []string{
		assembly.SigningKeyFile(s.SigningKeyFile, s.Database), s.pushKeyFile(), s.SecretKeyFile, s.OIDCClientSecretFile, s.TLSKey,
	} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o007 != 0 {
			shared = append(shared, path+" "+info.Mode().Perm().String())
		}
	}
	if len(shared) > 0 {
		s.logger.Warn("every user of this machine may open files of keys; make them 0600", slog.Any("files", shared))
	}
}
