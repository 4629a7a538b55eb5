// What tests see of the package: a disk that becomes full.

package dedupe

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"syscall"
)

// SetDisk gives an Exact another temporary folder.
func SetDisk(e *Exact, d *FullDisk) {
	e.newDisk = func(string) (disk, error) { return d, nil }
}

// FullDisk is a folder in memory with room for so many bytes.
type FullDisk struct {
	Closed bool
	Broken error // of all reads from the one with number From on, if it is not nil
	From   int
	Reads  int
	Files  int // created so far
	Most   int // files that can be created, 0 for any number
	room   int
	files  map[string]*bytes.Buffer
	opened int
}

// NewFullDisk returns an empty FullDisk.
func NewFullDisk(room int) *FullDisk {
	return &FullDisk{room: room, files: map[string]*bytes.Buffer{}}
}

// Open returns how many files are open.
func (d *FullDisk) Open() int { return d.opened }

func (d *FullDisk) create(name string) (io.WriteCloser, error) {
	if d.Files++; d.Most > 0 && d.Files > d.Most {
		return nil, &fs.PathError{Op: "open", Path: "secret", Err: syscall.ENFILE}
	}
	d.files[name] = &bytes.Buffer{}
	d.opened++
	return &fullFile{d, d.files[name]}, nil
}

func (d *FullDisk) open(name string) (io.ReadCloser, error) {
	f, ok := d.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	d.opened++
	return &fullFile{d, f}, nil
}

func (d *FullDisk) remove(name string) error {
	delete(d.files, name)
	return nil
}

func (d *FullDisk) close() error {
	d.Closed = true
	return nil
}

type fullFile struct {
	d *FullDisk
	*bytes.Buffer
}

func (f *fullFile) Write(b []byte) (int, error) {
	if f.d.room -= len(b); f.d.room < 0 {
		return 0, &fs.PathError{Op: "write", Path: "secret", Err: syscall.ENOSPC}
	}
	return f.Buffer.Write(b)
}

func (f *fullFile) Read(b []byte) (int, error) {
	if f.d.Reads++; f.d.Broken != nil && f.d.Reads > f.d.From {
		return 0, f.d.Broken
	}
	return f.Buffer.Read(b)
}

func (f *fullFile) Close() error {
	f.d.opened--
	return nil
}

// FilterBytes returns the filter of s as a state holds it.
func FilterBytes(s *Seen) []byte { return bytesOf(s.set.words[:s.set.most]) }

// Taken returns the memory that an open Exact has, and that of its file buffers.
func Taken(e *Exact) (arena, buffers int) { return len(e.arena), (1<<e.bits + spareFiles) * e.buffer }

// Reseal makes the checksums of a state right, so that fuzzing comes behind
// them.
func Reseal(data []byte) {
	if len(data) < stateHead+4 {
		return
	}
	binary.LittleEndian.PutUint32(data[stateSummed:], crc32.Checksum(data[:stateSummed], castagnoli))
	end := len(data) - 4
	binary.LittleEndian.PutUint32(data[end:], crc32.Checksum(data[stateHead:end], castagnoli))
}

// Pairs is a pairSet of its own.
type Pairs struct{ s pairSet }

// NewPairs returns an empty set in so many words.
func NewPairs(words int) *Pairs { return &Pairs{newPairSet(make([]uint64, words))} }

// AddAll adds hashes, given by their halves, and returns how many had room.
func (p *Pairs) AddAll(fresh []bool, hs [][2]uint64) int {
	return p.s.addAll(fresh, hashesOf(hs))
}

// Contains reports whether a hash is in the set.
func (p *Pairs) Contains(h [2]uint64) bool { return p.s.contains(hash{Hi: h[0], Lo: h[1]}) }

// Sorted returns all hashes in ascending order.
func (p *Pairs) Sorted() (hs [][2]uint64) {
	_ = p.s.sorted(func(words []uint64) error {
		for i := 0; i < len(words); i += 2 {
			hs = append(hs, [2]uint64{words[i], words[i+1]})
		}
		return nil
	})
	return hs
}

// Room returns how many hashes fit.
func (p *Pairs) Room() int { return p.s.room() }

// Clear empties the set; Clean reports whether nothing is left of it then.
func (p *Pairs) Clear() (clean bool) {
	p.s.clear()
	for _, w := range p.s.words {
		if w != 0 {
			return false
		}
	}
	return p.s.n == 0
}

// Shorts is a shortSet of its own.
type Shorts struct{ s *shortSet }

// NewShorts returns an empty set in so many words.
func NewShorts(words int) (*Shorts, error) {
	w, err := array(words)
	return &Shorts{newShortSet(w)}, err
}

// AddAll adds hashes, given by their halves, and returns how many had room.
func (p *Shorts) AddAll(fresh []bool, hs [][2]uint64) int { return p.s.addAll(fresh, hashesOf(hs)) }

// Contains reports whether a hash is in the set.
func (p *Shorts) Contains(h [2]uint64) bool {
	found := make([]bool, 1)
	p.s.containsAll(found, hashesOf([][2]uint64{h}))
	return found[0]
}

// Bits returns how many bits of a hash the set compares.
func (p *Shorts) Bits() int { return 72 + int(p.s.bits) }

// Size returns the bytes that are in use.
func (p *Shorts) Size() int { return p.s.size << p.s.bits * line }

// Clear empties the set; clean reports whether nothing is left of it then.
func (p *Shorts) Clear() (clean bool) {
	p.s.clear()
	for _, b := range p.s.buckets {
		if b != (bucket{}) {
			return false
		}
	}
	return p.s.n == 0
}

func hashesOf(hs [][2]uint64) []hash {
	sums := make([]hash, len(hs))
	for i, h := range hs {
		sums[i] = hash{Hi: h[0], Lo: h[1]}
	}
	return sums
}

// Numbers writes numbers to a file of a disk, with the hash 7 each if hashes are
// wanted, and returns what is read of it.
func Numbers(d *FullDisk, numbers []uint64, hashes bool) (got []uint64, err error) {
	e := &Exact{buffer: leastFile}
	SetDisk(e, d)
	w, err := e.create()
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		put := w.putNumber
		if hashes {
			put = func(n uint64) error { return w.putHash(n, hash{Hi: 7}) }
		}
		if err := put(n); err != nil {
			return nil, err
		}
	}
	if err := e.finish(w); err != nil {
		return nil, err
	}
	if hashes {
		return got, e.eachHash(context.Background(), w.name, func(_ []hash, numbers []uint64) error {
			got = append(got, numbers...)
			return nil
		})
	}
	all, err := e.openNumbers([]string{w.name})
	for i := 0; err == nil && all.heads[0] != none; i++ {
		got = append(got, all.heads[0])
		err = all.advance(0)
	}
	return got, err
}

// contains reports whether a hash is in the set.
func (s *pairSet) contains(h hash) bool {
	h = stored(h)
	near := s.near(h.Hi)
	for i := 0; i+1 < len(near); i += 2 {
		hi, lo := near[i], near[i+1]
		if hi == h.Hi && lo == h.Lo {
			return true
		}
		if hi|lo == 0 {
			return false
		}
	}
	return false
}

// clear removes all hashes and gives the set its first size again.
func (s *pairSet) clear() {
	clear(s.words[:2*(s.slots+s.slack)])
	s.n = 0
	s.resize(min(firstSlots, s.most))
}

// Room returns how many hashes can be kept as they are.
func (s *Seen) Room() int { return s.set.room() }

// Memory returns the size of the array in bytes, all that a Seen keeps.
func (s *Seen) Memory() int { return len(s.set.words) * 8 }
