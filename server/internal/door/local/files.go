package local

// The folder under the names that users of the door know.

import "github.com/bloomery/bloomery/server/internal/folder"

type (
	// Files is the folder that a door keeps its data in.
	Files = folder.Files
	// Folder is one that is only read.
	Folder = folder.Folder
	// File is a file that is only appended to.
	File = folder.File
	// Reader reads a file.
	Reader = folder.Reader
	// Disk is a folder of the file system.
	Disk = folder.Disk
	// Memory keeps files in memory.
	Memory = folder.Memory
)

// ErrLocked means that another process uses the folder.
var ErrLocked = folder.ErrLocked

// OpenDisk returns the folder at path, which it makes if it is not there.
func OpenDisk(path string) (Disk, error) { return folder.OpenDisk(path) }
