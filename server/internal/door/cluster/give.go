package cluster

// What a node gives to another one that makes a copy of all data.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// question: askGather, lanes, a place of each, a bit for each shard   answer: as that of askHold
//
// The node takes a snapshot that is not older than those places, and holds its manifest, and its
// part files with the contents of those shards alone.
const askGather = 50

var errBehindCopy = errors.New("cluster: this node has not applied yet what the copy begins with")

// openGather holds a snapshot for a copy that another node makes. If there is none that is new
// enough it begins one.
func (d *Door) openGather(b []byte) ([]byte, error) {
	places, shards, err := parseGather(b, len(d.all()))
	if err != nil {
		return nil, err
	}
	if err := d.Current(); err != nil {
		return nil, err
	}
	for i, l := range d.all() {
		if l.seq.Load() < places[i] {
			return nil, errBehindCopy
		}
	}
	if err := d.snapshotSince(places); err != nil {
		return nil, err
	}
	held, err := snapshot.Hold(d.config.Files, nil)
	if err != nil {
		return nil, err
	}
	if err := d.pick(held, shards); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	d.keep.mu.Lock()
	defer d.keep.mu.Unlock()
	if !d.roomForHold() {
		return nil, errors.Join(errHolds, held.Close())
	}
	held.Manifest = nil // it needs no log: the journal of the other node has what comes behind it
	return d.giveHold(held), nil
}

// parseGather reads a question.
func parseGather(b []byte, lanes int) (places []uint64, shards *shardSet, err error) {
	c := wire.Reader{Rest: b}
	if n := c.Uvarint(); c.Bad || n != uint64(lanes) {
		return nil, nil, errQuestion
	}
	for range lanes {
		places = append(places, c.Uvarint())
	}
	shards = &shardSet{}
	rest := c.Take(uint64(len(shards)))
	if c.Bad || len(c.Rest) > 0 {
		return nil, nil, errQuestion
	}
	copy(shards[:], rest)
	return places, shards, nil
}

// snapshotSince returns an error if the last snapshot is older than places, and begins one then.
func (d *Door) snapshotSince(places []uint64) error {
	d.keep.mu.Lock()
	defer d.keep.mu.Unlock()
	for i := range places {
		if i >= len(d.keep.taken) || d.keep.taken[i] < places[i] {
			if st := d.Status(); st.Err != nil {
				return fmt.Errorf("its last snapshot failed: %w", st.Err)
			}
			_ = d.StartSnapshot() // or one is being taken
			return errNotYet
		}
	}
	return nil
}

// pick leaves in held the manifest, and of part files what lies in some shards, under numbers that
// no other node gives.
func (d *Door) pick(held *snapshot.Held, shards *shardSet) error {
	wanted, m, wide := map[uint64]map[uint64]bool{}, held.Manifest, len(d.all())-1
	for i := range m.Items {
		it := &m.Items[i]
		if !it.InFile() || it.Lane == 0 || it.Lane == wide || !shards.has(it.Shard) {
			continue
		}
		if wanted[it.File] == nil {
			wanted[it.File] = map[uint64]bool{}
		}
		wanted[it.File][it.ID] = true
	}
	return held.Pick(func(number uint64) (uint64, func(uint64) bool) {
		ids := wanted[number]
		if ids == nil {
			return 0, nil
		}
		return fileOf(d.number.Load(), number), func(id uint64) bool { return ids[id] }
	})
}
