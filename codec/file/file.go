// Package file keeps filters in files: it writes them so that a crash leaves
// the old file or the new one, and maps them so that a filter of any size is
// open at once.
//
//	err := file.WriteFile("seen.bloom", f)
//	g, err := file.Open("seen.bloom", hashing.Hasher{})  // into memory
//	m, err := file.Map("seen.bloom", hashing.Hasher{})   // where it lies
//	defer m.Close()
//
// Errors name the file. It is the one library package of this module that
// touches the file system.
package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// bufferSize is how much is read at once: transport forms come in small parts.
const bufferSize = 1 << 20

// WriteFile writes the encoding of f, a filter of this module, to the named
// file and replaces what was there: all of it or nothing, also if the machine
// crashes meanwhile. When it returns nil, the file is on the disk. On error
// the old file is as it was, and nothing is left behind; but if the very last
// step fails, which puts the name on the disk, the new file is there and a
// crash may undo it.
//
// The new file has the permissions of the old one, or 0666 before umask. It is
// written beside the named file, so the folder must have room for both. A
// symbolic link is replaced, not followed.
func WriteFile(name string, f io.WriterTo) error {
	if err := writeFile(name, f); err != nil {
		return fmt.Errorf("file: write %s: %w", name, cause(err))
	}
	return nil
}

func writeFile(name string, f io.WriterTo) error {
	temporary, err := createBeside(name)
	if err != nil {
		return err
	}
	err = fill(temporary, name, f)
	if e := temporary.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		// The first error is what the caller must know.
		_ = os.Remove(temporary.Name())
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// createBeside creates a new file in the folder of the named one. A crash may
// have left some: they are passed over.
func createBeside(name string) (*os.File, error) {
	const tries = 10_000
	for i := range tries {
		f, err := os.OpenFile(fmt.Sprintf("%s.%d.tmp", name, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s.0.tmp to %s.%d.tmp are there already: %w", name, name, tries-1, fs.ErrExist)
}

// fill writes f to the temporary file and the disk, and gives it the
// permissions of the named one, if that exists.
func fill(temporary *os.File, name string, f io.WriterTo) error {
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%w: not a regular file", fs.ErrInvalid)
		}
		if err := temporary.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(temporary, bufferSize)
	if _, err := f.WriteTo(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return temporary.Sync()
}

// Open reads the filter in the named file into memory, in the plain or in the
// transport form. h is needed for filters that were made with a secret key or
// a function. Errors are those of codec.Open and of the file system.
func Open(name string, h hashing.Hasher) (bloomery.Hashed, error) {
	f, err := open(name, h)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", name, cause(err))
	}
	return f, nil
}

func open(name string, h hashing.Hasher) (bloomery.Hashed, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	r := bufio.NewReaderSize(in, bufferSize)
	f, err := codec.Read(r, h)
	if err != nil {
		return nil, err
	}
	switch _, err := r.ReadByte(); {
	case err == nil:
		return nil, fmt.Errorf("%w: bytes behind the end", bloomery.ErrCorrupt)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return f, nil
}

// cause takes the name out of an error of the file system: it is told already.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}
