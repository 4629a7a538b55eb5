package far

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/shards"
)

const (
	// batch is how many keys of a call are under way at once: it bounds memory, at some
	// lines for each.
	batch = 16384
	// gap is how far apart lines may lie that are read in one go: what a request across a
	// network costs, 1 to 10 ms, is 64 KiB at 50 to 500 Mbit a second.
	gap = 64 << 10
	// longest is how much is read in one go.
	longest = 4 << 20
	// readers is how many reads are under way at once.
	readers = 8
)

var _ bloomery.Far = (*Filter)(nil)

// Filter implements bloomery.Far.
type Filter struct {
	found  Found
	header envelope.Header
	in     reader
	front  []byte
	pkg    string

	mu       sync.Mutex      // guards all below
	cache    cache           // lines that were read last
	verified map[uint64]bool // the numbers of the chunks that agreed with their checksums
	sums     envelope.Sums   // nil until they are needed
}

// counts counts reads and their bytes.
type counts struct{ reads, bytes atomic.Uint64 }

func (c *counts) add(bytes uint64) {
	c.reads.Add(1)
	c.bytes.Add(bytes)
}

// Hash implements bloomery.Far.
func (f *Filter) Hash(key []byte) uint64 { return f.found.Hasher.Hash(key) }

// Stats implements bloomery.Far.
func (f *Filter) Stats() bloomery.Stats { return f.found.Stats }

// Reads implements bloomery.Far.
func (f *Filter) Reads() (reads, bytes uint64) {
	return f.in.count.reads.Load(), f.in.count.bytes.Load()
}

// Ask implements bloomery.Far.
func (f *Filter) Ask(key []byte) (bloomery.Answer, error) { return f.AskHash(f.Hash(key)) }

// AskHash implements bloomery.Far.
func (f *Filter) AskHash(h uint64) (bloomery.Answer, error) {
	var a [1]bloomery.Answer
	err := f.AskHashes(a[:], []uint64{h})
	return a[0], err
}

// AskKeys implements bloomery.Far.
func (f *Filter) AskKeys(dst []bloomery.Answer, keys [][]byte) error {
	hs := make([]uint64, len(keys))
	f.found.Hasher.HashKeys(hs, keys)
	return f.AskHashes(dst, hs)
}

// AskHashes implements bloomery.Far.
func (f *Filter) AskHashes(dst []bloomery.Answer, hs []uint64) error {
	dst = dst[:len(hs):len(dst)]
	return f.about("ask", f.each(hs, false, func(i int, a bloomery.Answer) { dst[i] = a }))
}

// VerifyHashes implements bloomery.Far.
func (f *Filter) VerifyHashes(hs []uint64) error {
	err := f.verifyFront()
	if err == nil {
		err = f.each(hs, true, func(int, bloomery.Answer) {})
	}
	return f.about("verify", err)
}

// each looks hashes up, strictly or not, sorted, as their places are in most kinds: those whose
// lines lie close together are under way together.
func (f *Filter) each(hs []uint64, strict bool, answer func(i int, a bloomery.Answer)) error {
	order := make([]int, len(hs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(hs[i], hs[j]) })
	for part := range slices.Chunk(order, batch) {
		if err := f.part(hs, part, strict, answer); err != nil {
			return err
		}
	}
	return nil
}

// part looks some of the hashes up. A round looks at what is here and reads what is missing:
// most kinds know all places of a key at once, and take one.
func (f *Filter) part(hs []uint64, part []int, strict bool, answer func(i int, a bloomery.Answer)) error {
	sound, fetch := f.frontVerified(), f.fetch
	if strict {
		fetch = f.fetchVerified
	}
	p := Parts{f: f, held: map[uint64]line{}, strict: strict}
	for len(part) > 0 {
		p.missing = p.missing[:0]
		open := part[:0]
		for _, i := range part {
			p.verified = sound
			found, known := f.found.Has(&p, hs[i])
			switch {
			case p.beyond:
				return fmt.Errorf("%w: a key lies behind the end of the payload", bloomery.ErrCorrupt)
			case known:
				answer(i, bloomery.Answer{Found: found, Verified: p.verified})
			default:
				open = append(open, i)
			}
		}
		if part = open; len(part) == 0 {
			break
		}
		slices.Sort(p.missing)
		if err := fetch(slices.Compact(p.missing), p.held); err != nil {
			return err
		}
	}
	return nil
}

// span is a part of the payload that is read in one go, for some lines.
type span struct {
	from, to uint64 // bytes
	lines    []uint64
}

