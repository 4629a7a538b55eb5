//go:build !unix

package server

import "io/fs"

// ofRoot reports whether a file belongs to root, which there is not here.
func ofRoot(fs.FileInfo) bool { return false }
