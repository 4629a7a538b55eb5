package shards

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"sync"

	"github.com/bloomery/bloomery"
)

const (
	// maxSpillBits is how fine a stream is cut at most: 1,024 parts.
	maxSpillBits = 10
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
	// cancelled and tells its progress.
	checkEvery = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Run is a piece of the scratch file. The checksum tells whether it comes back
// as it was written.
type Run struct {
	at  int64
	n   int // words
	sum uint32
}

// Spill takes a stream of hashes and gives it back shard by shard. Between,
// the hashes lie in a Scratch. First all are added by one goroutine, then
// Flush is called, then shards are loaded.
//
// Load, Store and Restore are safe for concurrent use; Add and Flush need
// exclusion.
type Spill struct {
	scratch Scratch
	bits    uint
	block   int      // bytes of a buffer
	buffer  []byte   // one block for each part
	fill    []int32  // bytes in each
	parts   [][]Run  // what is written of each
	counts  []uint64 // hashes in each
	total   uint64

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
// the given number of bytes, which is at least MinMemory, and are gone after
// Flush.
func NewSpill(scratch Scratch, memory int) *Spill {
	s := &Spill{scratch: scratch, bits: maxSpillBits}
	for s.bits > 1 && memory>>s.bits < minBlock {
		s.bits--
	}
	s.block = min(max(memory>>s.bits, minBlock), maxBlock) &^ 7
	s.buffer = make([]byte, s.block<<s.bits)
	s.fill = make([]int32, 1<<s.bits)
	s.parts = make([][]Run, 1<<s.bits)
	s.counts = make([]uint64, 1<<s.bits)
	return s
}

// Add takes one hash.
func (s *Spill) Add(h uint64) error {
	part := bloomery.Route(h, s.bits)
	at := s.fill[part]
	binary.LittleEndian.PutUint64(s.buffer[part*s.block+int(at):], h)
	s.fill[part] = at + 8
	if int(at)+8 == s.block {
		return s.flush(part)
	}
	return nil
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

// Flush writes what is left in the buffers and gives up their memory. No hash
// can be added afterwards.
func (s *Spill) Flush() error {
	for part := range s.fill {
		if err := s.flush(part); err != nil {
			return err
		}
	}
	s.buffer = nil
	return nil
}

// flush writes the buffer of a part.
func (s *Spill) flush(part int) error {
	b := s.buffer[part*s.block:][:s.fill[part]]
	if len(b) == 0 {
		return nil
	}
	r, err := s.write(b)
	if err != nil {
		return err
	}
	s.parts[part] = append(s.parts[part], r)
	s.counts[part] += uint64(r.n)
	s.total += uint64(r.n)
	s.fill[part] = 0
	return nil
}

// Total returns the number of hashes, duplicates included, that were flushed.
func (s *Spill) Total() uint64 { return s.total }

// Bits returns how fine the stream is cut: there can be at most 2^Bits shards.
func (s *Spill) Bits() uint { return s.bits }

// Len returns the number of hashes in shard i of 2^b, duplicates included.
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
	buf := make([]byte, s.block)
	for _, part := range s.parts[i<<(s.bits-b) : (i+1)<<(s.bits-b)] {
		for _, r := range part {
			n := len(dst)
			dst = append(dst, make([]uint64, r.n)...)
			if err := s.read(dst[n:], buf, r); err != nil {
				return dst[:n], err
			}
		}
	}
	return dst, nil
}

// Store writes words to the scratch file.
func (s *Spill) Store(words []uint64) ([]Run, error) {
	buf := make([]byte, 0, min(maxBlock, 8*len(words)))
	var runs []Run
	for len(words) > 0 {
		n := min(len(words), maxBlock/8)
		buf = buf[:0]
		for _, w := range words[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, w)
		}
		r, err := s.write(buf)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
		words = words[n:]
	}
	return runs, nil
}

// Restore yields the words of runs, piece by piece; a piece is good until the
// next one. An error is the last that it yields.
func (s *Spill) Restore(runs []Run) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		words, buf := make([]uint64, maxBlock/8), make([]byte, maxBlock)
		for _, r := range runs {
			if err := s.read(words[:r.n], buf, r); err != nil {
				yield(nil, err)
				return
			}
			if !yield(words[:r.n], nil) {
				return
			}
		}
	}
}

// write appends b to the scratch file.
func (s *Spill) write(b []byte) (Run, error) {
	s.mu.Lock()
	r := Run{at: s.end, n: len(b) / 8, sum: crc32.Checksum(b, castagnoli)}
	s.end += int64(len(b))
	s.mu.Unlock()
	if n, err := s.scratch.WriteAt(b, r.at); err != nil {
		return Run{}, fmt.Errorf("scratch: write at %d: %w", r.at, err)
	} else if n < len(b) {
		return Run{}, fmt.Errorf("scratch: write at %d: %w", r.at, io.ErrShortWrite)
	}
	return r, nil
}

// read reads a run into words by way of buf, which is large enough.
func (s *Spill) read(words []uint64, buf []byte, r Run) error {
	buf = buf[:8*r.n]
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

// Payload returns head, and behind it what the runs of all shards hold, in
// pieces. It ends with the first error.
func (s *Spill) Payload(head []uint64, shards [][]Run) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		if !yield(head, nil) {
			return
		}
		for _, runs := range shards {
			for piece, err := range s.Restore(runs) {
				if !yield(piece, err) || err != nil {
					return
				}
			}
		}
	}
}
