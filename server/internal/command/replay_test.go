package command_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
)

var (
	steps = flag.Int("steps", 3000, "groups of commands per history of TestReplay")
	seeds = flag.Int("seeds", 6, "histories of TestReplay")
)

// history makes random commands over few names, so that they meet.
type history struct {
	rng *rand.Rand
}

func (h *history) name() string { return fmt.Sprint("k", h.rng.IntN(12)) }

func (h *history) items(words ...string) []string {
	for range 1 + h.rng.IntN(40) {
		words = append(words, fmt.Sprint("item", h.rng.IntN(400)))
	}
	return words
}

func (h *history) next() []string {
	if h.rng.IntN(3) == 0 {
		return h.sketch()
	}
	k, item := h.name(), fmt.Sprint("item", h.rng.IntN(400))
	all := 0
	for _, m := range moves {
		all += m.weight
	}
	n := h.rng.IntN(all)
	for _, m := range moves {
		if n -= m.weight; n < 0 {
			return m.words(h, k, item)
		}
	}
	panic("the weights are not those of before")
}

// fixed is a command whose words are known; "k" is the name, "item" the item and "other" another
// name.
func fixed(words ...string) func(h *history, k, item string) []string {
	return func(h *history, k, item string) []string {
		made := make([]string, len(words))
		for i, w := range words {
			switch w {
			case "k":
				w = k
			case "item":
				w = item
			case "other":
				w = h.name()
			}
			made[i] = w
		}
		return made
	}
}

// moves are the commands of a history, and how often each comes.
var moves = []struct {
	weight int
	words  func(h *history, k, item string) []string
}{
	{1, func(h *history, k, _ string) []string {
		return []string{"BF.RESERVE", k, "0.01", strconv.Itoa(1 + h.rng.IntN(50)), "EXPANSION", strconv.Itoa(1 + h.rng.IntN(3))}
	}},
	{1, func(h *history, k, _ string) []string {
		return []string{"BF.RESERVE", k, "0.02", strconv.Itoa(1 + h.rng.IntN(50)), "NONSCALING"}
	}},
	{3, fixed("BF.ADD", "k", "item")},
	{2, func(h *history, k, _ string) []string { return h.items("BF.MADD", k) }},
	{1, func(h *history, k, _ string) []string {
		return h.items("BF.INSERT", k, "CAPACITY", "20", "ERROR", "0.1", "ITEMS")
	}},
	{1, func(h *history, k, _ string) []string {
		return []string{"CF.RESERVE", k, strconv.Itoa(4 + h.rng.IntN(60)), "EXPANSION", strconv.Itoa(h.rng.IntN(4))}
	}},
	{3, fixed("CF.ADD", "k", "item")},
	{1, fixed("CF.ADDNX", "k", "item")},
	{2, func(h *history, k, _ string) []string { return h.items("CF.INSERT", k, "CAPACITY", "16", "ITEMS") }},
	{1, func(h *history, k, _ string) []string { return h.items("CF.INSERTNX", k, "ITEMS") }},
	{3, fixed("CF.DEL", "k", "item")},
	{1, fixed("CF.COMPACT", "k")},
	{1, fixed("DEL", "k", "other")},
	{1, fixed("RENAME", "k", "other")},
	{1, func(h *history, k, _ string) []string {
		return []string{"PEXPIRE", k, strconv.Itoa(1 + h.rng.IntN(200))}
	}},
	{1, fixed("PERSIST", "k")},
	{1, func(h *history, k, item string) []string {
		return []string{"SET", k, item, "PX", strconv.Itoa(1 + h.rng.IntN(100))}
	}},
	{1, fixed("APPEND", "k", "xyz")},
	{1, fixed("SETRANGE", "k", "3", "abc")},
	{1, fixed("INCRBY", "k", "7")},
	{1, fixed("SET", "k", "5", "NX")},
	{1, fixed("EXPIRE", "k", "100", "GT")},
	{1, func(h *history, k, _ string) []string {
		if h.rng.IntN(20) == 0 {
			return []string{"FLUSHALL"}
		}
		return []string{"RENAMENX", k, h.name()}
	}},
	{1, fixed("MULTI")},
	{1, fixed("EXEC")},
	{1, fixed("COPY", "k", "other", "REPLACE")},
	{2, fixed("BF.EXISTS", "k", "item")},
	{1, fixed("MSET", "k", "item", "other", "7", "other", "")},
	{1, fixed("GETDEL", "k")},
	{1, func(h *history, k, _ string) []string {
		return []string{"GETEX", k, "PX", strconv.Itoa(1 + h.rng.IntN(200))}
	}},
	{1, fixed("GETEX", "k", "PERSIST")},
	{1, fixed("GETSET", "k", "8")},
	{3, func(h *history, k, _ string) []string { return h.filter(k) }},
	{3, fixed("FILTER.ADD", "k", "item")},
	{2, func(h *history, k, _ string) []string { return h.items("FILTER.ADD", k) }},
	{2, func(h *history, k, _ string) []string { return h.items("FILTER.DEL", k) }},
	{2, func(h *history, k, _ string) []string { return h.items("FILTER.GONE", k) }},
	{1, func(h *history, k, _ string) []string {
		return []string{"FILTER.ADDHASH", k, strconv.FormatUint(h.rng.Uint64(), 10), "0xff"}
	}},
	{1, fixed("FILTER.CLEAR", "k")},
	{1, func(h *history, k, _ string) []string {
		return []string{"FILTER.SET", k, "NEWS", strconv.Itoa(h.rng.IntN(100))}
	}},
	{1, fixed("FILTER.HAS", "k", "item")},
	{2, fixed("FILTER.UNION", "k", "other", "other")},
	{1, fixed("FILTER.INTERSECT", "k", "other", "other")},
	{1, fixed("FILTER.FOLD", "k")},
	{1, fixed("FILTER.FOLD", "k", "FIT")},
	{1, fixed("FILTER.GROW", "k")},
	{6, func(h *history, k, _ string) []string { return h.rebuild(k) }},
}

