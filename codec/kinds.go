package codec

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// Kind is one kind of filter.
type Kind struct {
	// Number is the kind's number in the header of its encoding.
	Number uint16
	// Name is the kind's name, that of Stats.Kind.
	Name string
	// Features are what filters of the kind can do beside Contains.
	Features Features

	// New returns an empty filter for n keys with false positive rate p. It is
	// nil for static kinds. Errors wrap ErrParameter or ErrTooLarge.
	//
	// A window is for n keys per span, of which a generation has a quarter at
	// most: n keys that are added without Advance are over its rate, 39% at
	// p = 1%. compose.WindowConfig with Burst equal to Generations takes them all.
	New func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error)
	// Build returns a filter with false positive rate p that holds the keys
	// with these hashes, which it may reorder. It is nil for kinds that are not
	// static. Errors are those of New. A map gets the value 0 for every key, and of
	// an exact filter no key is out: ribbon.BuildMap and exact.Build take more.
	Build func(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error)

	// How it is opened, nil for a kind that has members, see Config.decode.
	decode func(c Config, data []byte) (bloomery.Hashed, error)
	read   func(c Config, r io.Reader) (bloomery.Hashed, error)
	view   func(c Config, data []byte) (bloomery.View, error)
	// at is nil for a kind that cannot be asked where it lies.
	at func(c Config, r io.ReaderAt) (bloomery.Far, error)
	// shards is how many shards a header describes; each takes shardBytes
	// beside the payload.
	shards func(h envelope.Header) uint64
}

// Features are the abilities of a kind. The interfaces are those of package
// bloomery.
type Features struct {
	Add    bool // is an Adder
	Insert bool // is an Inserter
	Delete bool // is a Deleter
	Count  bool // is a Counter
	Static bool // is built from all its keys at once and never changes
	Grow   bool // keeps its false positive rate past its capacity by taking more memory
	Forget bool // keeps its false positive rate past its capacity by forgetting the oldest keys
	Expire bool // forgets keys by age, when it is advanced
	Get    bool // is a Getter: keys have values, see Kind.Build
	Out    bool // is built from keys that are out, too, see Kind.Build
}

