package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/bloomery/bloomery"
)

// Verify implements door.Keeper: it reads the snapshot back.
func (d *Door) Verify() error {
	if d.log == nil {
		return nil
	}
	d.save.mu.Lock() // no snapshot removes files meanwhile
	defer d.save.mu.Unlock()
	m, err := readManifest(d.config.Files)
	if err == nil && m != nil {
		err = checkParts(d.config.Files, m)
	}
	if err != nil {
		return fmt.Errorf("local: verify: %w", err)
	}
	return nil
}

// Check reads every frame of a folder: that the manifest is whole, that all part
// files are there and whole, and that the log reaches as far as the snapshot
// needs it. It puts no contents together and needs little memory. A torn end of
// the log, which a start cuts off, is not an error.
func Check(files Folder) error {
	names, err := files.List()
	if err == nil {
		err = cutOff(names)
	}
	var m *manifest
	if err == nil {
		m, err = readManifest(files)
	}
	if err == nil && m == nil {
		m = &manifest{}
	}
	if err == nil {
		err = checkParts(files, m)
	}
	if err == nil {
		_, err = scanLog(files, names, m, func(uint64, []byte) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("local: check: %w", err)
	}
	return nil
}

// checkParts reads the frames of all part files that m needs.
func checkParts(files Folder, m *manifest) error {
	sizes := map[uint64]uint64{}
	for i := range m.items {
		if it := &m.items[i]; !it.gone {
			sizes[it.file] += it.size
		}
	}
	for _, number := range slices.Sorted(maps.Keys(sizes)) {
		if err := verifyParts(files, number, sizes[number]); err != nil {
			return &damage{partName(number), err}
		}
	}
	return nil
}

// verifyParts reads the frames of a part file, which must have least bytes.
func verifyParts(files Folder, number, least uint64) error {
	r, err := files.Open(partName(number))
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
	f := frameReader{r: r, kind: partFrame, number: number}
	for {
		if _, err := f.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