// spans groups sorted lines into spans.
func (f *Filter) spans(lines []uint64) []span {
	var list []span
	for i, n := range lines {
		from, to := n*lineBytes, min((n+1)*lineBytes, f.header.Payload)
		if last := len(list) - 1; last >= 0 && from-list[last].to <= gap && to-list[last].from <= longest {
			s := &list[last]
			s.to, s.lines = to, s.lines[:len(s.lines)+1]
			continue
		}
		list = append(list, span{from, to, lines[i : i+1 : len(lines)]})
	}
	return list
}

// fetch reads lines, which are sorted.
func (f *Filter) fetch(lines []uint64, held map[uint64]line) error {
	spans := f.spans(lines)
	return shards.Each(context.Background(), len(spans), readers, func(_, i int) error {
		s := spans[i]
		data := make([]byte, s.to-s.from)
		if err := f.in.full(data, envelope.HeaderSize+s.from); err != nil {
			return err
		}
		f.keep(s, data, held)
		return nil
	})
}

// keep keeps the lines of a span whose bytes have been read.
func (f *Filter) keep(s span, data []byte, held map[uint64]line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range s.lines {
		part := data[n*lineBytes-s.from:]
		part = part[:min(len(part), lineBytes)]
		l := line{verified: f.verified[chunkOf(n)]}
		envelope.GetWords(l.words[:len(part)/8], part)
		held[n] = l
		f.cache.put(n, l)
	}
}

// cached returns a line that was read lately.
func (f *Filter) cached(number uint64) (line, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.cache.lines[number]
	return l, ok
}

// about says what failed.
func (f *Filter) about(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", f.pkg, op, err)
}

// Verify implements bloomery.Far.
func (f *Filter) Verify() error {
	chunks := (f.header.Payload + envelope.ChunkSize - 1) / envelope.ChunkSize
	for i := range chunks {
		if _, err := f.verify(i); err != nil {
			return f.about("verify", err)
		}
	}
	return nil
}

// verifyFront verifies the chunks that lookups depend on, whatever they look for.
func (f *Filter) verifyFront() error {
	for i := range f.frontChunks() {
		if f.isVerified(i) {
			continue
		}
		if _, err := f.verify(i); err != nil {
			return err
		}
	}
	return nil
}

// frontChunks returns how many chunks the front lies in.
func (f *Filter) frontChunks() uint64 {
	return (uint64(len(f.front)) + envelope.ChunkSize - 1) / envelope.ChunkSize
}

// frontVerified reports whether all of the front is verified.
func (f *Filter) frontVerified() bool {
	for i := range f.frontChunks() {
		if !f.isVerified(i) {
			return false
		}
	}
	return true
}

// isVerified reports whether a chunk agreed with its checksum.
func (f *Filter) isVerified(chunk uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.verified[chunk]
}

// fetchVerified is fetch by whole chunks, which are verified if they have not been before.
func (f *Filter) fetchVerified(lines []uint64, held map[uint64]line) error {
	for len(lines) > 0 {
		chunk, n := chunkOf(lines[0]), 1
		for n < len(lines) && chunkOf(lines[n]) == chunk {
			n++
		}
		if f.isVerified(chunk) {
			if err := f.fetch(lines[:n], held); err != nil {
				return err
			}
		} else {
			data, err := f.verify(chunk)
			if err != nil {
				return err
			}
			f.keep(span{from: chunk * envelope.ChunkSize, lines: lines[:n]}, data, held)
		}
		lines = lines[n:]
	}
	return nil
}

// chunkOf returns the chunk that a line lies in.
func chunkOf(line uint64) uint64 { return line * lineBytes / envelope.ChunkSize }

// verify reads a chunk and compares it with its checksum.
func (f *Filter) verify(chunk uint64) ([]byte, error) {
	sums, err := f.table()
	if err != nil {
		return nil, err
	}
	from := chunk * envelope.ChunkSize
	data := make([]byte, min(envelope.ChunkSize, f.header.Payload-from))
	if err := f.in.full(data, envelope.HeaderSize+from); err != nil {
		return nil, err
	}
	if err := f.header.CheckChunk(sums, chunk, data); err != nil {
		return nil, err
	}
	if from < uint64(len(f.front)) {
		front := f.front[from:]
		if n := min(len(front), len(data)); !bytes.Equal(front[:n], data[:n]) {
			return nil, fmt.Errorf("%w: the front of the payload is not what it was when the filter was opened", bloomery.ErrCorrupt)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verified[chunk] = true
	return data, nil
}

// table returns the checksums, which are read once.
func (f *Filter) table() (envelope.Sums, error) {
	f.mu.Lock()
	sums := f.sums
	f.mu.Unlock()
	if sums != nil {
		return sums, nil
	}
	data, err := f.in.all(envelope.HeaderSize+f.header.Payload, f.header.TableSize())
	if err == nil {
		sums, err = envelope.OpenSums(data)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums = sums
	return sums, nil
}