// kinds is the table of all kinds, in the order of their numbers. A new kind is
// a line here and a golden file; tests, command line and server follow.
var kinds = []Kind{
	asked(opened(Kind{Number: envelope.KindBloom, Name: "bloom", Features: Features{Add: true}, New: ofBits(bloom.Config.New)},
		asBits, bloom.Config.Decode, bloom.Config.Read, bloom.Config.View), asBits, bloom.Config.At),
	asked(opened(Kind{Number: envelope.KindStandard, Name: "standard", Features: Features{Add: true}, New: ofBits(bloom.Config.NewStandard)},
		asBits, bloom.Config.DecodeStandard, bloom.Config.Read, bloom.Config.View), asBits, bloom.Config.At),
	asked(opened(Kind{Number: envelope.KindPartitioned, Name: "partitioned", Features: Features{Add: true}, New: ofBits(bloom.Config.NewPartitioned)},
		asBits, bloom.Config.DecodePartitioned, bloom.Config.Read, bloom.Config.View), asBits, bloom.Config.At),
	asked(opened(Kind{Number: envelope.KindSplit, Name: "split", Features: Features{Add: true}, New: ofBits(bloom.Config.NewSplit)},
		asBits, bloom.Config.DecodeSplit, bloom.Config.Read, bloom.Config.View), asBits, bloom.Config.At),
	opened(Kind{Number: envelope.KindScalable, Name: "scalable", Features: Features{Add: true, Grow: true}, New: ofBits(bloom.Config.NewScalable)},
		asBits, bloom.Config.DecodeScalable, bloom.Config.Read, bloom.Config.View),
	opened(Kind{Number: envelope.KindCounting, Name: "counting", Features: Features{Insert: true, Delete: true, Count: true}, New: ofCounters(counting.Config.New)},
		asCounters, counting.Config.Decode, counting.Config.Read, counting.Config.View),
	opened(Kind{Number: envelope.KindSpectral, Name: "spectral", Features: Features{Insert: true, Count: true}, New: ofCounters(counting.Config.NewSpectral)},
		asCounters, counting.Config.DecodeSpectral, counting.Config.Read, counting.Config.View),
	opened(Kind{Number: envelope.KindStable, Name: "stable", Features: Features{Insert: true, Forget: true}, New: ofCounters(counting.Config.NewStable)},
		asCounters, counting.Config.DecodeStable, counting.Config.Read, counting.Config.View),
	opened(Kind{Number: envelope.KindCuckoo, Name: "cuckoo", Features: Features{Insert: true, Delete: true, Count: true}, New: newCuckoo},
		asSlots, cuckoo.Config.Decode, cuckoo.Config.Read, cuckoo.Config.View),
	opened(Kind{Number: envelope.KindQuotient, Name: "quotient", Features: Features{Insert: true, Delete: true, Count: true}, New: newQuotient},
		asQuotients, quotient.Config.Decode, quotient.Config.Read, quotient.Config.View),
	fused[uint8](envelope.KindFuse8, "fuse8"),
	fused[uint16](envelope.KindFuse16, "fuse16"),
	fused[uint32](envelope.KindFuse32, "fuse32"),
	asked(opened(Kind{
		Number: envelope.KindRibbon, Name: "ribbon", Features: Features{Static: true}, Build: buildRibbon,
		shards: func(h envelope.Header) uint64 { return 1 << min(h.Extra>>8, 63) },
	}, asRibbon, ribbon.Config.Decode, ribbon.Config.Read, ribbon.Config.View), asRibbon, ribbon.Config.At),
	opened(Kind{Number: envelope.KindGrowing, Name: "growing", Features: Features{Insert: true, Delete: true, Count: true, Grow: true}, New: newGrowing},
		asGrowing, quotient.Config.DecodeGrowing, quotient.Config.Read, quotient.Config.View),
	opened(Kind{Number: envelope.KindWindow, Name: "window", Features: Features{Add: true, Expire: true}, New: newWindow},
		asWindow, compose.WindowConfig.Decode, compose.WindowConfig.Read, compose.WindowConfig.View),
	{Number: envelope.KindQuorum, Name: "quorum", Features: Features{Insert: true}, New: newQuorum},
	asked(opened(Kind{
		Number: envelope.KindMap, Name: "map", Features: Features{Static: true, Get: true}, Build: buildMap,
		shards: func(h envelope.Header) uint64 { return 1 << min(h.Extra>>8&0xff, 63) },
	}, asRibbon, ribbon.Config.DecodeMap, ribbon.Config.ReadMap, ribbon.Config.View), asRibbon, ribbon.Config.At),
	opened(Kind{
		Number: envelope.KindExact, Name: "exact", Features: Features{Static: true, Out: true}, Build: buildExact,
		shards: func(h envelope.Header) uint64 { return 1 << min(h.Extra>>8, 63) },
	}, asExact, exact.Config.Decode, exact.Config.Read, exact.Config.View),
}

// striped is opened like the kinds of the table and is not one of them: its family
// is that of its members.
var striped = Kind{Number: envelope.KindStriped, Name: "striped"}

// corrected is another such: its family is that of its filter.
var corrected = Kind{Number: envelope.KindCorrected, Name: "corrected", shards: correctedTables}

// correctedTables returns what the tables of reports take beside them, in shards: half
// as much again as what is not the array of the filter.
func correctedTables(h envelope.Header) uint64 {
	return (h.Payload - min(h.Payload, h.Size/8)) / 2 / shardBytes
}

// layers is another such: its families are those of its filters.
var layers = Kind{Number: envelope.KindLayers, Name: "layers"}

// Kinds returns a copy of the table of all kinds of filters, in the order of
// their numbers. Four are not among them: a bloom.Sliced is many filters in one, and
// answers with a set of columns; a compose.Striped, a compose.Corrected and
// compose.Layers have the abilities of the filters that they are made of, which are of
// these kinds. Open reads the latter three.
func Kinds() []Kind { return slices.Clone(kinds) }

// How the families are opened.
func asBits(c Config) bloom.Config         { return bloom.Config{Hasher: c.Hasher, Alloc: c.Alloc} }
func asCounters(c Config) counting.Config  { return counting.Config{Hasher: c.Hasher, Alloc: c.Alloc} }
func asSlots(c Config) cuckoo.Config       { return cuckoo.Config{Hasher: c.Hasher, Alloc: c.Alloc} }
func asQuotients(c Config) quotient.Config { return quotient.Config{Hasher: c.Hasher, Alloc: c.Alloc} }
func asRibbon(c Config) ribbon.Config      { return ribbon.Config{Hasher: c.Hasher, Alloc: c.Alloc} }
func asExact(c Config) exact.Config        { return exact.Config{Hasher: c.Hasher, Alloc: c.Alloc} }
func asWindow(c Config) compose.WindowConfig {
	return compose.WindowConfig{Hasher: c.Hasher, Alloc: c.Alloc}
}

