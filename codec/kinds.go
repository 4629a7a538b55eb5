package codec

import (
	"context"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
)

// Kind is one kind of filter. What it says of hashers is for filters whose
// hasher is not in their encoding: those with a secret key or a function.
type Kind struct {
	// Number is the kind's number in the header of its encoding.
	Number uint16
	// Name is the kind's name, as Stats tells it.
	Name string
	// Features tells what filters of the kind can do beside Contains.
	Features Features

	// New returns an empty filter for n keys at error rate p. It is nil for
	// static kinds. Errors wrap ErrParameter or ErrTooLarge.
	New func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error)
	// Build returns a filter at error rate p that holds the keys with these
	// hashes, which it may reorder. It is nil for kinds that are not static.
	// Errors are those of New.
	Build func(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error)
	// Decode returns the filter that data encodes. Errors wrap ErrCorrupt,
	// ErrVersion, ErrIncompatible or ErrKey.
	Decode func(data []byte, h hashing.Hasher) (bloomery.Hashed, error)
	// Read reads one encoding from r and no byte more. Errors are those of
	// Decode, ErrTooLarge, or those of r.
	Read func(r io.Reader, h hashing.Hasher) (bloomery.Hashed, error)
	// View returns a filter that is read where it lies in data; errors are
	// those of Decode.
	View func(data []byte, h hashing.Hasher) (View, error)
}

// Features are the abilities of a kind. The interfaces are those of package
// bloomery.
type Features struct {
	Add    bool // is an Adder
	Insert bool // is an Inserter
	Delete bool // is a Deleter
	Count  bool // is a Counter
	Static bool // is built from all its keys at once and never changes
	Grow   bool // keeps its error rate past its capacity by taking more memory
	Forget bool // keeps its error rate past its capacity by forgetting the oldest keys
}

// View is a filter that is read where it lies, in a mapped file or a buffer,
// and whose payload was not looked at when it was opened.
type View interface {
	bloomery.Hashed
	// Verify checks the whole payload. The error wraps ErrCorrupt and names
	// the offset of the damage.
	Verify() error
}

// Kinds returns the table of all kinds of filters, in the order of their
// numbers. A bloom.Sliced is not among them: it is many filters, and answers
// with a set of columns.
func Kinds() []Kind {
	return []Kind{
		ofBits(envelope.KindBloom, "bloom", Features{Add: true}, bloom.Config.New, bloom.Config.NewView),
		ofBits(envelope.KindStandard, "standard", Features{Add: true}, bloom.Config.NewStandard, bloom.Config.NewStandardView),
		ofBits(envelope.KindPartitioned, "partitioned", Features{Add: true}, bloom.Config.NewPartitioned, bloom.Config.NewPartitionedView),
		ofBits(envelope.KindSplit, "split", Features{Add: true}, bloom.Config.NewSplit, bloom.Config.NewSplitView),
		ofBits(envelope.KindScalable, "scalable", Features{Add: true, Grow: true}, bloom.Config.NewScalable, bloom.Config.NewScalableView),
		ofCounters(envelope.KindCounting, "counting", Features{Insert: true, Delete: true, Count: true}, counting.Config.New, counting.Config.NewView),
		ofCounters(envelope.KindSpectral, "spectral", Features{Insert: true, Count: true}, counting.Config.NewSpectral, counting.Config.NewSpectralView),
		ofCounters(envelope.KindStable, "stable", Features{Insert: true, Forget: true}, counting.Config.NewStable, counting.Config.NewStableView),
		ofSlots(),
		ofQuotients(),
		ofFuse[uint8](envelope.KindFuse8, "fuse8"),
		ofFuse[uint16](envelope.KindFuse16, "fuse16"),
		ofFuse[uint32](envelope.KindFuse32, "fuse32"),
		ofRibbon(),
	}
}

// sliced is the name of the kind that is not in the table.
const sliced = "sliced"

// nameOf returns the name of the kind with a number, "" if it is not known.
func nameOf(number uint16) string {
	if number == envelope.KindSliced {
		return sliced
	}
	k, _ := kindOf(number) // an unknown one has no name
	return k.Name
}

