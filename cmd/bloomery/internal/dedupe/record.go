// Lines in temporary files.

package dedupe

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// disk is the temporary folder; tests put a full one in its place.
type disk interface {
	create(name string) (io.WriteCloser, error)
	open(name string) (io.ReadCloser, error)
	remove(name string) error
	close() error // removes all that is left
}

// folder is a disk in the file system.
type folder string

// newFolder makes a temporary folder; an empty parent stands for that of the
// system.
func newFolder(parent string) (disk, error) {
	dir, err := os.MkdirTemp(parent, "bloomery-dedupe-*")
	return folder(dir), err
}

func (f folder) create(name string) (io.WriteCloser, error) {
	return os.OpenFile(filepath.Join(string(f), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (f folder) open(name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), name))
}
func (f folder) remove(name string) error { return os.Remove(filepath.Join(string(f), name)) }
func (f folder) close() error             { return os.RemoveAll(string(f)) }

// sink takes lines with their number and how often they came.
type sink interface {
	put(index, count uint64, text []byte) error
}

// A file of records is lines in ascending order of their number:
//
//	uvarint  number of the line, less that of the record before
//	uvarint  how often the line came
//	uvarint  length of the line
//	bytes    the line

// recordWriter writes a file of records.
type recordWriter struct {
	name string
	f    io.WriteCloser
	w    *bufio.Writer
	last uint64
	n    uint64 // records
}

var _ sink = (*recordWriter)(nil)

func (r *recordWriter) put(index, count uint64, text []byte) error {
	head := r.w.AvailableBuffer()
	head = binary.AppendUvarint(head, index-r.last)
	head = binary.AppendUvarint(head, count)
	head = binary.AppendUvarint(head, uint64(len(text)))
	r.last = index
	r.n++
	if _, err := r.w.Write(head); err != nil {
		return spillError(err)
	}
	if _, err := r.w.Write(text); err != nil {
		return spillError(err)
	}
	return nil
}

// close writes out what is left.
func (r *recordWriter) close() error {
	if err := errors.Join(r.w.Flush(), r.f.Close()); err != nil {
		return spillError(err)
	}
	return nil
}

// recordReader reads a file of records: next, then text.
type recordReader struct {
	name   string
	f      io.ReadCloser
	r      *bufio.Reader
	index  uint64
	count  uint64
	length int
}

// next reads up to the text of the next record; the error is io.EOF behind the
// last.
func (r *recordReader) next() error {
	if _, err := r.r.Peek(1); errors.Is(err, io.EOF) {
		return io.EOF
	}
	delta, err := binary.ReadUvarint(r.r)
	if err != nil {
		return spillError(err)
	}
	if r.count, err = binary.ReadUvarint(r.r); err != nil {
		return spillError(err)
	}
	length, err := binary.ReadUvarint(r.r)
	if err == nil && length > math.MaxInt32 {
		err = errors.New("a file has changed")
	}
	if err != nil {
		return spillError(err)
	}
	r.index += delta
	r.length = int(length)
	return nil
}

// text reads the line of the record into buf.
func (r *recordReader) text(buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], r.length)[:r.length]
	if _, err := io.ReadFull(r.r, buf); err != nil {
		return buf, spillError(err)
	}
	return buf, nil
}

// spillError says that it was the temporary folder that failed, without the
// name of a file that nobody knows.
func spillError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return temporaryError{err}
}

// temporaryError is an error of the temporary folder.
type temporaryError struct{ error }

// Error implements error.
func (e temporaryError) Error() string { return "temporary folder: " + e.error.Error() }

// Unwrap returns the cause.
func (e temporaryError) Unwrap() error { return e.error }

// IsTemporary reports whether an error is one of the temporary folder.
func IsTemporary(err error) bool {
	_, ok := errors.AsType[temporaryError](err)
	return ok
}
