package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/bloomery/bloomery/internal/regular"
)

// newFileMode is the mode of a file that was not there before, before umask.
const newFileMode = 0o666

// maxStem is how many bytes of a file's name the name of its temporary file
// repeats. Names have at most 255 bytes, on some encrypted disks 143.
const maxStem = 100

// WriteFile writes the encoding of f, a filter of this module, to the named
// file and replaces what was there: all of it or nothing, also if the machine
// crashes meanwhile. When it returns nil, the file is on the disk. On error,
// and if f panics, the old file is as it was, and nothing is left behind; but
// if the very last step fails, which puts the name on the disk, the new file
// is there and a crash may undo it.
//
// The new file has the permissions of the old one, or 0666 before umask; at no
// moment has anyone more access to its content. It is written beside the named
// file, so the folder must have room for both. A symbolic link is replaced,
// not followed.
//
// A process that is killed leaves the file that it writes, NAME.0.bloomery.tmp. The
// next WriteFile of the same name removes it, where the system has locks that end
// with a process: not on Windows.
func WriteFile(name string, f io.WriterTo) error {
	if err := writeFile(osDisk{}, name, f); err != nil {
		return fmt.Errorf("file: write %s: %w", name, cause(err))
	}
	return nil
}

// disk is what WriteFile needs of the file system. Tests put faults into it.
type disk interface {
	// create creates a new file with at most the permissions of mode.
	create(name string, mode fs.FileMode) (temporary, error)
	// removeLeftover removes a file of create that nobody writes any more.
	removeLeftover(name string)
	rename(from, to string) error
	remove(name string) error
	// syncFolder puts the names in a folder on the disk.
	syncFolder(name string) error
}

// temporary is the file that takes the place of the old one.
type temporary interface {
	io.WriteCloser
	Name() string
	Chmod(mode fs.FileMode) error
	Sync() error
	// release gives the name up, which no other writer removes before; it comes
	// after Close.
	release()
}

func writeFile(d disk, name string, f io.WriterTo) error {
	mode, exists, err := modeOf(name)
	if err != nil {
		return err
	}
	t, err := createBeside(d, name, mode)
	if err != nil {
		return err
	}
	defer t.release()
	placed := false
	defer func() {
		if !placed { // f may have panicked; the first error is what the caller must know
			_ = t.Close()
			_ = d.remove(t.Name())
		}
	}()
	if exists { // umask may have taken some away
		if err := t.Chmod(mode); err != nil {
			return err
		}
	}
	if err := fill(t, f); err != nil {
		return err
	}
	if err := d.rename(t.Name(), name); err != nil {
		return err
	}
	placed = true
	return d.syncFolder(filepath.Dir(name))
}

// modeOf returns the permissions of the named file, and those of a new one if
// it does not exist.
func modeOf(name string) (mode fs.FileMode, exists bool, err error) {
	info, err := os.Stat(name)
	if err != nil { // whatever it is, creating a file beside it shows more
		return newFileMode, false, nil
	}
	return info.Mode().Perm(), true, regular.Check(name, info)
}

// swept is how many names of temporary files are looked at for leftovers: as many
// as there are writers of one file at once.
const swept = 16

// createBeside creates a new file in the folder of the named one. What killed
// processes left is removed; what others write is passed over.
func createBeside(d disk, name string, mode fs.FileMode) (temporary, error) {
	const tries = 10_000
	dir, stem := filepath.Split(name)
	if len(stem) > maxStem {
		stem = stem[:maxStem]
		for r, n := utf8.DecodeLastRuneInString(stem); r == utf8.RuneError && n == 1; r, n = utf8.DecodeLastRuneInString(stem) {
			stem = stem[:len(stem)-1] // some systems take no part of a character
		}
	}
	nth := func(i int) string { return fmt.Sprintf("%s%s.%d.bloomery.tmp", dir, stem, i) }
	for i := range swept {
		d.removeLeftover(nth(i))
	}
	for i := range tries {
		f, err := d.create(nth(i), mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s to %s are there already: %w", nth(0), nth(tries-1), fs.ErrExist)
}

// fill writes f to the temporary file and the disk, and closes it.
func fill(t temporary, f io.WriterTo) error {
	w := bufio.NewWriterSize(t, bufferSize)
	if _, err := f.WriteTo(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := t.Sync(); err != nil {
		return err
	}
	return t.Close()
}

// osDisk is the file system.
type osDisk struct{}

func (osDisk) create(name string, mode fs.FileMode) (temporary, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	release, err := claim(f)
	if err != nil {
		_ = f.Close()
		if !errors.Is(err, fs.ErrExist) { // else it is another's to remove
			_ = os.Remove(name)
		}
		return nil, err
	}
	return claimed{f, release}, nil
}

// claimed is a temporary file with its lock.
type claimed struct {
	*os.File
	unlock func()
}

func (c claimed) release() { c.unlock() }

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(name string) error     { return os.Remove(name) }
func (osDisk) removeLeftover(name string)   { removeLeftover(name) }
func (osDisk) syncFolder(name string) error { return syncFolder(name) }
