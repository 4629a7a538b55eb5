package door

// Doors that hand out a copy of all data while they go on.

// Copier is a door that makes a copy of all data for a client: the files of a data
// folder that a single server opens.
type Copier interface {
	// OpenCopy makes a copy and holds it until CloseCopy, or until nobody has asked
	// for it for some minutes. It has everything that any machine has acknowledged
	// before the call; with stale, everything that is applied here, which needs no
	// other machine. The error wraps ErrRefused or ErrUnknown if that could not be
	// found out.
	OpenCopy(stale bool) (number uint64, files []CopiedFile, err error)
	// ReadCopy returns length bytes of a file by its place in the list. There is a
	// limit of 512 KiB.
	ReadCopy(number, file, offset, length uint64) ([]byte, error)
	// CloseCopy gives a copy up.
	CloseCopy(number uint64)
}

// CopiedFile is a file of a copy.
type CopiedFile struct {
	Name string
	Size int64
}
