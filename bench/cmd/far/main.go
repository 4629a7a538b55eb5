// Command far measures filters that are built without the number of their keys, filters that are
// asked where they lie, and lists of digests:
//
//	go run ./cmd/far            # all three tables
//	go run ./cmd/far -n 1000000 # a smaller list of digests
//
// Sizes, reads and bits per key are exact; times are of one run.
package main

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/sizing"
)

func main() {
	n := flag.Int("n", 10_000_000, "digests in the list")
	most := flag.Int("max", 4_000_000, "Max of the builders")
	size := flag.Int("size", 128, "MiB of the filters that are asked where they lie")
	flag.Parse()
	for _, table := range []func(io.Writer) error{
		func(w io.Writer) error { return builders(w, *most) },
		func(w io.Writer) error { return distances(w, *size<<20) },
		func(w io.Writer) error { return digests(w, *n) },
	} {
		if err := table(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "far:", err)
			os.Exit(1)
		}
	}
}

// builders prints the size of filters built without n over that of sizing, and the memory that
// was allocated for building over the array for the most keys.
func builders(w io.Writer, most int) error {
	fmt.Fprintf(w, "Built without n at 1%%, Max %d: size over sizing's for the keys\n\n| Max over keys | bloom | standard | split |\n|---|---|---|---|\n", most)
	for _, over := range []float64{1, 1.5, 1.99, 2.5, 3.5, 5.5, 7.01, 7.5, 9, 12, 20, 50, 100, 1000} {
		hs := random(int(float64(most)/over), 1)
		c := bloom.Config{Max: most, ErrorRate: 0.01}
		a, err := built(hs, c.NewBuilder, sizing.Blocked)
		if err != nil {
			return err
		}
		b, err := built(hs, c.NewStandardBuilder, sizing.Standard)
		if err != nil {
			return err
		}
		s, err := built(hs, c.NewSplitBuilder, sizing.Split)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %g | %.3f | %.3f | %.3f |\n", over, a, b, s)
	}
	return nil
}

// built returns the size of a filter built of hashes over the size that they need.
func built[F interface {
	*bloom.Filter | *bloom.Standard | *bloom.Split
}](hs []uint64, start func() (*bloom.Builder[F], error), layout sizing.Layout) (float64, error) {
	b, err := start()
	if err != nil {
		return 0, err
	}
	b.AddHashes(hs)
	f, err := b.Build()
	if err != nil {
		return 0, err
	}
	need, err := layout.Size(uint64(len(hs)), 0.01)
	if err != nil {
		return 0, err
	}
	return float64(any(f).(interface{ Shape() sizing.Shape }).Shape().Bits) / float64(need.Bits), nil
}

// distances prints what lookups in filters of a size read.
func distances(w io.Writer, size int) error {
	fmt.Fprintf(w, "\nAsked where they lie, %d MiB, a gap of 64 KiB: reads and bytes for a key\n\n| kind | keys | reads | bytes |\n|---|---|---|---|\n", size>>20)
	for _, kind := range []string{"bloom", "split", "fuse8", "ribbon"} {
		data, err := encoded(kind, size)
		if err != nil {
			return err
		}
		for _, keys := range []int{1, 1000, 100_000} {
			if err := distance(w, kind, data, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

// encoded returns the encoding of a filter of a kind and of about a size.
func encoded(kind string, size int) ([]byte, error) {
	switch kind {
	case "bloom":
		f, err := bloom.Config{Capacity: size * 8 / 10, Bits: uint64(size) * 8, Hashes: 7}.New()
		if err != nil {
			return nil, err
		}
		return f.MarshalBinary()
	case "split":
		f, err := bloom.Config{Capacity: size * 8 / 10, Bits: uint64(size) * 8, Hashes: 8}.NewSplit()
		if err != nil {
			return nil, err
		}
		return f.MarshalBinary()
	}
	// Static filters are made of an eighth of the keys that the size would take, since they take
	// long to build: their own size stands beside them.
	for _, k := range codec.Kinds() {
		if k.Name == kind {
			f, err := k.Build(random(size/8, 2), 1.0/256, hashing.Hasher{})
			if err != nil {
				return nil, err
			}
			return f.(interface{ MarshalBinary() ([]byte, error) }).MarshalBinary()
		}
	}
	return nil, fmt.Errorf("no kind %s", kind)
}

// distance prints what batches of keys read, and single ones one after the other.
func distance(w io.Writer, kind string, data []byte, keys int) error {
	far, err := codec.At(bytes.NewReader(data))
	if err != nil {
		return err
	}
	reads, read := far.Reads()
	hs := random(max(keys, 1000), 3)
	if keys == 1 {
		for _, h := range hs {
			if _, err := far.AskHash(h); err != nil {
				return err
			}
		}
	} else if err := far.AskHashes(make([]bloomery.Answer, len(hs)), hs); err != nil {
		return err
	}
	r, b := far.Reads()
	fmt.Fprintf(w, "| %s (%d MiB) | %d | %.3f | %.0f |\n", kind, len(data)>>20, keys, float64(r-reads)/float64(len(hs)), float64(b-read)/float64(len(hs)))
	return nil
}

// digests prints what ribbon filters of a list of SHA-1 sums take, as digests and as text.
func digests(w io.Writer, n int) error {
	list := make([]byte, 0, 41*n)
	for i := range n {
		sum := sha1.Sum(strconv.AppendInt(nil, int64(i), 10))
		list = append(hex.AppendEncode(list, sum[:]), '\n')
	}
	fmt.Fprintf(w, "\n%d SHA-1 sums in hex to a ribbon at 1/256, %d processors\n\n| keys | hash, ns a line | build, ns a line | bits a key |\n|---|---|---|---|\n", n, runtime.GOMAXPROCS(0))
	var sum [sha1.Size]byte
	for _, way := range []struct {
		name   string
		hasher hashing.Hasher
		hash   func(line []byte) (uint64, error)
	}{
		{"as text", hashing.Hasher{}, func(line []byte) (uint64, error) { return hashing.Hasher{}.Hash(line), nil }},
		{"as digests", named.Digest(), func(line []byte) (uint64, error) {
			_, err := hex.Decode(sum[:], line)
			return named.DigestHash(sum[:]), err
		}},
	} {
		hs := make([]uint64, 0, n)
		start := time.Now()
		for rest := list; len(rest) > 0; rest = rest[41:] {
			h, err := way.hash(rest[:40])
			if err != nil {
				return err
			}
			hs = append(hs, h)
		}
		hashed := time.Since(start)
		f, err := ribbon.Config{ErrorRate: 1.0 / 256, Hasher: way.hasher}.Build(context.Background(), hs)
		if err != nil {
			return err
		}
		all := time.Since(start)
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %.3f |\n", way.name, float64(hashed)/float64(n), float64(all)/float64(n), float64(f.Stats().Bits)/float64(n))
	}
	return nil
}

// random returns n hashes.
func random(n int, seed uint64) []uint64 {
	rng := rand.New(rand.NewPCG(33, seed))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = rng.Uint64()
	}
	return hs
}
