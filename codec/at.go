package codec

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/far"
	"github.com/bloomery/bloomery/internal/memory"
)

// At returns the filter whose plain encoding begins at the first byte of r, to be asked where it
// lies: in a file, in a part of one (io.SectionReader), or behind a network. It reads and checks the
// header, and the directory of a static filter. Kinds bloom, split, standard, partitioned, fuse
// ribbon and map can be asked so; for others, and for a transport form, the error wraps
// ErrIncompatible. Of c Alloc must not be set; Limits bounds the memory for the directory and for
// the checksums, not the size of the filter. Other errors are those of Open, or those of r.
func (c Config) At(r io.ReaderAt) (bloomery.Far, error) {
	if c.Alloc != nil {
		return nil, fmt.Errorf("codec: at: %w: Alloc is set, which At does not use", bloomery.ErrParameter)
	}
	k, p, err := c.peek(r)
	if err != nil {
		return nil, fmt.Errorf("codec: at: %w", err)
	}
	return k.at(c, p)
}

// At is Config.At with the zero Config.
func At(r io.ReaderAt) (bloomery.Far, error) { return Config{}.At(r) }

// peek returns the kind of the filter that r holds, and a reader that knows its header.
func (c Config) peek(r io.ReaderAt) (Kind, *far.Peeked, error) {
	p, err := far.Peek(r, func(head []byte) error {
		if form := formOf(head); form != FormPlain || Sealed(head) {
			return fmt.Errorf("%w: only the plain form can be asked where it lies", bloomery.ErrIncompatible)
		}
		return nil
	})
	if err != nil {
		return Kind{}, nil, err
	}
	k, err := kindOf(p.Header.Kind)
	switch {
	case err != nil:
		return Kind{}, nil, err
	case k.at == nil:
		return Kind{}, nil, fmt.Errorf("%w: a filter of kind %s cannot be asked where it lies, open it", bloomery.ErrIncompatible, k.Name)
	}
	return k, p, c.allowFar(k, p.Header)
}

// allowFar is allow for a filter that stays where it is.
func (c Config) allowFar(k Kind, h envelope.Header) error {
	limit := memory.Limit()
	if c.Limits.Bytes > 0 {
		limit = min(limit, c.Limits.Bytes)
	}
	need := h.TableSize()
	if k.shards != nil {
		need += min(k.shards(h), 1<<50) * shardBytes
	}
	if need > limit {
		return fmt.Errorf("%w: directory and checksums take %d bytes, the limit is %d", bloomery.ErrTooLarge, need, limit)
	}
	return nil
}
