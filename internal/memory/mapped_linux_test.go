package memory

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// small reports whether the middle of an array is kept on pages of the usual size. Its ends may lie on parts of huge ones.
func small(t *testing.T, array []byte) bool {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var address, from, to uint64
	if _, err := fmt.Sscanf(fmt.Sprintf("%p", &array[len(array)/2]), "0x%x", &address); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			continue
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags: "); ok && from <= address && address < to {
			return strings.Contains(flags+" ", "nh ")
		}
	}
	t.Fatalf("no mapping at %#x", address)
	return false
}

// youngArrays returns a pool and the arrays that it has for two filters that grow.
func youngArrays(t *testing.T) (p *pool, a, b []byte) {
	t.Helper()
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("this system has no huge pages")
	}
	p = &pool{arrays: map[*byte]mapping{}}
	t.Cleanup(p.unmapAll)
	for _, array := range []*[]byte{&a, &b} {
		var err error
		if *array, err = p.grow(8 << 20); err != nil {
			t.Fatal(err)
		}
		if !small(t, *array) {
			t.Fatal("an array by which a filter grows is on huge pages at once")
		}
	}
	return p, a, b
}

// TestArraysAreYoungForAMoment asks that each array is on small pages for a time of its own.
func TestArraysAreYoungForAMoment(t *testing.T) {
	p, a, b := youngArrays(t)
	p.mu.Lock()
	p.young[0].since = time.Now().Add(-youth)
	p.young[1].since = time.Now().Add(time.Hour)
	p.mu.Unlock()
	p.settle()
	if small(t, a) || !small(t, b) {
		t.Errorf("the older one is on small pages: %v, the younger one: %v", small(t, a), small(t, b))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.young) != 1 || &p.young[0].array[0] != &b[0] {
		t.Errorf("%d arrays are young, want the younger one", len(p.young))
	}
}

// TestReleasedArraysAreLeftAlone asks that nothing is done to what lies where a young array was.
func TestReleasedArraysAreLeftAlone(t *testing.T) {
	p, a, b := youngArrays(t)
	p.mu.Lock()
	old := p.young
	for i := range old {
		old[i].since = time.Now().Add(-youth)
	}
	delete(p.arrays, &a[0]) // somebody else maps memory there
	p.made++
	p.arrays[&b[0]] = mapping{array: b, number: p.made} // a later array of the pool
	p.mu.Unlock()
	p.settle()
	if !small(t, a) || !small(t, b) {
		t.Error("what lies where a young array was is on huge pages")
	}
	if err := Unmap(a); err != nil {
		t.Error(err)
	}
	m := p.arrays[&b[0]]
	if p.release(b); p.has(m) {
		t.Error("an array that was released is still there")
	}
}

// TestYoungArraysAreMovedInTime lets time pass: each array is moved to huge pages when it has been young for long enough, not
// before.
func TestYoungArraysAreMovedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, _ := youngArrays(t)
		time.Sleep(youth / 2)
		late, err := p.grow(8 << 20)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} { // whether the late one is on small pages
			time.Sleep(youth/2 + 1)
			synctest.Wait()
			if small(t, a) || small(t, late) != want {
				t.Errorf("the first one is on small pages: %v, the late one: %v, want false, %v", small(t, a), small(t, late), want)
			}
		}
	})
}

// TestTouchOfYoungArrays asks that the pages which are made before many items are written are huge ones.
func TestTouchOfYoungArrays(t *testing.T) {
	_, a, b := youngArrays(t)
	if Touch(a, nil); small(t, a) || !small(t, b) {
		t.Errorf("what was touched is on small pages: %v, what was not: %v", small(t, a), small(t, b))
	}
}

// TestArenaOfLargeArrays asks on which pages the arrays of an arena lie, and that they count until they are given back.
func TestArenaOfLargeArrays(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("this system has no huge pages")
	}
	synctest.Test(t, func(t *testing.T) {
		const n = 8 << 20
		a, mapped := NewArena()
		for name, c := range map[string]struct {
			alloc func(n, total uint64) ([]byte, error)
			small bool
		}{
			"made": {a.Bytes, false}, "grown": {a.More, true}, "made without items": {a.Sparse().Bytes, true}, "grown later": {a.Sparse().More, true},
		} {
			b, err := c.alloc(n, n)
			if err != nil {
				t.Fatal(err)
			}
			if got := small(t, b); got != c.small || mapped() != n {
				t.Errorf("%s: on small pages %v, %d bytes are mapped, want %v, %d", name, got, mapped(), c.small, n)
			}
			a.Sparse().Release(b)
			if synctest.Wait(); mapped() != 0 {
				t.Errorf("%s: %d bytes are mapped that were given back", name, mapped())
			}
		}
		if a.Sparse().Keep(100); a.Kept() != 100 {
			t.Errorf("%d bytes count that only copies need, want 100", a.Kept())
		}
	})
}
