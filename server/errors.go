package server

// What a caller of New and Serve may compare an error with.

import (
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/folder"
)

var (
	// ErrLocked means that another process uses the data folder.
	ErrLocked = folder.ErrLocked
	// ErrRemoved means that a server was removed from its cluster. It cannot come
	// back, and its folder cannot be used again.
	ErrRemoved = cluster.ErrRemoved
	// ErrPurged means that a server was away from its cluster for so long that it has to
	// fetch the data from another one. A new server with the same Config does so.
	ErrPurged = cluster.ErrPurged
)
