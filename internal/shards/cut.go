package shards

import (
	"context"
	"fmt"
	"runtime"

	"github.com/bloomery/bloomery"
)

// Demand is what the builder of a filter asks of the shards of a Spill.
type Demand struct {
	// Bits returns the binary logarithm of the number of shards for so many
	// hashes, as in memory.
	Bits func(total uint64) uint
	// Fixed says that there may not be more shards than that.
	Fixed bool
	// Need returns the bytes that building a shard of n hashes takes.
	Need func(n uint64) uint64
	// Each is how many words a key takes in the Spill, 0 stands for 1.
	Each uint64
	// Memory is how many bytes there are for all that is under way at once.
	Memory uint64
}

// Cut chooses the number of shards: that of a build in memory, or more, until
// the longest can be built, better two of them at a time; the number must not
// depend on that of the workers. If that is not enough, duplicates are dropped
// first. It returns the binary logarithm of the number, the hashes in the
// longest shard, and how many bytes are left for building: what the Spill itself
// keeps in memory is taken off. The error wraps ErrTooLarge, or is that of the
// scratch or of the context.
func (s *Spill) Cut(ctx context.Context, d Demand) (b uint, longest, left uint64, err error) {
	left = d.Memory - min(d.Memory, s.overhead())
	b, longest, err = s.cut(d, left)
	if err != nil {
		// The different hashes of a shard that can be built take less than half.
		if err := s.Compact(ctx, left/2); err != nil {
			return 0, 0, 0, err
		}
		runtime.GC() // its buffer is large and must not be there beside what comes
		b, longest, err = s.cut(d, left)
	}
	return b, longest, left, err
}

func (s *Spill) cut(d Demand, left uint64) (b uint, longest uint64, err error) {
	b = d.Bits(s.total)
	if b > s.bits {
		return 0, 0, fmt.Errorf("%w: with so little memory a stream is cut into 2^%d shards at most, not into 2^%d",
			bloomery.ErrTooLarge, s.bits, b)
	}
	for ; ; b++ {
		longest = s.MaxLen(b)
		need, last := d.Need(longest), d.Fixed || b == s.bits
		if 2*need <= left || last && need <= left {
			return b, longest, nil
		}
		if last {
			return 0, 0, fmt.Errorf("%w: the largest of 2^%d shards has %d keys and takes %d bytes to build, there are %d: give more memory",
				bloomery.ErrTooLarge, b, longest/max(d.Each, 1), need, left)
		}
	}
}

// overhead returns the bytes that the lists of runs take.
func (s *Spill) overhead() (n uint64) {
	for _, runs := range s.parts {
		n += uint64(cap(runs)) * runBytes
	}
	return n
}

// Compact drops the duplicates of every part whose different hashes fit into
// so many bytes of memory. Others stay as they are. It reads all that was
// flushed, and writes again what it drops duplicates from.
func (s *Spill) Compact(ctx context.Context, memory uint64) error {
	if s.KeepDuplicates {
		return nil
	}
	longest := s.MaxLen(s.bits)
	buf := make([]uint64, min(memory/8, longest))
	for part := range s.parts {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := s.compactPart(part, buf); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spill) compactPart(part int, buf []uint64) error {
	kept := buf[:0]
	for _, r := range s.parts[part] {
		if len(kept)+int(r.n) > len(buf) {
			if kept = Dedupe(kept); len(kept)+int(r.n) > len(buf) {
				return nil
			}
		}
		at := len(kept)
		kept = kept[:at+int(r.n)]
		if err := s.read(kept[at:], r); err != nil {
			return err
		}
	}
	kept = Dedupe(kept)
	dropped := s.counts[part] - uint64(len(kept))
	if dropped == 0 {
		return nil
	}
	runs, err := s.Store(kept)
	if err != nil {
		return err
	}
	s.parts[part] = runs
	s.counts[part] -= dropped
	s.total -= dropped
	s.dropped += dropped
	return nil
}
