package cost_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/cost"
	"github.com/bloomery/bloomery/server/internal/store"
)

// of returns a function that says whether something costs more than so many KiB, in a server
// with a few names.
func of(t *testing.T) (*commandtest.Bench, func(do func(*cost.Sum), most int64) bool) {
	t.Helper()
	b := commandtest.New(t, 1<<30)
	b.OK(t, "BF.RESERVE large 0.01 1000000")
	b.OK(t, "BF.RESERVE small 0.01 100")
	b.OK(t, "CMS.INITBYDIM counts 1000 5")
	b.OK(t, "SET text "+strings.Repeat("x", 100_000))
	return b, func(do func(*cost.Sum), most int64) bool {
		x := cost.New(cost.Source{
			State: b.State, Settings: b.Engine.Settings, Users: b.Engine.Users, Client: &b.Session.Client,
			Clients: func() int { return 1 }, Now: b.Now.UnixMilli,
		})
		do(x)
		b.Engine.Settings.MaxTransaction.Store(most)
		return x.TooMuch() != ""
	}
}

// kib returns what something costs, in KiB, by trying.
func kib(tooMuch func(func(*cost.Sum), int64) bool, do func(*cost.Sum)) int64 {
	low, high := int64(0), int64(math.MaxInt32)
	for low < high {
		if middle := (low + high) / 2; tooMuch(do, middle) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// TestOrderDoesNotMatter adds the same in two orders, with names that become each other
// first, last and in between.
func TestOrderDoesNotMatter(t *testing.T) {
	_, tooMuch := of(t)
	steps := []func(*cost.Sum){
		func(x *cost.Sum) { x.Same([]byte("small"), []byte("large")) },
		func(x *cost.Sum) { x.Whole([]byte("small"), 3) },
		func(x *cost.Sum) {
			x.Make([]byte("new"), &store.MakeBloom{Params: redisbloom.BloomParams{Capacity: 1 << 20, ErrorRate: 0.01}})
		},
		func(x *cost.Sum) { x.Add([]byte("new"), [][]byte{make([]byte, 1<<20)}) },
		func(x *cost.Sum) { x.Same([]byte("new"), []byte("small")) },
		func(x *cost.Sum) { x.Append([]byte("text"), 1<<20) },
		func(x *cost.Sum) { x.Free([]byte("large")) },
		func(x *cost.Sum) { x.Row([]byte("fresh"), 1<<20) },
		func(x *cost.Sum) { x.Same([]byte("counts"), []byte("fresh")) },
	}
	run := func(order []int) int64 {
		return kib(tooMuch, func(x *cost.Sum) {
			for _, i := range order {
				steps[i](x)
			}
		})
	}
	want := run([]int{0, 1, 2, 3, 4, 5, 6, 7, 8})
	for _, order := range [][]int{{8, 7, 6, 5, 4, 3, 2, 1, 0}, {1, 2, 3, 5, 6, 7, 0, 4, 8}, {8, 4, 0, 1, 6, 3, 7, 2, 5}, {7, 2, 1, 0, 8, 3, 4, 6, 5}} {
		if got := run(order); got != want {
			t.Errorf("%d KiB in the order %d, %d in another", got, order, want)
		}
	}
	if least := int64(3*1_000_000*9/8/1024 + 5<<10); want < least {
		t.Errorf("%d KiB for what reads a filter of 1.2 MB three times, and 1 MiB for each of 5 rows; want %d or more", want, least)
	}
}

// TestANameHasItsLargestSize asks that a name counts with the largest that it may get, and
// that names which are not touched do not count.
func TestANameHasItsLargestSize(t *testing.T) {
	_, tooMuch := of(t)
	whole := func(name string) func(*cost.Sum) { return func(x *cost.Sum) { x.Whole([]byte(name), 1) } }
	large, small, none := kib(tooMuch, whole("large")), kib(tooMuch, whole("small")), kib(tooMuch, whole("none"))
	if large < 1000 || small > 20 || none > small {
		t.Errorf("a filter of 1.2 MB costs %d KiB, one of 120 bytes %d, none %d", large, small, none)
	}
	renamed := kib(tooMuch, func(x *cost.Sum) {
		x.Same([]byte("none"), []byte("large"))
		x.Whole([]byte("none"), 1)
	})
	made := kib(tooMuch, func(x *cost.Sum) {
		x.Make([]byte("none"), &store.MakeBloom{Params: redisbloom.BloomParams{Capacity: 1_000_000, ErrorRate: 0.01}})
		x.Whole([]byte("none"), 1)
	})
	if renamed < large || made < 2*1_000_000*9/8/1024 {
		t.Errorf("read under a name that it gets: %d KiB, made and read: %d, read: %d", renamed, made, large)
	}
}

// TestWhatIsCountedCounts asks that it costs something to find out how large filters of many parts are, for each that may have
// a name, and once for one that many layers are over.
func TestWhatIsCountedCounts(t *testing.T) {
	b, tooMuch := of(t)
	const parts = 4096 // KiB
	for _, name := range []string{"one", "two", "three"} {
		b.OK(t, "FILTER.CREATE "+name+" bloom CAPACITY 4096 PARTS 4096")
		b.OK(t, "FILTER.CREATE over-"+name+" layers OVER one three")
	}
	same := kib(tooMuch, func(x *cost.Sum) {
		x.Same([]byte("one"), []byte("two"))
		x.Same([]byte("two"), []byte("three"))
	})
	if same < 3*parts {
		t.Errorf("three filters of 4096 parts that become each other cost %d KiB, want %d or more", same, 3*parts)
	}
	over := kib(tooMuch, func(x *cost.Sum) {
		for _, name := range []string{"over-one", "over-two", "over-three"} {
			x.Items([]byte(name), 1)
		}
	})
	asked := kib(tooMuch, func(x *cost.Sum) { repeat(1000, func() { x.Items([]byte("over-one"), 1) }) })
	if least := int64(2*parts + 1000*2*3); asked < least || asked > least+1000 {
		t.Errorf("layers over the same that are asked 1,000 times cost %d KiB, want %d and little more", asked, least)
	}
	if over < 2*parts || over > 3*parts {
		t.Errorf("three layers over two filters of 4096 parts cost %d KiB, want %d and little more", over, 2*parts)
	}
}

// TestStagedFiltersCount gives a name to a filter that is staged: items count for it, and for what it grows by, as if it had had the
// name before.
func TestStagedFiltersCount(t *testing.T) {
	b, tooMuch := of(t)
	items := make([][]byte, 100)
	b.OK(t, "CF.RESERVE cuckoo 1000000 EXPANSION 1")
	for _, of := range []string{"large", "cuckoo"} {
		id := b.State.Names.Lookup([]byte(of), b.Now.UnixMilli()).ID
		named := kib(tooMuch, func(x *cost.Sum) { x.Add([]byte(of), items) })
		staged := kib(tooMuch, func(x *cost.Sum) {
			x.Reveal([]byte("new"), id)
			x.Add([]byte("new"), items)
		})
		if none := kib(tooMuch, func(x *cost.Sum) { x.Add([]byte("new"), items) }); staged < named || named < 2*none {
			t.Errorf("100 items cost %d KiB in %s, %d if it is staged, %d if it is not there", named, of, staged, none)
		}
	}
}

// TestMoreCostsMore asks that nothing gets cheaper by what comes besides, and that sums
// which are larger than any number do not begin again.
func TestMoreCostsMore(t *testing.T) {
	_, tooMuch := of(t)
	name := []byte("large")
	for what, do := range map[string]func(x *cost.Sum, n int){
		"words":   func(x *cost.Sum, n int) { x.Words(make([][]byte, n)) },
		"bytes":   func(x *cost.Sum, n int) { x.Bytes(n << 10) },
		"items":   func(x *cost.Sum, n int) { x.Items(name, n) },
		"whole":   func(x *cost.Sum, n int) { x.Whole(name, n) },
		"looks":   func(x *cost.Sum, n int) { repeat(n, func() { x.Describe(nil) }) },
		"asks":    func(x *cost.Sum, n int) { x.Ask(make([][]byte, n), nil) },
		"rows":    func(x *cost.Sum, n int) { x.Row([]byte("counts"), uint64(n)<<10) },
		"tries":   func(x *cost.Sum, n int) { x.Try([]byte("counts"), uint64(n)<<10) },
		"visits":  func(x *cost.Sum, n int) { repeat(n, func() { x.Visit(name) }) },
		"pattern": func(x *cost.Sum, n int) { x.Names(1, [][]byte{make([]byte, n)}) },
		"makes": func(x *cost.Sum, n int) {
			for i := range n {
				x.Make([]byte("new"), &store.MakeBloom{Params: redisbloom.BloomParams{Capacity: uint64(i + 1), ErrorRate: 0.01}})
			}
		},
		"users":   func(x *cost.Sum, n int) { repeat(n, x.Users) },
		"clients": func(x *cost.Sum, n int) { repeat(n, x.Clients) },
		"appends": func(x *cost.Sum, n int) { repeat(n, func() { x.Append([]byte("text"), 1) }) },
		"counts":  func(x *cost.Sum, n int) { repeat(n, func() { x.Number([]byte("text")) }) },
		"stores":  func(x *cost.Sum, n int) { repeat(n, func() { x.Store([]byte("text"), 1) }) },
		"copies":  func(x *cost.Sum, n int) { repeat(n, func() { x.Text([]byte("text")) }) },
		"frees":   func(x *cost.Sum, n int) { repeat(n, func() { x.Free(name) }) },
		"slow":    func(x *cost.Sum, n int) { repeat(n, x.Slow) },
	} {
		one, many := kib(tooMuch, func(x *cost.Sum) { do(x, 20) }), kib(tooMuch, func(x *cost.Sum) { do(x, 2000) })
		if many < 2*one {
			t.Errorf("%s: 20 cost %d KiB, 2000 cost %d", what, one, many)
		}
	}
	for what, do := range map[string]func(x *cost.Sum){
		"whole":    func(x *cost.Sum) { x.Whole(name, math.MaxInt) },
		"twice":    func(x *cost.Sum) { x.Whole(name, math.MaxInt); x.Whole([]byte("small"), math.MaxInt) },
		"items":    func(x *cost.Sum) { x.Items(name, math.MaxInt) },
		"bytes":    func(x *cost.Sum) { x.Bytes(math.MaxInt); x.Bytes(math.MaxInt); x.Bytes(math.MaxInt) },
		"appended": func(x *cost.Sum) { x.Append([]byte("text"), math.MaxInt); x.Append([]byte("text"), math.MaxInt) },
		"all of them": func(x *cost.Sum) {
			x.Whole(name, math.MaxInt)
			x.Bytes(math.MaxInt)
			x.Items([]byte("small"), math.MaxInt)
		},
	} {
		if strconv.IntSize == 64 && !tooMuch(do, math.MaxInt32) {
			t.Errorf("%s: the largest number there is costs less than the largest bound", what)
		}
	}
}

// TestNamesThatBecomeEachOther does each thing to a name before it becomes that of something else, and after that: it counts
// for the larger one both times, whichever of the two has more names.
func TestNamesThatBecomeEachOther(t *testing.T) {
	b, tooMuch := of(t)
	b.State.SetKeys(commandtest.Keys())
	b.OK(t, "FILTER.CREATE cuckoo cuckoo CAPACITY 1000000 KEYED old")
	b.OK(t, "FILTER.CREATE growing growing CAPACITY 1000000")
	b.OK(t, "FILTER.CREATE layers layers OVER growing")
	const n = 1000
	for what, do := range map[string]func(x *cost.Sum, name []byte){
		"items":   func(x *cost.Sum, name []byte) { x.Items(name, n) },
		"asks":    func(x *cost.Sum, name []byte) { repeat(n, func() { x.Items(name, 0) }) },
		"adds":    func(x *cost.Sum, name []byte) { x.Add(name, make([][]byte, n)) },
		"wholes":  func(x *cost.Sum, name []byte) { x.Whole(name, n) },
		"clears":  func(x *cost.Sum, name []byte) { x.Clear(name); x.Items(name, n); x.Count(name, n) },
		"looks":   func(x *cost.Sum, name []byte) { repeat(n, func() { x.Look(name) }) },
		"visits":  func(x *cost.Sum, name []byte) { repeat(n, func() { x.Visit(name) }) },
		"changes": func(x *cost.Sum, name []byte) { repeat(n, func() { x.Change(name) }) },
		"seeks":   func(x *cost.Sum, name []byte) { x.Clear(name); x.Seek(name, n) },
		"deletes": func(x *cost.Sum, name []byte) { x.Delete(name, n) },
		"inserts": func(x *cost.Sum, name []byte) { x.Insert(name, n, n) },
		"hashes":  func(x *cost.Sum, name []byte) { x.Count(name, n); x.Insert(name, 0, n) },
		"rows":    func(x *cost.Sum, name []byte) { x.Row(name, n<<10) },
		"tries":   func(x *cost.Sum, name []byte) { x.Try(name, n<<10) },
		"frees":   func(x *cost.Sum, name []byte) { repeat(n, func() { x.Free(name) }) },
		"makes": func(x *cost.Sum, name []byte) {
			x.Make(name, &store.MakeBloom{Params: redisbloom.BloomParams{Capacity: 1 << 20, ErrorRate: 0.01}})
			x.Count(name, n)
		},
		"stores":  func(x *cost.Sum, name []byte) { repeat(n, func() { x.Store(name, n) }) },
		"numbers": func(x *cost.Sum, name []byte) { repeat(n, func() { x.Number(name) }) },
		"copies":  func(x *cost.Sum, name []byte) { x.Append(name, n<<10); repeat(n, func() { x.Text(name) }) },
		"appends": func(x *cost.Sum, name []byte) { x.Append(name, n<<10) },
	} {
		for _, of := range []string{"cuckoo", "growing", "counts", "text", "layers", "large"} {
			join := func(x *cost.Sum, more string) {
				x.Same([]byte(more), []byte("third"))
				x.Same([]byte("small"), []byte(of))
			}
			for _, more := range []string{"small", of} {
				after := kib(tooMuch, func(x *cost.Sum) { join(x, more); do(x, []byte("small")) })
				before := kib(tooMuch, func(x *cost.Sum) { do(x, []byte("small")); join(x, more) })
				if before != after {
					t.Errorf("%s: %d KiB for what is done before the name is that of %s, %d after that", what, before, of, after)
				}
			}
		}
	}
}

func repeat(n int, do func()) {
	for range n {
		do()
	}
}

// TestTooMuchSaysHowMuch reads the error: two numbers that differ, and where the bound is set.
func TestTooMuchSaysHowMuch(t *testing.T) {
	b, _ := of(t)
	for _, most := range []int64{4, 250_000} {
		x := cost.New(cost.Source{State: b.State, Settings: b.Engine.Settings, Users: b.Engine.Users, Client: &b.Session.Client, Now: b.Now.UnixMilli})
		x.Bytes(int(most<<10 + 1))
		b.Engine.Settings.MaxTransaction.Store(most)
		text := x.TooMuch()
		for _, want := range []string{"EXECABORT ", fmt.Sprintf("count for %d KiB", most+1), fmt.Sprintf("max-transaction allows %d KiB", most)} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
		if b.Engine.Settings.MaxTransaction.Store(most + 1); x.TooMuch() != "" {
			t.Errorf("%d KiB and a byte are refused where a KiB more is allowed", most)
		}
	}
}

// TestNewArraysCountAsOftenAsTheyAreMade adds items to what is made again and again, sought, renamed or rebuilt.
func TestNewArraysCountAsOftenAsTheyAreMade(t *testing.T) {
	b, tooMuch := of(t)
	b.OK(t, "CF.RESERVE cuckoo 100000000")
	b.OK(t, "BF.RESERVE other 0.01 100")
	b.OK(t, "FILTER.CREATE scalable scalable CAPACITY 1000")
	name := []byte("new")
	price := func(do func(*cost.Sum)) int64 { return kib(tooMuch, do) }
	bf := func(capacity uint64) *store.MakeBloom {
		return &store.MakeBloom{Params: redisbloom.BloomParams{Capacity: capacity, ErrorRate: 0.01}}
	}
	// What is made is let go by a command on its name, or by one on all.
	made := func(n int, free func(*cost.Sum)) int64 {
		return price(func(x *cost.Sum) {
			x.Insert(name, 1000, 0)
			repeat(n, func() { x.Make(name, bf(50_000_000)); free(x) })
		})
	}
	freed := func(x *cost.Sum) { x.Free(name) }
	once, often, all := made(1, freed), made(5, freed), made(5, (*cost.Sum).FreeAll)
	if want := often + 5*(1<<20-12<<10)>>10; often*10 < once*49 || all != want {
		t.Errorf("a filter that is made once, 5 times, and with FLUSHALL: %d KiB, %d, %d, want the last to be %d", once, often, all, want)
	}
	asked := func(capacity uint64, n int) int64 {
		return price(func(x *cost.Sum) { x.Make(name, bf(capacity)); x.Items(name, n) })
	}
	huge, small := asked(20_000_000, 10_000)-asked(20_000_000, 0), asked(40_000_000, 10_000)-asked(40_000_000, 0)
	if small < 2*huge-1 {
		t.Errorf("questions to a filter on small pages: %d KiB, on huge ones: %d", small, huge)
	}
	// Calls add up, and a name keeps them when it becomes another.
	for key, do := range map[string]func(*cost.Sum){
		"cuckoo": func(x *cost.Sum) {
			repeat(100, func() { x.Insert([]byte("cuckoo"), 1, 0); x.Seek([]byte("cuckoo"), 10) })
		},
		"made": func(x *cost.Sum) {
			repeat(5, func() { x.Make([]byte("made"), bf(50_000_000)); x.Free([]byte("made")) })
		},
	} {
		more := func(x *cost.Sum) { x.Make(name, bf(100)); x.Make(name, bf(200)) } // so that what name has is kept, the other is moved
		first := price(func(x *cost.Sum) { more(x); x.Same(name, []byte(key)); do(x) })
		last := price(func(x *cost.Sum) { more(x); do(x); x.Same(name, []byte(key)) })
		if first != last {
			t.Errorf("%s: %d KiB if it is renamed before, %d after", key, first, last)
		}
	}
	one := price(func(x *cost.Sum) { x.Insert([]byte("small"), 1000, 0) })
	two := price(func(x *cost.Sum) { x.Insert([]byte("small"), 1000, 0); x.Same([]byte("small"), []byte("other")) })
	if two < one*19/10 {
		t.Errorf("a filter that grows: %d KiB, and one that gets its name: %d", one, two)
	}
	grow := func(x *cost.Sum) { x.Insert([]byte("scalable"), 100_000, 0) }
	before := price(grow)
	b.OK(t, "FILTER.REBUILD scalable BEGIN scalable CAPACITY 1000")
	if after := price(grow); after < before*19/10 {
		t.Errorf("a filter that grows: %d KiB, and its shadow with it: %d", before, after)
	}
}
