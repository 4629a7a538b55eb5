package follow_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server"
)

// histories are the filters whose histories are followed, by kind, with the words that make and
// change them. Those of RedisBloom are dumped, not encoded.
var histories = map[string]struct {
	create, add, del, has string
	dumped                bool
}{
	"bloom":  {"FILTER.CREATE NAME bloom CAPACITY 3000", "FILTER.ADD", "", "FILTER.HAS", false},
	"cuckoo": {"FILTER.CREATE NAME cuckoo CAPACITY 3000 NEWS 1000", "FILTER.ADD", "FILTER.DEL", "FILTER.HAS", false},
	"BF":     {"BF.RESERVE NAME 0.01 100", "BF.ADD", "", "BF.MEXISTS", true},
	"CF":     {"CF.RESERVE NAME 100", "CF.ADD", "CF.DEL", "CF.MEXISTS", true},
}

// TestHistory runs a random history with ten followers that come and go: whoever has caught up
// answers as the source does, for all keys ever seen, and what was there is never lost before.
func TestHistory(t *testing.T) {
	for kind, verbs := range histories {
		dir := t.TempDir()
		s := serving(t, server.Config{Dir: dir, Addr: ports.Free(t, 1)})
		s.line(strings.Replace(verbs.create, "NAME", "f", 1))
		rng := rand.New(rand.NewPCG(5, uint64(len(kind))))
		config := func(i int) follow.Config {
			return follow.Config{Address: "redis://" + s.addr, Filter: "f", File: filepath.Join(dir, fmt.Sprint("copy", i)), Every: -1}
		}
		followers := make([]*follow.Filter, 10)
		t.Cleanup(func() {
			for _, f := range followers {
				if f != nil {
					_ = f.Close()
				}
			}
		})
		var keys []string
		asked := map[string]bool{}
		ask := func(words ...string) { asked[words[0]] = true; s.do(words...) }
		for range 150 {
			switch n := rng.IntN(40); {
			case n < 28:
				for range 1 + rng.IntN(5) {
					keys = append(keys, fmt.Sprint("key ", len(keys)))
					ask(verbs.add, "f", keys[len(keys)-1])
				}
			case n < 33 && verbs.del != "" && len(keys) > 0:
				i := rng.IntN(len(keys))
				ask(verbs.del, "f", keys[i])
			case n < 34:
				ask("RESTORE", "f", "0", string(s.do("DUMP", "f").Text), "REPLACE")
			case n < 35 && verbs.dumped:
				ask("DEL", "f")
				s.line(strings.Replace(verbs.create, "NAME", "f", 1))
			case n < 35:
				ask("FILTER.CLEAR", "f")
			case n < 37: // another filter takes the name
				s.line(strings.Replace(verbs.create, "NAME", "g", 1))
				ask(verbs.add, "g", "of the other")
				keys = append(keys, "of the other")
				ask("RENAME", "g", "f")
			case n < 38 && !verbs.dumped:
				ask("FILTER.REBUILD", "f", "BEGIN", "CAPACITY", "4000")
				ask("FILTER.REBUILD", "f", "FEED", "fed")
				keys = append(keys, "fed")
				ask("FILTER.REBUILD", "f", "COMMIT", "FORCE")
			case n < 39:
				s.stop()
				s = serving(t, server.Config{Dir: dir, Addr: []string{s.addr}})
				asked["a restart"] = true
			case !verbs.dumped:
				ask("FILTER.SET", "f", "NEWS", fmt.Sprint(rng.IntN(2000)))
			}
			i := rng.IntN(len(followers))
			switch f := followers[i]; {
			case f == nil:
				followers[i] = must(follow.Open(t.Context(), config(i)))
			case rng.IntN(5) == 0:
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				followers[i] = nil
				continue
			}
			f := followers[i]
			if _, err := f.Update(t.Context()); err != nil { // also behind a start
				t.Fatal(err)
			}
			if len(keys) == 0 {
				continue
			}
			got, want := make([]bool, len(keys)), make([]bool, len(keys))
			f.ContainsStrings(got, keys)
			for i, v := range s.do(append([]string{verbs.has, "f"}, keys...)...).Array {
				want[i] = v.Int == 1
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: a follower that has caught up answers otherwise than the source", kind)
			}
			s.copied(f, "f")
		}
		all := []string{verbs.add, "RESTORE", "RENAME", "a restart"}
		if verbs.del != "" {
			all = append(all, verbs.del)
		}
		if verbs.dumped {
			all = append(all, "DEL")
		} else {
			all = append(all, "FILTER.CLEAR", "FILTER.REBUILD", "FILTER.SET")
		}
		for _, verb := range all {
			if !asked[verb] {
				t.Errorf("the history of a %s has no %s", kind, verb)
			}
		}
	}
}
