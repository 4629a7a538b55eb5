package snapshot

// Files that are held open while snapshots go on.

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/bloomery/bloomery/server/internal/folder"
)

// Held are files of a folder that are held open, so that a snapshot that is taken
// meanwhile cannot remove them.
type Held struct {
	Manifest *Manifest // an empty one if the folder has none
	Names    []string
	Readers  []folder.Reader // by name
}

// holdTries is how often Hold begins again since snapshots are taken meanwhile.
const holdTries = 10

// Hold opens the manifest of a folder, the part files that it needs, and files that
// more, if it is not nil, names. The folder may be in use. If more finds that a file is
// missing, which a snapshot may have removed, its error wraps fs.ErrNotExist.
func Hold(files folder.Folder, more func(m *Manifest) ([]string, error)) (*Held, error) {
	var missing error
	for range holdTries {
		h := &Held{}
		err := h.open(files, more)
		if err == nil {
			return h, nil
		}
		_ = h.Close() // they were only read
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = err // a snapshot was taken, or it is not there at all
	}
	return nil, fmt.Errorf("after %d tries: %w", holdTries, missing)
}

func (h *Held) open(files folder.Folder, more func(m *Manifest) ([]string, error)) error {
	m, err := Read(files)
	if err != nil {
		return err
	}
	if h.Manifest = m; m == nil {
		h.Manifest = Empty()
	} else {
		h.Names = append(h.Names, folder.Manifest)
	}
	for _, number := range slices.Sorted(maps.Keys(h.Manifest.Files())) {
		h.Names = append(h.Names, folder.PartName(number))
	}
	if more != nil {
		names, err := more(h.Manifest)
		if err != nil {
			return err
		}
		h.Names = append(h.Names, names...)
	}
	for _, name := range h.Names {
		r, err := files.Open(name)
		if err != nil {
			return err
		}
		h.Readers = append(h.Readers, r)
	}
	again, err := Read(files)
	if err == nil && again != nil && again.Number != h.Manifest.Number {
		err = fmt.Errorf("snapshots are taken all the time: %w", fs.ErrNotExist)
	}
	return err
}

// Close closes all files.
func (h *Held) Close() error {
	var err error
	for _, r := range h.Readers {
		err = errors.Join(err, r.Close())
	}
	h.Readers = nil
	return err
}
