// States: what was seen, written for the next run.

package dedupe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/sizing"
)

// A state is what a Seen or an Exact has seen, for the next run. Numbers are
// little-endian. That of a Seen, version 1:
//
//	 0  magic "BLMSEEN" and the version, 1
//	 8  what follows: 1 hashes, 2 a filter
//	 9  bits per key of the filter, 0 without
//	10  1 if the hash 0 was seen
//	16  fingerprint of the key: columns and delimiter
//	24  number of hashes that were new
//	32  expected number of new ones that were taken for old, up to the next number; a float64
//	40  number of hashes that were new when the rate was looked at last
//	48  number of words that follow
//	56  CRC-32C of the 56 bytes before
//	64  the words: hashes other than 0 in ascending order, or the filter's blocks
//	    CRC-32C of the words, 4 bytes
//
// That of an Exact, version 2, has 3 for hashes of 128 bits at 8, the seed of the
// hashes at 32, zeros at 9 to 15 and 40, and two words for each hash, in
// ascending order, the upper word first.
const (
	stateMagic   = "BLMSEEN"
	stateVersion = 1
	exactVersion = 2
	stateHead    = 64
	stateSummed  = 56
	kindHashes   = 1
	kindFilter   = 2
	kindPairs    = 3
	chunkWords   = 8192
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fingerprint differs for keys that make other hashes of the same lines.
func fingerprint(k *lines.Key) uint64 {
	if k.Whole() {
		return 0
	}
	return hashing.Hasher{}.HashString(k.String())
}

// WriteState writes the state of s, made with keys of this kind. One history
// gives one state, byte for byte.
func (s *Seen) WriteState(w io.Writer, k lines.Key) error {
	var err error
	if s.filter != nil {
		err = s.writeState(w, k, kindFilter, s.set.words[:s.set.most])
	} else {
		err = s.set.sorted(func(hs []uint64) error { return s.writeState(w, k, kindHashes, hs) })
	}
	if err != nil {
		return fmt.Errorf("dedupe: write state: %w", err)
	}
	return nil
}

func (s *Seen) writeState(w io.Writer, k lines.Key, kind byte, words []uint64) error {
	head := make([]byte, stateHead)
	copy(head, stateMagic)
	head[7], head[8] = stateVersion, kind
	if kind == kindFilter {
		head[9] = byte(s.k)
	}
	if s.set.zero {
		head[10] = 1
	}
	binary.LittleEndian.PutUint64(head[16:], fingerprint(&k))
	binary.LittleEndian.PutUint64(head[24:], uint64(s.n))
	binary.LittleEndian.PutUint64(head[32:], math.Float64bits(s.wrong))
	binary.LittleEndian.PutUint64(head[40:], uint64(s.last))
	return writeWords(w, head, words)
}

// writeWords writes a header, of which only the number of words and the checksum
// are missing, and the words.
func writeWords(w io.Writer, head []byte, words []uint64) error {
	binary.LittleEndian.PutUint64(head[48:], uint64(len(words)))
	binary.LittleEndian.PutUint32(head[stateSummed:], crc32.Checksum(head[:stateSummed], castagnoli))
	if _, err := w.Write(head); err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	w = io.MultiWriter(w, sum)
	buf := make([]byte, 0, chunkWords*8)
	for len(words) > 0 {
		n := min(chunkWords, len(words))
		buf = buf[:0]
		for _, x := range words[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, x)
		}
		words = words[n:]
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// ReadState returns a Seen that goes on where the one that wrote the state was.
// Hashes that do not fit into memory any more go to a filter; a filter that
// does not is refused. Errors wrap ErrCorrupt, ErrVersion, ErrIncompatible if
// the keys were other ones, ErrTooLarge, ErrParameter, or are those of r.
func (c Config) ReadState(r io.Reader, k lines.Key) (*Seen, error) {
	s, err := c.readState(r, k)
	if err != nil {
		return nil, fmt.Errorf("dedupe: read state: %w", err)
	}
	return s, nil
}

// stateHeader is the header of a state, understood.
type stateHeader struct {
	kind  byte
	k     int
	zero  bool
	n     uint64
	wrong float64
	last  uint64
	words uint64
}

func (c Config) readState(r io.Reader, k lines.Key) (*Seen, error) {
	h, err := readHeader(r, k)
	if err != nil {
		return nil, err
	}
	s, err := c.empty()
	if err != nil {
		return nil, err
	}
	in := &wordReader{r: r, left: h.words}
	if h.kind == kindFilter {
		err = s.readFilter(in, h)
	} else {
		err = s.readHashes(in, h, c.Expected)
	}
	if err == nil {
		err = in.check()
	}
	return s, err
}

// readHead reads a header and checks what all versions have in common.
func readHead(r io.Reader, k lines.Key, version byte) (head [stateHead]byte, err error) {
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return head, cutOff(err)
	}
	switch {
	case string(head[:7]) != stateMagic:
		return head, fmt.Errorf("%w: not a dedupe state", bloomery.ErrCorrupt)
	case head[7] != stateVersion && head[7] != exactVersion:
		return head, fmt.Errorf("%w: state of version %d", bloomery.ErrVersion, head[7])
	case binary.LittleEndian.Uint32(head[stateSummed:]) != crc32.Checksum(head[:stateSummed], castagnoli):
		return head, fmt.Errorf("%w: checksum of the header", bloomery.ErrCorrupt)
	case head[7] != version:
		return head, fmt.Errorf("%w: %w", bloomery.ErrIncompatible, ErrOtherState)
	case binary.LittleEndian.Uint64(head[16:]) != fingerprint(&k):
		return head, fmt.Errorf("%w: the state was made with other columns or another delimiter", bloomery.ErrIncompatible)
	}
	return head, nil
}

// ErrOtherState means a state of a Seen where one of an Exact is needed, or the
// other way round.
var ErrOtherState = errors.New("a state with a rate and one without are not the same")

func readHeader(r io.Reader, k lines.Key) (h stateHeader, err error) {
	head, err := readHead(r, k, stateVersion)
	if err != nil {
		return h, err
	}
	h = stateHeader{
		kind: head[8], k: int(head[9]), zero: head[10] == 1,
		n:     binary.LittleEndian.Uint64(head[24:]),
		wrong: math.Float64frombits(binary.LittleEndian.Uint64(head[32:])),
		last:  binary.LittleEndian.Uint64(head[40:]),
		words: binary.LittleEndian.Uint64(head[48:]),
	}
	known := h.words
	if h.zero {
		known++
	}
	switch {
	case h.kind != kindHashes && h.kind != kindFilter, head[10] > 1, !(h.wrong >= 0 && h.wrong <= math.MaxFloat64), h.n > math.MaxInt/2, h.last > h.n,
		h.kind == kindHashes && h.n != known:
		return h, fmt.Errorf("%w: header that makes no sense", bloomery.ErrCorrupt)
	}
	return h, nil
}

// WriteState writes the state of e, which must be open and keep hashes. One
// history with one seed gives one state, byte for byte.
func (e *Exact) WriteState(w io.Writer) error {
	head := make([]byte, stateHead)
	copy(head, stateMagic)
	head[7], head[8] = exactVersion, kindPairs
	binary.LittleEndian.PutUint64(head[16:], fingerprint(&e.Key))
	binary.LittleEndian.PutUint64(head[24:], uint64(e.pairs.n))
	binary.LittleEndian.PutUint64(head[32:], e.Seed)
	err := e.pairs.sorted(func(words []uint64) error { return writeWords(w, head, words) })
	if err != nil {
		return fmt.Errorf("dedupe: write state: %w", err)
	}
	return nil
}

// ReadState makes e, which must be open, keep hashes and be empty, go on where
// the one that wrote the state was, with its seed. Errors wrap ErrCorrupt,
// ErrVersion, ErrIncompatible, ErrTooLarge if the hashes do not fit into
// memory, or are those of r; then e is of no use any more.
func (e *Exact) ReadState(r io.Reader) error {
	if err := e.readState(r); err != nil {
		return fmt.Errorf("dedupe: read state: %w", err)
	}
	return nil
}

func (e *Exact) readState(r io.Reader) error {
	head, err := readHead(r, e.Key, exactVersion)
	if err != nil {
		return err
	}
	n, words := binary.LittleEndian.Uint64(head[24:]), binary.LittleEndian.Uint64(head[48:])
	if head[8] != kindPairs || n > math.MaxInt64/2 || words != 2*n || binary.LittleEndian.Uint64(head[40:]) != 0 {
		return fmt.Errorf("%w: header that makes no sense", bloomery.ErrCorrupt)
	}
	if room := uint64(e.pairs.room()); n > room {
		return fmt.Errorf("%w: the state has %d hashes, there is room for %d", bloomery.ErrTooLarge, n, room)
	}
	e.Seed = binary.LittleEndian.Uint64(head[32:])
	in := &wordReader{r: r, left: words}
	var some [chunkWords / 8]uint64
	var last hash
	for in.left > 0 {
		got, err := in.read(some[:])
		if err != nil {
			return err
		}
		for i := 0; i < got; i += 2 {
			h := hash{Hi: some[i], Lo: some[i+1]}
			if !less(last.Hi, last.Lo, h.Hi, h.Lo) {
				return fmt.Errorf("%w: hashes are not in order", bloomery.ErrCorrupt)
			}
			last = h
			if _, ok := e.pairs.add(h); !ok {
				return fmt.Errorf("%w: hashes that collide", bloomery.ErrTooLarge)
			}
		}
	}
	return in.check()
}

// readFilter takes the filter of a state, at the size that it has there.
func (s *Seen) readFilter(in *wordReader, h stateHeader) error {
	if h.words > s.set.most {
		return fmt.Errorf("%w: the filter takes %d bytes, there is room for %d", bloomery.ErrTooLarge, h.words*8, s.set.most*8)
	}
	shape := sizing.Shape{Layout: sizing.Blocked, Bits: h.words * 64, K: h.k}
	if err := shape.Valid(); err != nil {
		return fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	s.set.most = h.words
	s.shape(shape)
	if h.n-h.last >= uint64(s.step) {
		return fmt.Errorf("%w: header that makes no sense", bloomery.ErrCorrupt)
	}
	if err := s.change(); err != nil {
		return err
	}
	s.set.zero = h.zero
	s.n, s.wrong = int(h.n), h.wrong
	s.last, s.next = int(h.last), int(h.last)+s.step
	for words := s.set.words[:h.words]; len(words) > 0; {
		n, err := in.read(words)
		if err != nil {
			return err
		}
		words = words[n:]
	}
	return nil
}

// readHashes takes the hashes of a state.
func (s *Seen) readHashes(in *wordReader, h stateHeader, expected int) error {
	if err := s.expect(expected); err != nil {
		return err
	}
	var hs [chunkWords / 8]uint64
	var fresh [chunkWords / 8]bool
	last := uint64(0)
	for in.left > 0 {
		n, err := in.read(hs[:])
		if err != nil {
			return err
		}
		for _, x := range hs[:n] {
			if x <= last {
				return fmt.Errorf("%w: hashes are not in order", bloomery.ErrCorrupt)
			}
			last = x
		}
		s.AddHashes(fresh[:], hs[:n])
	}
	if h.zero {
		s.AddHashes(fresh[:], []uint64{0})
	}
	if s.filter != nil {
		// These hashes counted as new when they came: what the filter lost of
		// them on the way in was no line.
		s.n, s.wrong = int(h.n), collisions(int(h.n))
		s.last, s.next = s.n, s.n+s.step
	}
	return nil
}

// wordReader reads the words of a state and sums them up.
type wordReader struct {
	r    io.Reader
	left uint64
	sum  uint32
	buf  [chunkWords * 8]byte
}

// read reads some words, at most those that are left.
func (r *wordReader) read(words []uint64) (int, error) {
	n := int(min(uint64(len(words)), r.left, chunkWords))
	b := r.buf[:n*8]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return 0, cutOff(err)
	}
	r.sum = crc32.Update(r.sum, castagnoli, b)
	for i := range words[:n] {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	r.left -= uint64(n)
	return n, nil
}

// check compares the checksum, and asks for the end behind it.
func (r *wordReader) check() error {
	b := r.buf[:5]
	switch n, err := io.ReadFull(r.r, b); {
	case err == nil:
		return fmt.Errorf("%w: bytes behind the end", bloomery.ErrCorrupt)
	case n != 4:
		return cutOff(err)
	case binary.LittleEndian.Uint32(b) != r.sum:
		return fmt.Errorf("%w: checksum", bloomery.ErrCorrupt)
	}
	return nil
}

// cutOff returns the error of a state that could not be read: ErrCorrupt if it is
// too short.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: truncated", bloomery.ErrCorrupt)
	}
	return err
}
