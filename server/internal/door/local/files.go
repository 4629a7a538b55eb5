package local

// The folder under the names that users of the door know.

import "github.com/bloomery/bloomery/server/internal/folder"

// The folder that a door keeps its data in, under the names that its users know.
type (
	Files  = folder.Files
	Folder = folder.Folder
	File   = folder.File
	Reader = folder.Reader
	Disk   = folder.Disk
	Memory = folder.Memory
)

// ErrLocked means that another process uses the folder.
var ErrLocked = folder.ErrLocked

// OpenDisk returns the folder at path, which it makes if it is not there.
func OpenDisk(path string) (Disk, error) { return folder.OpenDisk(path) }
