package snapshot

// Reading all frames of a snapshot.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// Check reads the frames of all part files that m needs. It puts no contents
// together and needs little memory.
func Check(files folder.Folder, m *Manifest) error {
	sizes := m.Files()
	for _, number := range slices.Sorted(maps.Keys(sizes)) {
		if err := checkParts(files, number, sizes[number]); err != nil {
			return &folder.Damage{File: folder.PartName(number), Err: err}
		}
	}
	return nil
}

// checkParts reads the frames of a part file, which must have least bytes.
func checkParts(files folder.Folder, number, least uint64) error {
	r, err := files.Open(folder.PartName(number))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: missing", bloomery.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if uint64(r.Size()) < least {
		return fmt.Errorf("offset %d: %w: cut short, the snapshot needs %d bytes", r.Size(), bloomery.ErrCorrupt, least)
	}
	f := folder.NewFrameReader(r, folder.PartFrame, number)
	for {
		if _, err := f.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
