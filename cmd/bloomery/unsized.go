// How build sizes a filter in one pass, without a temporary file.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/memory"
)

// unsizedKind reports whether a kind can be sized when all lines are read.
func unsizedKind(k codec.Kind) bool {
	return k.Name == "bloom" || k.Name == "standard" || k.Name == "split"
}

// countedShare is the part of --max-memory that hashes may take. If there are more, the other
// part becomes the filter for all keys that it can hold.
const countedShare = 2

// unsized is a filter whose lines are not counted yet.
type unsized interface {
	AddHashes(hs []uint64)
	Full() bool
	build() (bloomery.Hashed, error)
}

// unsizedOf is a Builder of a kind.
type unsizedOf[F interface {
	*bloom.Filter | *bloom.Standard | *bloom.Split
}] struct{ *bloom.Builder[F] }

func (u unsizedOf[F]) build() (bloomery.Hashed, error) {
	f, err := u.Build()
	if err != nil {
		return nil, about("", err)
	}
	return any(f).(bloomery.Hashed), nil
}

func unsizedOr[F *bloom.Filter | *bloom.Standard | *bloom.Split](b *bloom.Builder[F], err error) (unsized, error) {
	if err != nil {
		return nil, about("", err)
	}
	return unsizedOf[F]{b}, nil
}

var errMaxKind = errors.New("--max is for the kinds bloom, standard and split")

// start begins a filter, of which c says how large it may become.
func (b *builder) start(c bloom.Config) (unsized, error) {
	c.ErrorRate, c.Headroom, c.Hasher = b.rate, b.headroom, b.hasher
	switch b.kind.Name {
	case "bloom":
		return unsizedOr(c.NewBuilder())
	case "standard":
		return unsizedOr(c.NewStandardBuilder())
	case "split":
		return unsizedOr(c.NewSplitBuilder())
	}
	return nil, errMaxKind
}

// errMore ends a build: the lines are more than can be had at the rate.
var errMore = fmt.Errorf("%w: more different keys have come", errLimit)

// add adds lines to a filter, if they are not too many.
func (b *builder) add(set unsized, hs []uint64) error {
	set.AddHashes(hs)
	if set.Full() && !b.force {
		return errMore
	}
	return nil
}

// finish returns a filter that has all lines.
func (b *builder) finish(set unsized) (bloomery.Hashed, error) {
	f, err := set.build()
	if err != nil {
		return nil, err
	}
	b.added = min(f.Stats().Items, b.lines)
	return f, nil
}

// unsized makes a filter in one pass, in the memory of one for the most keys that can come.
func (b *builder) unsized(ctx context.Context) (bloomery.Hashed, error) {
	if b.most > math.MaxInt {
		return nil, fmt.Errorf("%w: %d keys", bloomery.ErrTooLarge, b.most)
	}
	set, err := b.start(bloom.Config{Max: int(b.most)})
	if err != nil {
		return nil, err
	}
	err = b.read(ctx, func(hs []uint64) error { return b.add(set, hs) })
	if errors.Is(err, errMore) {
		return nil, hinted{fmt.Errorf("%w than --max %s allows at %s", err, grouped(b.most), rateText(b.rate)),
			"build it with a larger --max, or without it, or --force writes it all the same"}
	}
	if err != nil {
		return nil, err
	}
	return b.finish(set)
}

// overflowing reads all lines. Their hashes are in the spool if they are few: then it returns no
// filter. Else it makes one in the memory that is left.
func (b *builder) overflowing(ctx context.Context) (bloomery.Hashed, error) {
	var set unsized
	limit := min(uint64(b.memory), memory.Limit()/2)
	err := b.read(ctx, func(hs []uint64) (err error) {
		switch {
		case set != nil:
			return b.add(set, hs)
		case 8*(b.spool.total+uint64(len(hs))) <= limit/countedShare:
			return b.spool.add(hs)
		}
		if set, err = b.start(bloom.Config{Bits: 8 * (limit - limit/countedShare)}); err != nil {
			return err
		}
		for i, part := range b.spool.parts {
			set.AddHashes(part)
			b.spool.parts[i] = nil
		}
		return b.add(set, hs)
	})
	if errors.Is(err, errMore) {
		return nil, hinted{fmt.Errorf("%w than there is room for in --max-memory, %s, at %s", err, bytesText(limit), rateText(b.rate)),
			"give --estimate, which counts keys in a temporary file, or more memory, or --force writes the filter all the same"}
	}
	if err != nil || set == nil {
		return nil, err
	}
	return b.finish(set)
}
