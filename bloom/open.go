package bloom

import (
	"io"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// open checks header and lengths of one encoding of the given kind.
func open(data []byte, kind uint16, layout sizing.Layout, given hashing.Hasher) (base, envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return base{}, sealed, err
	}
	b, err := parse(sealed.Header, kind, layout, given)
	return b, sealed, err
}

// read reads and checks one encoding of the given kind, and no byte more.
func read(r io.Reader, kind uint16, layout sizing.Layout, given hashing.Hasher) (b base, words []uint64, n int64, err error) {
	_, words, n, err = envelope.Read(r, func(h envelope.Header) (err error) {
		b, err = parse(h, kind, layout, given)
		return err
	})
	return b, words, n, err
}
