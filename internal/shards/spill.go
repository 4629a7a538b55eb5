package shards

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/bloomery/bloomery"
)

const (
	// usualBits is how fine a stream is cut if nobody asks for more shards:
	// 1,024 parts.
	usualBits = 10
	// A block is what is written at once: large enough that disks are fast,
	// and small enough that one for each part is little memory.
	minBlock, maxBlock = 4 << 10, 64 << 10
	// MinMemory is the least memory that a Spill can do with.
	MinMemory = 2 * minBlock

	// defaultAllowed is the memory of a stream whose user does not say, and
	// minAllowed the least that it may be.
	defaultAllowed = 1 << 30
	minAllowed     = 1 << 20

	// checkEvery is after how many hashes a stream looks whether it was
	// cancelled and reports its progress.
	checkEvery = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Run is a piece of the scratch file. The checksum shows whether it comes back
// as it was written.
type Run struct {
	at  int64
	n   uint32 // words, at most maxBlock/8
	sum uint32
}

const runBytes = 16

// Spill takes a stream of hashes and gives it back shard by shard. Between,
// the hashes lie in a Scratch. First all are added by one goroutine, then
// Flush is called, then shards are loaded.
//
// Duplicates are dropped where they meet: in a buffer before it is written, and
// by Cut in shards that are too long. Others come back with Load.
//
// Load, Store and Payload are safe for concurrent use; all others need
// exclusion.
type Spill struct {
	// KeepDuplicates says that hashes come back as often as they were added. It
	// is set before the first one.
	KeepDuplicates bool

	scratch Scratch
	bits    uint
	block   int      // words of a buffer
	buffer  []uint64 // one block for each part
	fill    []int32  // words in each
	parts   [][]Run  // what is written of each
	counts  []uint64 // hashes in each
	total   uint64
	dropped uint64
	blocks  sync.Pool // *[]byte of maxBlock

	mu  sync.Mutex
	end int64 // of what is written
}

// Allowed returns the memory that the build from a stream may take, given what
// its user said, 0 for nothing. The error wraps ErrParameter if it is too
// little, or if there is no scratch.
func Allowed(scratch Scratch, memory int) (int, error) {
	if memory == 0 {
		memory = defaultAllowed
	}
	switch {
	case scratch == nil:
		return 0, fmt.Errorf("%w: there is no Scratch", bloomery.ErrParameter)
	case memory < minAllowed:
		return 0, fmt.Errorf("%w: %d bytes of memory are not at least %d", bloomery.ErrParameter, memory, minAllowed)
	}
	return memory, nil
}

// NewSpill returns a Spill that writes to scratch. Its buffers take at most
// the given number of bytes, which is at least MinMemory. There can be 2^bits
// shards if the memory has a block of 4 KiB for each, see Bits.
func NewSpill(scratch Scratch, memory int, bits uint) *Spill {
	s := &Spill{scratch: scratch, bits: min(max(bits, usualBits), MaxBits)}
	for s.bits > 1 && memory>>s.bits < minBlock {
		s.bits--
	}
	s.block = min(max(memory>>s.bits, minBlock), maxBlock) / 8 &^ 1 // whole pairs
	s.buffer = make([]uint64, s.block<<s.bits)
	s.fill = make([]int32, 1<<s.bits)
	s.parts = make([][]Run, 1<<s.bits)
	s.counts = make([]uint64, 1<<s.bits)
	s.blocks.New = func() any { b := make([]byte, maxBlock); return &b }
	return s
}

// Add takes one hash.
func (s *Spill) Add(h uint64) error {
	part := bloomery.Route(h, s.bits)
	at := int(s.fill[part])
	s.buffer[part*s.block+at] = h
	s.fill[part]++
	if at+1 < s.block {
		return nil
	}
	// A buffer that was full of duplicates goes on being filled.
	if s.dedupe(part) <= s.block*3/4 {
		return nil
	}
	return s.flush(part)
}

// dedupe drops the duplicates in the buffer of a part and returns how many
// hashes are left.
func (s *Spill) dedupe(part int) int {
	all := s.buffer[part*s.block:][:s.fill[part]]
	if s.KeepDuplicates {
		return len(all)
	}
	left := len(Dedupe(all))
	s.dropped += uint64(len(all) - left)
	s.fill[part] = int32(left)
	return left
}

// AddSeq adds all hashes of seq and flushes. progress, which may be nil, is
// called now and then with the number of hashes so far.
func (s *Spill) AddSeq(ctx context.Context, seq iter.Seq[uint64], progress func(read uint64)) error {
	read := uint64(0)
	for h := range seq {
		if read%checkEvery == 0 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if progress != nil {
				progress(read)
			}
		}
		if err := s.Add(h); err != nil {
			return err
		}
		read++
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if progress != nil {
		progress(read)
	}
	return s.Flush()
}

// AddPairs is AddSeq for hashes with a value each. They come back from Load as two
// words, hash and value; counts are of words. KeepDuplicates must be set.
func (s *Spill) AddPairs(ctx context.Context, seq iter.Seq2[uint64, uint32], progress func(read uint64)) error {
	read := uint64(0)
	for h, v := range seq {
		if read%checkEvery == 0 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if progress != nil {
				progress(read)
			}
		}
		part := bloomery.Route(h, s.bits)
		at := part*s.block + int(s.fill[part])
		s.buffer[at], s.buffer[at+1] = h, uint64(v)
		s.fill[part] += 2
		if int(s.fill[part]) == s.block {
			if err := s.flush(part); err != nil {
				return err
			}
		}
		read++
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if progress != nil {
		progress(read)
	}
	return s.Flush()
}

// Flush writes what is left in the buffers and gives up their memory. No hash
// can be added afterwards.
func (s *Spill) Flush() error {
	for part := range s.fill {
		s.dedupe(part)
		if err := s.flush(part); err != nil {
			return err
		}
	}
	s.buffer = nil
	return nil
}

// flush writes the buffer of a part.
func (s *Spill) flush(part int) error {
	words := s.buffer[part*s.block:][:s.fill[part]]
	if len(words) == 0 {
		return nil
	}
	r, err := s.write(words)
	if err != nil {
		return err
	}
	s.parts[part] = append(s.parts[part], r)
	s.counts[part] += uint64(r.n)
	s.total += uint64(r.n)
	s.fill[part] = 0
	return nil
}

// Total returns the number of hashes that were flushed. Duplicates that were
// not dropped yet are included.
func (s *Spill) Total() uint64 { return s.total }

// Dropped returns the number of duplicates that were dropped.
func (s *Spill) Dropped() uint64 { return s.dropped }

// Bits returns how fine the stream is cut: there can be at most 2^Bits shards.
func (s *Spill) Bits() uint { return s.bits }

// Len returns the number of hashes in shard i of 2^b, see Total.
func (s *Spill) Len(i int, b uint) (n uint64) {
	for _, count := range s.counts[i<<(s.bits-b) : (i+1)<<(s.bits-b)] {
		n += count
	}
	return n
}

// MaxLen returns the length of the longest of 2^b shards.
func (s *Spill) MaxLen(b uint) (n uint64) {
	for i := range 1 << b {
		n = max(n, s.Len(i, b))
	}
	return n
}

// Load appends the hashes of shard i of 2^b to dst, in the order in which
// their blocks were written. b is at most Bits.
func (s *Spill) Load(dst []uint64, i int, b uint) ([]uint64, error) {
	dst = slices.Grow(dst, int(s.Len(i, b)))
	for _, part := range s.parts[i<<(s.bits-b) : (i+1)<<(s.bits-b)] {
		for _, r := range part {
			n := len(dst)
			dst = dst[:n+int(r.n)]
			if err := s.read(dst[n:], r); err != nil {
				return dst[:n], err
			}
		}
	}
	return dst, nil
}

// Store writes words to the scratch file.
func (s *Spill) Store(words []uint64) ([]Run, error) {
	runs := make([]Run, 0, (len(words)+maxBlock/8-1)/(maxBlock/8))
	for len(words) > 0 {
		n := min(len(words), maxBlock/8)
		r, err := s.write(words[:n])
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
		words = words[n:]
	}
	return runs, nil
}

// write appends words, at most maxBlock/8, to the scratch file.
func (s *Spill) write(words []uint64) (Run, error) {
	block := s.blocks.Get().(*[]byte)
	defer s.blocks.Put(block)
	b := (*block)[:8*len(words)]
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	s.mu.Lock()
	r := Run{at: s.end, n: uint32(len(words)), sum: crc32.Checksum(b, castagnoli)}
	s.end += int64(len(b))
	s.mu.Unlock()
	if n, err := s.scratch.WriteAt(b, r.at); err != nil {
		return Run{}, fmt.Errorf("scratch: write at %d: %w", r.at, err)
	} else if n < len(b) {
		return Run{}, fmt.Errorf("scratch: write at %d: %w", r.at, io.ErrShortWrite)
	}
	return r, nil
}

// read reads a run into words.
func (s *Spill) read(words []uint64, r Run) error {
	block := s.blocks.Get().(*[]byte)
	defer s.blocks.Put(block)
	buf := (*block)[:8*r.n]
	n, err := s.scratch.ReadAt(buf, r.at)
	switch {
	case n < len(buf) && (err == nil || errors.Is(err, io.EOF)):
		return fmt.Errorf("scratch: read at %d: %w: %d bytes instead of %d", r.at, bloomery.ErrCorrupt, n, len(buf))
	case n < len(buf):
		return fmt.Errorf("scratch: read at %d: %w", r.at, err)
	}
	if got := crc32.Checksum(buf, castagnoli); got != r.sum {
		return fmt.Errorf("scratch: read at %d: %w: checksum is %08x, should be %08x", r.at, bloomery.ErrCorrupt, got, r.sum)
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(buf[8*i:])
	}
	return nil
}

// Payload returns head, if it is not empty, and behind it what the runs of all
// shards hold, in pieces. It ends with the first error.
func (s *Spill) Payload(head []uint64, shards [][]Run) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		if len(head) > 0 && !yield(head, nil) {
			return
		}
		words := make([]uint64, maxBlock/8)
		for _, runs := range shards {
			for _, r := range runs {
				err := s.read(words[:r.n], r)
				if !yield(words[:r.n], err) || err != nil {
					return
				}
			}
		}
	}
}