// asGrowing has no Alloc: the segments of a growing filter come and go, and lie
// on the Go heap.
func asGrowing(c Config) quotient.Config { return quotient.Config{Hasher: c.Hasher} }

// opened returns the entry of a kind with the ways to open it.
func opened[C any, F, R bloomery.Hashed](
	k Kind, config func(Config) C,
	decode func(C, []byte) (F, error), read func(C, io.Reader) (R, error), view func(C, []byte) (bloomery.View, error),
) Kind {
	k.decode = func(c Config, data []byte) (bloomery.Hashed, error) { return envelope.Hashed(decode(config(c), data)) }
	k.read = func(c Config, r io.Reader) (bloomery.Hashed, error) { return envelope.Hashed(read(config(c), r)) }
	k.view = func(c Config, data []byte) (bloomery.View, error) { return view(config(c), data) }
	return k
}

// asked returns the entry of a kind that can be asked where it lies.
func asked[C any](k Kind, config func(Config) C, at func(C, io.ReaderAt) (bloomery.Far, error)) Kind {
	k.at = func(c Config, r io.ReaderAt) (bloomery.Far, error) { return at(config(c), r) }
	return k
}

// ofBits makes filters of package bloom.
func ofBits[F bloomery.Hashed](create func(bloom.Config) (F, error)) func(int, float64, hashing.Hasher) (bloomery.Hashed, error) {
	return func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return envelope.Hashed(create(bloom.Config{Capacity: n, ErrorRate: p, Hasher: h}))
	}
}

// ofCounters makes filters of package counting.
func ofCounters[F bloomery.Hashed](create func(counting.Config) (F, error)) func(int, float64, hashing.Hasher) (bloomery.Hashed, error) {
	return func(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		return envelope.Hashed(create(counting.Config{Capacity: n, ErrorRate: p, Hasher: h}))
	}
}

func newCuckoo(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	return envelope.Hashed(cuckoo.Config{Capacity: n, ErrorRate: p, Hasher: h}.New())
}

func newQuotient(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	return envelope.Hashed(quotient.Config{Capacity: n, ErrorRate: p, Hasher: h}.New())
}

func newWindow(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	return envelope.Hashed(compose.WindowConfig{Capacity: n, ErrorRate: p, Hasher: h}.New())
}

func newQuorum(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	return envelope.Hashed(compose.QuorumConfig{Capacity: n, ErrorRate: p, Hasher: h}.New())
}

func newGrowing(n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	return envelope.Hashed(quotient.Config{Capacity: n, ErrorRate: p, Hasher: h}.NewGrowing())
}

func buildRibbon(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	return envelope.Hashed(ribbon.Config{ErrorRate: p, Hasher: h}.Build(context.Background(), hashes))
}

func buildMap(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	if p == 1 { // which maps of nothing but values have
		return nil, fmt.Errorf("codec: build: %w: error rate 1", bloomery.ErrParameter)
	}
	return envelope.Hashed(ribbon.Config{ErrorRate: p, ValueBits: 1, Hasher: h}.BuildMap(context.Background(), hashes, make([]uint32, len(hashes))))
}

func buildExact(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	if p == 0 { // which is the default of a Config
		return nil, fmt.Errorf("codec: build: %w: error rate 0", bloomery.ErrParameter)
	}
	return envelope.Hashed(exact.Config{ErrorRate: p, Hasher: h}.Build(context.Background(), hashes, nil))
}

// fused returns the entry of a kind of package fuse.
func fused[T fuse.Fingerprint](number uint16, name string) Kind {
	k := Kind{
		Number: number, Name: name, Features: Features{Static: true},
		shards: func(h envelope.Header) uint64 { return 1 << min(h.Extra, 63) },
	}
	k.Build = func(hashes []uint64, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
		if p == 0 { // which is the default of a Config
			return nil, fmt.Errorf("codec: build: %w: error rate 0", bloomery.ErrParameter)
		}
		return envelope.Hashed(fuse.Config[T]{ErrorRate: p, Hasher: h}.Build(context.Background(), hashes))
	}
	config := func(c Config) fuse.Config[T] { return fuse.Config[T]{Hasher: c.Hasher, Alloc: c.Alloc} }
	return asked(opened(k, config, fuse.Config[T].Decode, fuse.Config[T].Read, fuse.Config[T].View), config, fuse.Config[T].At)
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
	switch number {
	case striped.Number:
		return striped, nil
	case corrected.Number:
		return corrected, nil
	case layers.Number:
		return layers, nil
	}
	for _, k := range kinds {
		if k.Number == number {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("%w: a filter of kind %d, which this program does not know", bloomery.ErrVersion, number)
}
