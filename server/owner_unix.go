//go:build unix

package server

import (
	"io/fs"
	"syscall"
)

// ofRoot reports whether a file belongs to root.
func ofRoot(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
