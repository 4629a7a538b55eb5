package codec

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// maxOutline bounds the words of an outline: those of an empty filter, of any kind
// and size, are fewer.
const maxOutline = 1 << 16

// Outline is the encoding of a filter without its zeros and checksums: a filter
// that holds no keys in some 80 bytes, however large it is. It describes how to
// make such filters.
type Outline struct {
	blank envelope.Blank
	kind  Kind
}

// AppendOutline appends the outline of f, which holds no keys, to dst. It reads
// the whole array. The error wraps ErrTooLarge if there are keys in f, and
// ErrIncompatible if it has no encoding.
func AppendOutline(dst []byte, f bloomery.Hashed) ([]byte, error) {
	from, ok := f.(io.WriterTo)
	if !ok {
		return dst, fmt.Errorf("codec: outline: %w: a %T has no encoding", bloomery.ErrIncompatible, f)
	}
	var s sketcher
	if _, err := from.WriteTo(&s); err != nil {
		return dst, fmt.Errorf("codec: outline: %w", err)
	}
	dst = append(dst, s.head...)
	dst = binary.AppendUvarint(dst, uint64(len(s.words)))
	last := uint64(0)
	for _, w := range s.words {
		dst = binary.AppendUvarint(dst, w.Index-last)
		dst = binary.LittleEndian.AppendUint64(dst, w.Value)
		last = w.Index
	}
	return dst, nil
}

// ParseOutline reads an outline. The error wraps ErrCorrupt or ErrVersion.
func ParseOutline(data []byte) (Outline, error) {
	var o Outline
	var err error
	if o.blank.Header, err = envelope.ParseHeader(data); err == nil {
		o.kind, err = kindOf(o.blank.Header.Kind)
	}
	if err == nil {
		err = o.parseWords(data[envelope.HeaderSize:])
	}
	if err != nil {
		return Outline{}, fmt.Errorf("codec: outline: %w", err)
	}
	return o, nil
}

func (o *Outline) parseWords(rest []byte) error {
	n, used := binary.Uvarint(rest)
	if used <= 0 || n > maxOutline || n > uint64(len(rest)) {
		return fmt.Errorf("%w: outline of %d words in %d bytes", bloomery.ErrCorrupt, n, len(rest))
	}
	rest = rest[used:]
	o.blank.Words = make([]envelope.Word, n)
	last := uint64(0)
	for i := range o.blank.Words {
		step, used := binary.Uvarint(rest)
		if used <= 0 || len(rest)-used < 8 || last+step < last || i > 0 && step == 0 {
			return fmt.Errorf("%w: word %d of an outline", bloomery.ErrCorrupt, i)
		}
		last += step
		o.blank.Words[i] = envelope.Word{Index: last, Value: binary.LittleEndian.Uint64(rest[used:])}
		rest = rest[used+8:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes behind the outline", bloomery.ErrCorrupt, len(rest))
	}
	return nil
}

// Kind returns the kind of the filter.
func (o *Outline) Kind() Kind { return o.kind }

// Bytes returns the memory of the filter's arrays.
func (o *Outline) Bytes() uint64 { return o.blank.Header.Payload }

// Make returns an empty filter with the shape of an outline. It costs the memory
// of its arrays and next to no time. Errors are those of Open.
func (c Config) Make(o *Outline) (bloomery.Hashed, error) {
	if err := c.allow(o.kind, o.blank.Header); err != nil {
		return nil, fmt.Errorf("codec: make: %w", err)
	}
	blank := o.blank
	switch {
	case o.kind.read != nil:
		return o.kind.read(c, &blank)
	case o.kind.Number == envelope.KindQuorum:
		return envelope.Hashed(compose.MakeQuorum(&blank, c.makeMember))
	}
	// The encodings of members are in the payload, with checksums of their own.
	h := o.blank.Header
	words := make([]uint64, h.Payload/8)
	for _, w := range o.blank.Words {
		if w.Index >= uint64(len(words)) {
			return nil, fmt.Errorf("codec: make: %w: word %d of a payload of %d bytes", bloomery.ErrCorrupt, w.Index, h.Payload)
		}
		words[w.Index] = w.Value
	}
	return c.decode(o.kind, envelope.Append(nil, h, words))
}

// makeMember is member for what is not read.
func (c Config) makeMember(b *envelope.Blank) (bloomery.Hashed, error) {
	k, err := kindOf(b.Header.Kind)
	if err == nil {
		err = k.memberOf()
	}
	if err == nil {
		err = c.allow(k, b.Header)
	}
	if err != nil {
		return nil, err
	}
	return k.read(c, b)
}

// sketcher is a writer that keeps the header of an encoding and the words of its
// payload that are not zero.
type sketcher struct {
	head   []byte
	header envelope.Header
	part   []byte // of a word
	index  uint64 // of the next word
	words  []envelope.Word
}

func (s *sketcher) Write(b []byte) (int, error) {
	all := len(b)
	if missing := envelope.HeaderSize - len(s.head); missing > 0 {
		n := min(missing, len(b))
		s.head, b = append(s.head, b[:n]...), b[n:]
		if n < missing {
			return all, nil
		}
		var err error
		if s.header, err = envelope.ParseHeader(s.head); err != nil {
			return 0, err
		}
	}
	for len(s.part) > 0 && len(b) > 0 {
		s.part, b = append(s.part, b[0]), b[1:]
		if len(s.part) == 8 {
			s.word(binary.LittleEndian.Uint64(s.part))
			s.part = s.part[:0]
		}
	}
	for ; len(b) >= 8; b = b[8:] {
		if w := binary.LittleEndian.Uint64(b); w != 0 {
			s.word(w)
		} else {
			s.index++
		}
	}
	s.part = append(s.part, b...)
	if len(s.words) > maxOutline {
		return 0, fmt.Errorf("%w: there are keys in the filter", bloomery.ErrTooLarge)
	}
	return all, nil
}

// word takes the next word. The checksums behind the payload are left out.
func (s *sketcher) word(w uint64) {
	if s.index < s.header.Payload/8 && w != 0 {
		s.words = append(s.words, envelope.Word{Index: s.index, Value: w})
	}
	s.index++
}

// Hash returns how the filter hashes keys: the kind of hash function, and the seed
// of XXH3 or the fingerprint of another.
func (o *Outline) Hash() (kind hashing.Kind, check uint64) {
	return o.blank.Header.Hash, o.blank.Header.Check
}

// Header is what the start of an encoding shows of a filter: what is needed to open it.
type Header struct {
	Kind Kind
	// Hash is the hash function, Check the seed of XXH3 or the fingerprint of
	// another.
	Hash  hashing.Kind
	Check uint64
}

// Peek returns the Header of the filter whose plain encoding starts with data; its
// first 64 bytes are enough. The error wraps ErrCorrupt or ErrVersion, and
// ErrIncompatible if the data is in another form or sealed.
func Peek(data []byte) (Header, error) {
	switch form := formOf(data); {
	case form != FormPlain:
		return Header{}, fmt.Errorf("codec: peek: %w: %s form, want the plain form", bloomery.ErrIncompatible, form)
	case Sealed(data):
		return Header{}, fmt.Errorf("codec: peek: %w: the data is sealed", bloomery.ErrIncompatible)
	}
	h, err := envelope.ParseHeader(data)
	if err != nil {
		return Header{}, fmt.Errorf("codec: peek: %w", err)
	}
	k, err := kindOf(h.Kind)
	if err != nil {
		return Header{}, fmt.Errorf("codec: peek: %w", err)
	}
	return Header{k, h.Hash, h.Check}, nil
}