// kindOf returns the kind with a number. The error wraps ErrVersion, or
// ErrIncompatible for a kind that is not one filter.
func kindOf(number uint16) (Kind, error) {
	if number == envelope.KindSliced {
		return Kind{}, fmt.Errorf("%w: kind %d (%s) is many filters in one, which is opened as a bloom.Sliced", bloomery.ErrIncompatible, number, sliced)
	}
	for _, k := range Kinds() {
		if k.Number == number {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("%w: a filter of kind %d, which this program does not know", bloomery.ErrVersion, number)
}

// decodable is a filter that can be replaced by a decoded one.
type decodable interface {
	bloomery.Hashed
	io.ReaderFrom
	UnmarshalBinary(data []byte) error
}

// ofBits returns the entry of a kind of package bloom, given how it is made and
// how it is viewed.
func ofBits[F decodable, V View](
	number uint16, name string, features Features,
	create func(bloom.Config) (F, error), view func(bloom.Config, []byte) (V, error),
) Kind {
	k := decoded(number, name, features, func(h hashing.Hasher) (F, error) {
		return create(bloom.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h})
	}, func(data []byte, h hashing.Hasher) (V, error) {
		return view(bloom.Config{Hasher: h}, data)
	})
	k.New = func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return hashed(create(bloom.Config{Capacity: n, ErrorRate: p, Hasher: h}))
	}
	return k
}

// ofQuotients returns the entry of package quotient.
func ofQuotients() Kind {
	k := decoded(envelope.KindQuotient, "quotient", Features{Insert: true, Delete: true, Count: true},
		func(h hashing.Hasher) (*quotient.Filter, error) {
			return quotient.Config{Capacity: 1, ErrorRate: 0.5, Hasher: h}.New()
		}, func(data []byte, h hashing.Hasher) (*quotient.View, error) {
			return quotient.Config{Hasher: h}.NewView(data)
		})
	k.New = func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return hashed(quotient.Config{Capacity: n, ErrorRate: p, Hasher: h}.New())
	}
	return k
}

// ofFuse returns the entry of a kind of package fuse.
func ofFuse[T fuse.Fingerprint](number uint16, name string) Kind {
	build := func(hashes []uint64, p float64, h hashing.Hasher) (*fuse.Filter[T], error) {
		return fuse.Config[T]{ErrorRate: p, Hasher: h}.Build(context.Background(), hashes)
	}
	k := decoded(number, name, Features{Static: true}, func(h hashing.Hasher) (*fuse.Filter[T], error) {
		return build(nil, 0, h)
	}, func(data []byte, h hashing.Hasher) (*fuse.View[T], error) {
		return fuse.Config[T]{Hasher: h}.NewView(data)
	})
	k.Build = func(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		if p == 0 { // which stands for the rate of the kind in a Config
			return nil, fmt.Errorf("codec: build: %w: error rate 0", bloomery.ErrParameter)
		}
		return hashed(build(hashes, p, h))
	}
	return k
}

// decoded returns the entry of a kind without the way to make a filter of
// keys. blank returns a small filter with the hasher, into which others are
// decoded.
func decoded[F decodable, V View](
	number uint16, name string, features Features,
	blank func(hashing.Hasher) (F, error), view func([]byte, hashing.Hasher) (V, error),
) Kind {
	return Kind{
		Number:   number,
		Name:     name,
		Features: features,
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := blank(h)
			if err == nil {
				err = f.UnmarshalBinary(data)
			}
			return hashed(f, err)
		},
		Read: func(r io.Reader, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := blank(h)
			if err == nil {
				_, err = f.ReadFrom(r)
			}
			return hashed(f, err)
		},
		View: func(data []byte, h hashing.Hasher) (View, error) {
			v, err := view(data, h)
			if err != nil {
				return nil, err // not a nil pointer in an interface
			}
			return v, nil
		},
	}
}

// hashed returns f, or nil beside an error.
func hashed[F bloomery.Hashed](f F, err error) (bloomery.Hashed, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
