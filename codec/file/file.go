// Package file keeps filters in files: it writes them so that a crash leaves
// the old file or the new one, and maps them so that a filter of any size is
// open at once.
//
//	err := file.WriteFile("seen.bloom", f)
//	g, err := file.Open("seen.bloom", codec.Config{}) // into memory
//	m, err := file.Map("seen.bloom", codec.Config{})  // where it lies
//	defer m.Close()
//
// Errors name the file. Of the library only this package and follow touch the file
// system.
package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
)

// bufferSize is how much is read at once: transport forms come in small parts.
const bufferSize = 1 << 20

// Open reads the filter in the named file into memory, in the plain or in the
// transport form. Errors are those of c.Open and of the file system.
func Open(name string, c codec.Config) (bloomery.Hashed, error) {
	f, err := open(name, c)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", name, cause(err))
	}
	return f, nil
}

func open(name string, c codec.Config) (bloomery.Hashed, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	r := bufio.NewReaderSize(in, bufferSize)
	f, err := c.Read(r)
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
