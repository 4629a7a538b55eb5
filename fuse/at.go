package fuse

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/far"
)

// At returns the Filter whose encoding begins at the first byte of r, to be asked where it lies: a
// key takes as many reads of 64 bytes as it has slots, or fewer and longer ones where they lie
// within 64 KiB of each other. The directory of the shards is read at once.
// Of c only Hasher may be set. Errors are those of Decode, or those of r.
func (c Config[T]) At(r io.ReaderAt) (bloomery.Far, error) {
	return far.Open(c.opening(), r, func(s *far.Source) (far.Found, error) { return found(c, s) })
}

// scattered is an array that is not here.
type scattered[T Fingerprint] struct {
	array[T]
	starts []uint64 // the first word of each shard
}

func found[T Fingerprint](c Config[T], s *far.Source) (far.Found, error) {
	a, err := parse[T](s.Header, c.Hasher)
	if err != nil {
		return far.Found{}, err
	}
	facts, err := s.Front(uint64(directoryWords(a.bits)))
	if err != nil {
		return far.Found{}, err
	}
	f := scattered[T]{array: a}
	if err := f.parse(facts, s.Header.Payload/8); err != nil {
		return far.Found{}, err
	}
	stats := f.Stats()
	if f.items != s.Header.Capacity {
		return far.Found{}, fmt.Errorf("%w: the shards have %d keys, the header says %d", bloomery.ErrCorrupt, f.items, s.Header.Capacity)
	}
	return far.Found{Hasher: f.hasher, Has: f.has, Stats: stats}, nil
}

// parse finds the shards in a payload of so many words by their directory.
func (f *scattered[T]) parse(facts []uint64, words uint64) error {
	at := uint64(len(facts))
	f.shards = make([]shard[T], 1<<f.bits)
	f.starts = make([]uint64, len(f.shards))
	for i := range f.shards {
		s, err := f.parseShard(facts[entryWords*i], facts[entryWords*i+1])
		if err != nil {
			return fmt.Errorf("%w: shard %d: %w", bloomery.ErrCorrupt, i, err)
		}
		f.shards[i], f.starts[i] = s, at
		at += s.shape.Slots() * uint64(width[T]()) / 64
		if at > words {
			return fmt.Errorf("%w: shard %d: %d slots do not fit", bloomery.ErrCorrupt, i, s.shape.Slots())
		}
		f.items += s.items
		f.slots += s.shape.Slots()
	}
	if at != words {
		return fmt.Errorf("%w: the shards leave %d words", bloomery.ErrCorrupt, words-at)
	}
	return nil
}

// has looks a hash up.
func (f *scattered[T]) has(p *far.Parts, h uint64) (found, known bool) {
	i := bloomery.Route(h, f.bits)
	s := &f.shards[i]
	if s.shape.Segments == 0 {
		return false, true
	}
	h = s.mixed(h)
	var slots [4]uint32
	if s.arity == 4 {
		slots[0], slots[1], slots[2], slots[3] = s.four(h)
	} else {
		slots[0], slots[1], slots[2] = s.three(h)
	}
	known = true
	rest := fingerprint[T](h)
	for _, slot := range slots[:s.arity] {
		var word [1]uint64
		at := uint64(slot) * uint64(width[T]())
		known = p.Words(word[:], f.starts[i]+at/64) && known
		rest ^= T(word[0] >> (at % 64))
	}
	return rest == 0, known
}
