package quotient

import (
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

// growingOpening returns the part of c that opens filters.
func (c Config) growingOpening() envelope.Opening {
	return envelope.Opening{Package: "quotient", Config: c, Hasher: c.Hasher, OnHeap: true}
}

// DecodeGrowing returns the Growing that data encodes. Of c only Hasher may
// be set, which is needed for a filter that was made with a secret key or a
// function. The error wraps ErrCorrupt, ErrVersion, ErrIncompatible for another
// kind of filter, ErrKey or ErrParameter.
func (c Config) DecodeGrowing(data []byte) (*Growing, error) {
	return envelope.Decode(c.growingOpening(), "DecodeGrowing", data, (*Growing).load)
}

// load makes g what a source holds; on error g stays as it was.
func (g *segments) load(given hashing.Hasher, from *envelope.Source) error {
	var got segments
	h, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parseGrowing(h, given)
		return err
	})
	if err == nil {
		err = got.fill(h, envelope.BytesOf(words))
	}
	if err == nil && !from.InPlace {
		err = got.verify()
	}
	if err == nil {
		*g = got
	}
	return err
}

// load gives every segment its own memory, since segments come and go. A new filter that was not read is made.
func (g *Growing) load(given hashing.Hasher, from *envelope.Source) error {
	if b, ok := from.Blank(); ok && g.startAs(given, b) {
		return nil
	}
	err := g.segments.load(given, from)
	if err == nil {
		g.segments = g.clone()
	}
	return err
}

// startAs makes g a new filter if that is what b describes. Else it reports false, and g stays as it was.
func (g *Growing) startAs(given hashing.Hasher, b *envelope.Blank) bool {
	got, err := parseGrowing(b.Header, given)
	if err != nil {
		return false
	}
	fresh := Growing{got}
	if q, depth := fresh.firstShape(); b.Header.Size != q.Bits()<<depth || memory.Fits(arrayBytes(q)<<depth) != nil {
		return false
	}
	fresh.start()
	if !b.Is(fresh.header(), fresh.head()) {
		return false
	}
	*g = fresh
	return true
}

// UnmarshalBinary replaces g by the filter that data encodes. If that was made
// with a secret key or a function, g must have been made with the same, see
// Config.DecodeGrowing. On error g stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (g *Growing) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("quotient", data, g.hasher, g.load)
}
