// Package regular opens regular files, and refuses others at once. To open a named pipe in the usual way
// blocks until a program writes to it, and neither a signal nor a context ends that.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Causes of errors, which say more.
var (
	// Err means that something is not a regular file.
	Err = errors.New("not a regular file")
	// ErrLong means that a file is longer than it may be.
	ErrLong = errors.New("too long")
)

// Open opens a file for reading, at once. The error of what is not a regular file is a *fs.PathError that
// wraps Err.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|atOnce, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = Check(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Check returns the error of Open if a file is not a regular one.
func Check(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: irregular(info.Mode())}
}

// ReadFile reads a file whole. The error of one of more than most bytes wraps ErrLong.
func ReadFile(name string, most uint64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if uint64(info.Size()) > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: it has %d bytes, and %d are the most", ErrLong, info.Size(), most)}
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // it became shorter
		err = nil
	}
	return data[:n], err
}

// irregular is the mode of what is not a regular file.
type irregular fs.FileMode

// Error implements error.
func (m irregular) Error() string {
	what := "a device"
	switch mode := fs.FileMode(m); {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	}
	return what + ", " + Err.Error()
}

// Unwrap returns Err, and what callers of the library know.
func (m irregular) Unwrap() []error { return []error{Err, fs.ErrInvalid} }
