package nats

// What a folder of the log has, for people who look for damage.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bloomery/bloomery"
)

// Inspected is what a folder of the log has.
type Inspected struct {
	File   string // what a node remembers of its embedded server
	Size   int64  // of it, 0 if it is not there
	Detail string
	Err    error // wraps bloomery.ErrCorrupt
	// Folder has the streams, which have so many bytes together.
	Folder  string
	Streams int64
}

// NewFolder is what to do if a node has forgotten which server of the log it is.
func NewFolder(dir string) string {
	return "move the folder " + dir + " away and start the node with an empty one: it fetches all data, with a new number; " +
		"if it kept the log, bloomery cluster replace-log gives its place to the new node"
}

// Inspect looks into a folder of the log whose server does not run. The error is that of the file system.
func Inspect(dir string) (in Inspected, err error) {
	in = Inspected{File: nodeFile, Folder: "jetstream"}
	info, err := os.Stat(filepath.Join(dir, nodeFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return in, err
	}
	if err == nil {
		n, err := remembered(dir)
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			return in, err
		}
		in.Size, in.Err = info.Size(), err
		if in.Err == nil {
			in.Detail = fmt.Sprintf("server %s of the cluster %s", n.Server, n.Cluster)
			switch {
			case n.Removed:
				in.Detail += ", removed from it: no server starts on this folder"
			case n.Store:
				in.Detail += ", keeps the log"
			}
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, in.Folder), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			in.Streams += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return in, err
}