// sketch is a command on a sketch. They have names of their own half of the time,
// so that they live long enough.
func (h *history) sketch() []string {
	name := h.name
	if h.rng.IntN(2) == 0 {
		name = func() string { return fmt.Sprint("sketch", h.rng.IntN(5)) }
	}
	k, item := name(), fmt.Sprint("item", h.rng.IntN(400))
	number := func() string { return fmt.Sprintf("%.3f", h.rng.NormFloat64()) }
	switch h.rng.IntN(20) {
	case 0:
		return []string{"CMS.INITBYDIM", k, strconv.Itoa(5 + h.rng.IntN(2)), "3"}
	case 1, 2:
		return []string{"CMS.INCRBY", k, item, strconv.Itoa(h.rng.IntN(100))}
	case 3:
		words := []string{"CMS.INCRBY", k}
		for range 1 + h.rng.IntN(600) {
			words = append(words, fmt.Sprint("item", h.rng.IntN(400)), "2")
		}
		return words
	case 4:
		return []string{"CMS.MERGE", k, "2", name(), name(), "WEIGHTS", "1", strconv.Itoa(h.rng.IntN(4) - 1)}
	case 5:
		return []string{"TOPK.RESERVE", k, strconv.Itoa(1 + h.rng.IntN(10)), "20", "3", "0.7"}
	case 6, 7:
		return h.items("TOPK.ADD", k)
	case 8:
		return []string{"TOPK.INCRBY", k, item, strconv.Itoa(h.rng.IntN(50)), item, "x", item, "3"}
	case 9:
		return []string{"TDIGEST.CREATE", k, "COMPRESSION", strconv.Itoa(1 + h.rng.IntN(20))}
	case 10, 11:
		return []string{"TDIGEST.ADD", k, number()}
	case 12:
		words := []string{"TDIGEST.ADD", k}
		for range 1 + h.rng.IntN(600) {
			words = append(words, number())
		}
		return words
	case 13:
		return []string{"TDIGEST.QUANTILE", k, "0.5"}
	case 14:
		return []string{"TDIGEST.REVRANK", k, number()}
	case 15:
		return []string{"TDIGEST.MERGE", k, "2", name(), name()}
	case 16:
		return []string{"TDIGEST.MERGE", k, "1", name(), "COMPRESSION", strconv.Itoa(1 + h.rng.IntN(20)), "OVERRIDE"}
	case 17:
		if h.rng.IntN(5) == 0 {
			return []string{"TDIGEST.RESET", k}
		}
		return []string{"TDIGEST.CDF", k, number(), number()}
	case 18:
		return []string{"PEXPIRE", k, strconv.Itoa(1 + h.rng.IntN(2000))}
	default:
		return []string{"TOPK.LIST", k}
	}
}

// rebuild is a step of a rebuild, of a filter or of a name that is free.
func (h *history) rebuild(k string) []string {
	words := []string{"FILTER.REBUILD", k}
	switch h.rng.IntN(9) {
	case 0, 1:
		kinds := []string{"bloom", "standard", "scalable", "cuckoo", "growing", "fuse8", "ribbon", "quorum", "counting", "window"}
		words = append(words, "BEGIN", kinds[h.rng.IntN(len(kinds))])
		if h.rng.IntN(2) == 0 {
			words = append(words, "CAPACITY", strconv.Itoa(1+h.rng.IntN(100))) // little enough to break
		}
		return words
	case 2:
		return append(words, "BEGIN")
	case 3, 4, 5:
		return h.items(append(words, "FEED")...)
	case 6:
		return append(words, "COMMIT")
	case 7:
		return append(words, "COMMIT", "FORCE")
	default:
		return append(words, "ABORT")
	}
}

