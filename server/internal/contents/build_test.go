package contents

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// books are the memory of a node: what is set aside, and a word whenever some is given back.
type books struct {
	mu   sync.Mutex
	held uint64
	back chan struct{}
}

func (b *books) Reserve(n uint64) bool { b.Claim(n); return true }

func (b *books) Claim(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
}

func (b *books) Release(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	select {
	case b.back <- struct{}{}:
	default:
	}
}

// settled waits until nothing is set aside.
func (b *books) settled(t *testing.T) {
	t.Helper()
	over := time.After(time.Minute)
	for {
		b.mu.Lock()
		held := b.held
		b.mu.Unlock()
		if held == 0 {
			return
		}
		select {
		case <-b.back:
		case <-over:
			t.Fatalf("%d bytes were never given back", held)
		}
	}
}

// sealable returns a part whose draft becomes a static filter of so many keys.
func sealable(t *testing.T, keys int) (*Supply, *books, *Part, *Draft) {
	t.Helper()
	s, b := &Supply{}, &books{back: make(chan struct{}, 1)}
	s.Init()
	s.SetMemory(b)
	kinds := codec.Kinds()
	fuse8 := &kinds[slices.IndexFunc(kinds, func(k codec.Kind) bool { return k.Name == "fuse8" })]
	parts, err := s.Drafts(AppendStatic(nil, &Plan{}, fuse8, hashing.Seeded(0), uint64(keys), 1.0/256), 0, "k", func(int, *Plan) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	d := parts[0].(*Draft)
	hashes := make([]uint64, keys)
	for i := range hashes {
		hashes[i] = hashing.Seeded(0).HashUint64(uint64(i))
	}
	var res Outcome
	if d.Feed(hashes, math.MaxUint64, &res); res.Err != nil {
		t.Fatal(res.Err)
	}
	return s, b, NewPart(d), d
}

// TestSealedAgain asks that a draft that another attempt seals gives back what was built for the one
// before, and that this one has ended then.
func TestSealedAgain(t *testing.T) {
	const keys = 1000
	s, b, p, d := sealable(t, keys)
	for attempt := range uint64(3) {
		attempt++
		d.Seal(s, attempt)
		if items, done, err := s.AwaitBuilt(p, attempt, nil); items != keys || !done || err != nil {
			t.Fatalf("attempt %d has built %d items: %t, %v", attempt, items, done, err)
		}
		d.Seal(s, attempt-1) // which is over
		if _, _, err := s.AwaitBuilt(p, attempt-1, nil); !errors.Is(err, ErrRetry) {
			t.Errorf("attempt %d goes on beside %d: %v", attempt-1, attempt, err)
		}
	}
	if !p.Sealed(2) || p.Sealed(3) || d.Ready() {
		t.Error("a record opens a draft if it knows that the last attempt has ended, and only then")
	}
	p.Discard()
	b.settled(t)
}

// TestSettled asks that what was built takes the draft's place, and that nothing stays set aside.
func TestSettled(t *testing.T) {
	const keys = 1000
	s, b, p, d := sealable(t, keys)
	d.Seal(s, 1)
	before := p.Bytes()
	if grown, err := s.Settle(p); err != nil || int64(p.Bytes()-before) != grown || p.Contents().Stats().Items != keys {
		t.Errorf("grown by %d of %d to %d bytes, %d items: %v", grown, before, p.Bytes(), p.Contents().Stats().Items, err)
	}
	b.settled(t)
}
