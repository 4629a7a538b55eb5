// Command tour runs the code of docs/library.md, step by step.
//
//	go run ./examples/tour
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

func main() {
	for _, step := range []func() error{parameters, batches, deletes, corrections, goroutines, files, distant, unsized, static, kinds} {
		if err := step(); err != nil {
			fmt.Fprintln(os.Stderr, "tour:", err)
			os.Exit(1)
		}
	}
}

func parameters() error {
	n, p := 10_000, 0.001 // from a user or a configuration file
	f, err := bloom.Config{Capacity: n, ErrorRate: p}.New()
	if err != nil {
		return err // errors.Is(err, bloomery.ErrParameter)
	}
	if !f.AddString("alice") { // reports whether the key is new
		fmt.Println("alice may have been there before")
	}

	s := f.Stats()
	fmt.Printf("about %d keys, %d bytes, asked %g, now %.2g\n", s.Items, s.Bytes, s.Asked, s.Predicted)
	if s.Predicted > s.Asked {
		fmt.Println("overfilled: make a larger one")
	}
	return nil
}

func batches() error {
	f := bloom.New(1000, 0.01)
	g := bloom.New(1000, 0.01)
	var h hashing.Hasher // the default hash, the same in all filters
	hashes := []uint64{h.HashString("alice"), h.HashString("bob"), h.HashUint64(42)}
	f.AddHashes(nil, hashes) // nil: whether each was new is of no interest
	g.AddHashes(nil, hashes[:1])
	found := make([]bool, len(hashes))
	g.ContainsHashes(found, hashes)
	fmt.Println(found)
	return f.Union(g) // both must have the same shape and hash
}

func deletes() error {
	f, err := cuckoo.Config{Capacity: 1000, ErrorRate: 0.001}.New()
	if err != nil {
		return err
	}
	switch err := f.InsertString("alice"); {
	case errors.Is(err, bloomery.ErrFull):
		fmt.Println("full: nothing changed")
	case err != nil:
		return err
	}
	fmt.Println(f.DeleteString("alice"), f.ContainsString("alice")) // true false
	return nil
}

func corrections() error {
	f := bloom.New(1000, 0.01)
	store := map[string]bool{}
	c, err := compose.NewCorrected(0, f) // from now on keys are inserted by way of c
	if err != nil {
		return err
	}
	found, moment := c.AskString("alice")
	if found && !store["alice"] { // looked up after Ask
		c.Report(moment)
	}
	store["bob"] = true // stored first, inserted then
	if err := c.InsertString("bob"); err != nil {
		return err
	}
	fmt.Println(c.Counts().Held)
	return nil
}

func goroutines() error {
	f := bloom.NewConcurrent(1_000_000, 0.01) // safe for concurrent use
	var wg sync.WaitGroup
	for i := range uint64(4) {
		wg.Go(func() { f.AddHash(hashing.Hasher{}.HashUint64(i)) })
	}
	wg.Wait()
	fmt.Println(f.EstimateCount())
	return nil
}

func files() error {
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "seen.bloom")

	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	if err := file.WriteFile(name, f); err != nil { // the old file or the new one, whatever happens
		return err
	}
	m, err := file.Map(name, codec.Config{}) // open at once, whatever its size
	if err != nil {
		return err // errors.Is(err, bloomery.ErrCorrupt) and so on
	}
	defer m.Close()
	fmt.Println(m.Contains([]byte("alice")))

	g, err := file.Open(name, codec.Config{}) // into memory, to go on with it
	if err != nil {
		return err
	}
	seen, ok := g.(*bloom.Filter) // a file can hold any kind
	if !ok {
		return fmt.Errorf("%s: a %s filter, want bloom", name, g.Stats().Kind)
	}
	seen.AddString("bob")
	return file.WriteFile(name, seen)
}

func distant() error {
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "seen.bloom")
	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	if err := file.WriteFile(name, f); err != nil {
		return err
	}

	r, err := os.Open(name) // or whatever reads parts of a file far away
	if err != nil {
		return err
	}
	defer r.Close()
	far, err := codec.At(r) // reads and checks the header
	if err != nil {
		return err
	}
	answer, err := far.Ask([]byte("alice")) // reads 64 bytes
	if err != nil {
		return err
	}
	fmt.Println(answer.Found, answer.Verified)
	return far.VerifyHashes([]uint64{far.Hash([]byte("alice"))}) // reads the MiB around each, once
}

func unsized() error {
	b, err := bloom.Config{Max: 1_000_000, ErrorRate: 0.01}.NewBuilder()
	if err != nil {
		return err
	}
	b.AddString("alice") // and any number up to Max
	f, err := b.Build()  // of the size that its keys need
	if err != nil {
		return err
	}
	fmt.Println(f.Stats())
	return nil
}

func static() error {
	var h hashing.Hasher
	hashes := []uint64{h.HashString("alice"), h.HashString("bob")}
	f, err := fuse.Build[uint8](hashes) // a set that never changes, at 0.39%
	if err != nil {
		return err
	}
	fmt.Println(f.ContainsString("bob"))
	return nil
}

// seenBefore works with a filter of any kind that keys are added to.
func seenBefore(f interface {
	bloomery.Hashed
	bloomery.Adder
}, h uint64,
) bool {
	return !f.AddHash(h)
}

func kinds() error {
	secret := [16]byte{1, 2, 3} // 16 random bytes that only your program has
	f, err := bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: hashing.Keyed(secret)}.NewStandard()
	if err != nil {
		return err
	}
	h := f.Hash([]byte("alice"))
	fmt.Println(seenBefore(f, h), seenBefore(f, h)) // false true
	return nil
}