// filter makes a filter of some kind, small ones and ones of several parts.
func (h *history) filter(k string) []string {
	kinds := []string{
		"bloom", "standard", "partitioned", "split", "scalable", "counting", "spectral", "stable", "cuckoo", "quotient", "growing", "window", "quorum",
	}
	words := []string{"FILTER.CREATE", k, kinds[h.rng.IntN(len(kinds))], "CAPACITY", strconv.Itoa(1 + h.rng.IntN(200)), "ERROR", "0.02"}
	if h.rng.IntN(2) == 0 {
		words = append(words, "PARTS", strconv.Itoa(1<<h.rng.IntN(3)))
	}
	if h.rng.IntN(6) == 0 {
		words[4] = "20000" // large enough to be folded
	}
	if words[2] == "window" {
		words = append(words, "SPAN", "1s", "GENERATIONS", "5")
	}
	if h.rng.IntN(4) == 0 {
		words = append(words, "SEED", strconv.Itoa(h.rng.IntN(100)))
	}
	return words
}

// TestReplay runs a long random history with snapshots and crashes at random
// moments: the state that comes back must be the same, byte for byte.
func TestReplay(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			b := commandtest.New(t, 64<<20)
			h := &history{rng: rand.New(rand.NewPCG(seed, 1))}
			for range *steps {
				b.Now = b.Now.Add(time.Duration(h.rng.IntN(20)) * time.Millisecond)
				if h.rng.IntN(50) == 0 {
					b.Engine.Sweep(100)
				}
				if h.rng.IntN(60) == 0 {
					h.reload(b)
				}
				if h.rng.IntN(200) == 0 {
					if err := b.Door.Snapshot(); err != nil {
						t.Fatal(err)
					}
				}
				if h.rng.IntN(300) == 0 && !b.Session.Busy() {
					b.Crash(t)
				}
				group := make([][][]byte, 1+h.rng.IntN(8))
				for i := range group {
					for _, w := range h.next() {
						group[i] = append(group[i], []byte(w))
					}
				}
				b.Exec(group...)
			}
			b.Do("EXEC")
			b.Engine.Close(b.Session) // with what it has not loaded to its end
			b.Close(t)
			t.Logf("%d bytes of state, %d names", b.State.Bytes(), b.State.Names.Len())
		})
	}
}

// reload copies a filter through its dump: SCANDUMP, LOADCHUNK, DUMP, RESTORE.
func (h *history) reload(b *commandtest.Bench) {
	from, to := h.name(), h.name()
	if h.rng.IntN(2) == 0 {
		from = fmt.Sprint("sketch", h.rng.IntN(5))
	}
	for _, kind := range []string{"BF", "CF"} {
		iter := "0"
		for range 100 {
			r := b.Exec([][]byte{[]byte(kind + ".SCANDUMP"), []byte(from), []byte(iter)})[0]
			if len(r.Elems) != 2 || r.Elems[0].N == 0 {
				break
			}
			iter = strconv.FormatInt(r.Elems[0].N, 10)
			b.Do(kind+".LOADCHUNK", to+"copy", iter, r.Elems[1].Text)
		}
	}
	union, version := fmt.Sprint("union", h.rng.IntN(2)), strconv.Itoa(1+h.rng.IntN(9))
	for cursor := "0"; ; {
		r := b.Exec([][]byte{[]byte("FILTER.DUMP"), []byte(from), []byte(cursor)})[0]
		if len(r.Elems) != 2 || r.Elems[0].N == 0 {
			break
		}
		cursor = strconv.FormatInt(r.Elems[0].N, 10)
		if h.rng.IntN(20) > 0 { // else the load is never complete
			b.Do("FILTER.LOAD", to, cursor, r.Elems[1].Text)
			b.Do("FILTER.LOAD", union, cursor, r.Elems[1].Text, "FROM", from, "VERSION", version)
		}
	}
	if r := b.Exec([][]byte{[]byte("DUMP"), []byte(from)})[0]; r.Text != "" && !r.Failed() {
		b.Do("RESTORE", to, strconv.Itoa(h.rng.IntN(3)*50), r.Text, "REPLACE")
	}
}

// TestReplayOfConcurrentWriters has several sessions create, change and remove
// the same few keys at once. The order of the log must be the order in which the
// state changed, so that it replays to the same bytes.
func TestReplayOfConcurrentWriters(t *testing.T) {
	b := commandtest.New(t, 64<<20)
	began := b.Now // the clock goes on once they run
	var wg sync.WaitGroup
	for id := range uint64(8) {
		wg.Go(func() {
			h := &history{rng: rand.New(rand.NewPCG(id, 2))}
			s := engine.NewSession(int64(id), "", "", began, func() {})
			var w engine.Workspace
			for range 500 {
				w.Reset()
				for range 1 + h.rng.IntN(6) {
					var args [][]byte
					for _, word := range h.next() {
						args = append(args, []byte(word))
					}
					w.Add(args)
				}
				for done := 0; done < len(w.Calls); {
					done += b.Engine.Exec(s, &w, done)
				}
			}
		})
	}
	for range 20 {
		if err := b.Door.Snapshot(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	b.Close(t)
}
