package codec

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Compress appends to dst the transport form of data, the encoding of a
// filter. It is never more than 20 bytes and 4 per 64 KiB longer than data; at
// 10% fill it has 0.48 of the bytes. The error wraps ErrCorrupt or ErrVersion
// if data is not an encoding or is damaged; dst is then returned as it was.
func Compress(dst, data []byte) ([]byte, error) {
	p := packer{preface: packPreface(), out: envelope.Apart(dst, data)}
	if err := p.all(data); err != nil {
		return dst, fmt.Errorf("codec: compress: %w", err)
	}
	return p.out, nil
}

// Decompress appends to dst the encoding whose transport form is data. Memory
// grows with data, up to the size in the filter's header. The error wraps
// ErrCorrupt, ErrVersion or ErrTooLarge; dst is then returned as it was.
func Decompress(dst, data []byte) ([]byte, error) {
	r := bytes.NewReader(data)
	u := unpacker{r: r, form: FormTransport}
	out, err := u.all(envelope.Apart(dst, data), r)
	if err != nil {
		return dst, fmt.Errorf("codec: decompress: %w", err)
	}
	return out, nil
}

// fit refuses filters that are larger than the limit, before they are decoded.
func (l Limits) fit(h envelope.Header) error {
	limit := l.most()
	if h.EncodedSize() > limit || h.EncodedSize() > math.MaxInt {
		return fmt.Errorf("%w: payload of %d bytes, the limit is %d bytes", bloomery.ErrTooLarge, h.Payload, limit)
	}
	return nil
}
