package snapshot

// Reading all frames of a snapshot.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

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

// readBack reads what a snapshot has written: its part files, of these sizes, and its
// manifest, which is not in place yet. Files that it shares with the one before were read
// when they were written, or at the start.
func (s *Saver) readBack(made map[uint64]uint64) error {
	files := folder.Stoppable(s.config.Files, pace(s.config.ReadBack))
	for _, number := range slices.Sorted(maps.Keys(made)) {
		folder.Evict(s.config.Files, folder.PartName(number))
		if err := checkParts(files, number, made[number]); err != nil {
			return fmt.Errorf("what was written cannot be read back: %w", &folder.Damage{File: folder.PartName(number), Err: err})
		}
	}
	folder.Evict(s.config.Files, folder.ManifestTemp)
	r, err := files.Open(folder.ManifestTemp)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if _, err = Decode(r); err != nil {
		return fmt.Errorf("what was written cannot be read back: %w", &folder.Damage{File: folder.Manifest, Err: err})
	}
	return nil
}

// paceEvery is after how much work pace waits.
const paceEvery = 5 * time.Millisecond

// pace returns a function that is asked before each of many reads: it waits as long as the
// work has taken, so that others have the disk for half of the time at least.
func pace(ask func() error) func() error {
	began := time.Now()
	return func() error {
		if worked := time.Since(began); worked > paceEvery {
			time.Sleep(worked)
			began = time.Now()
		}
		return ask()
	}
}
