package contents

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	bits "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/memory"
)

// slowMemory has the second array that is asked for wait, which is that of the filter, and counts those that are not given back.
type slowMemory struct {
	calls, open atomic.Int64
	wait        chan struct{}
}

func (m *slowMemory) arena() *memory.Arena {
	return &memory.Arena{
		Alloc: func(n int) ([]byte, error) {
			if m.open.Add(1); m.calls.Add(1) == 2 {
				<-m.wait
			}
			return make([]byte, n), nil
		},
		Free: func([]byte) { m.open.Add(-1) },
	}
}

// TestOpensOutsideOfLocks has the opening of a filter wait when the last bytes of it have come: its part can be locked, measured
// and removed meanwhile.
func TestOpensOutsideOfLocks(t *testing.T) {
	data, err := bits.New(1_000_000, 0.01).MarshalBinary()
	if err != nil || len(data) <= openAtOnce {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	for name, c := range map[string]struct {
		damaged, removed bool
		arrays           int64 // that stay
	}{
		"kept": {arrays: 1}, "removed": {removed: true}, "damaged": {damaged: true, arrays: 1}, "damaged and removed": {damaged: true, removed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var taken atomic.Int64
			s, m := &Supply{}, &slowMemory{wait: make(chan struct{})}
			s.Init()
			s.CountIn(&taken)
			s.arena = m.arena()
			parts, err := s.Make(Loaded, AppendPlan(nil, &Plan{}), func(int, *Plan) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			p := NewPart(parts[0])
			before := p.Bytes()
			come := append([]byte(nil), data...)
			if c.damaged {
				come[len(come)/2]++
			}
			began := make(chan *Opening)
			go func() {
				p.Lock()
				defer p.Unlock()
				grown, o, err := s.Fill(p, 0, uint64(len(come)), come)
				if err != nil || grown != int64(len(come)) {
					t.Errorf("grown by %d of %d bytes: %v", grown, len(come), err)
				}
				began <- o
			}()
			var o *Opening
			select {
			case o = <-began:
			case <-time.After(time.Minute):
				t.Fatal("the lock of the part is held while its filter is opened")
			}
			p.Lock()
			n, loads := p.Bytes(), IsLoading(p.Contents())
			p.Unlock()
			if n != before+uint64(len(come)) || !loads {
				t.Errorf("%d bytes, loading %t", n, loads)
			}
			if c.removed {
				p.Leave(false)
			}
			close(m.wait)
			err = o.Wait()
			if c.damaged != errors.Is(err, bloomery.ErrCorrupt) || err != nil && !c.damaged {
				t.Error(err)
			}
			want := int64(0)
			if !c.removed && !c.damaged {
				want = int64(p.Bytes()) - int64(n)
			}
			if got := taken.Load(); got != want || m.open.Load() != c.arrays {
				t.Errorf("%d more bytes are counted, want %d; %d arrays are there, want %d", got, want, m.open.Load(), c.arrays)
			}
			if opened := p.Filter() != nil; opened != (!c.removed && !c.damaged) {
				t.Errorf("opened: %t", opened)
			}
		})
	}
}

// TestFaultOfOpening has a fault in the opening of a filter: it is a refusal, and ends nothing.
func TestFaultOfOpening(t *testing.T) {
	for _, items := range []int{1000, 1_000_000} { // opened at once, and beside
		data, err := bits.New(items, 0.01).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		s, calls := &Supply{}, atomic.Int64{}
		s.Init()
		s.arena = &memory.Arena{
			Alloc: func(n int) ([]byte, error) {
				if calls.Add(1) == 2 {
					panic("a fault")
				}
				return make([]byte, n), nil
			},
			Free: func([]byte) {},
		}
		parts, err := s.Make(Loaded, AppendPlan(nil, &Plan{}), func(int, *Plan) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		p := NewPart(parts[0])
		p.Lock()
		_, o, err := s.Fill(p, 0, uint64(len(data)), data)
		p.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Wait(); !errors.Is(err, bloomery.ErrCorrupt) || !IsLoading(p.Contents()) {
			t.Errorf("%d items: %v", items, err)
		}
	}
}
