package filtertest

// Filters with flaws, and the run that asks whether the laws find them.

import (
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

// broken is a kind with a flaw, and what a law must say of it.
type broken struct {
	name string
	law  func(*testing.T, Kind)
	kind Kind
	want string // an expression
	long bool   // found without -short only
}

// brokenEnv makes the test run the laws themselves.
const brokenEnv = "FILTERTEST_BROKEN"

// TestLawsFindFlaws runs laws on filters that break them. A law fails its test, so
// that happens in a process of its own, whose output is read.
func TestLawsFindFlaws(t *testing.T) {
	all := slices.Concat(brokenAnswers(), brokenStats(), brokenAllocations(), brokenStreams(), brokenEncodings(), brokenFiles(), brokenAlgebra(), brokenMultisets(), brokenBatches(), brokenZeros())
	if os.Getenv(brokenEnv) != "" {
		for _, b := range all {
			t.Run(b.name, func(t *testing.T) {
				if err := flag.Set("test.short", strconv.FormatBool(!b.long)); err != nil {
					t.Fatal(err)
				}
				b.law(t, b.kind)
			})
		}
		return
	}
	args := []string{"-test.run=^TestLawsFindFlaws$", "-test.v"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		args = append(args, "-test.gocoverdir="+dir)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), brokenEnv+"=1")
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		t.Fatalf("laws on broken filters: %v, want a test that fails\n%s", err, out)
	}
	said := sayings(string(out))
	for _, b := range all {
		text := said[b.name]
		if !strings.Contains(text, "--- FAIL") || !regexp.MustCompile(b.want).MatchString(text) {
			t.Errorf("%s: the law does not say %q:\n%s", b.name, b.want, text)
		}
	}
}

// sayings returns what each subtest prints, and behind it which of its own have
// failed, in the order of their names.
func sayings(out string) map[string]string {
	said, failed := map[string]string{}, map[string][]string{}
	now := ""
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(line, "--- FAIL: TestLawsFindFlaws/"); ok {
			name = name[:strings.IndexAny(name, "/ ")]
			failed[name] = append(failed[name], line)
			continue
		}
		if name, ok := strings.CutPrefix(line, "=== RUN   TestLawsFindFlaws/"); ok && !strings.Contains(name, "/") {
			now = strings.TrimSpace(name)
		}
		said[now] += line
	}
	for name, lines := range failed {
		slices.Sort(lines) // some of them run at once
		said[name] += strings.Join(lines, "")
	}
	return said
}

// TestSoundFilters runs the suite, as it is with -short, on kinds that keep its laws.
func TestSoundFilters(t *testing.T) {
	if !testing.Short() {
		t.Skip("package codec runs all of it for every kind")
	}
	was := flag.Lookup("test.short").Value.String()
	if err := flag.Set("test.short", "true"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("test.short", was) })
	cuckoos := bags(func(*bag) {})
	t.Run("set", func(t *testing.T) { Test(t, sets(nil)) })
	t.Run("bag", func(t *testing.T) { Test(t, cuckoos) })
	t.Run("full bag", func(t *testing.T) { // with as many keys as it was made for
		overfull(t, bags(func(b *bag) {
			b.insert = func(f *cuckoo.Filter, h uint64) error {
				if f.Stats().Items == 500 {
					return bloomery.ErrFull
				}
				return f.InsertHash(h)
			}
		}))
	})
	t.Run("stream", func(t *testing.T) { forgets(t, streams(0, recent{})) })
}

// flaw is where a filter differs from a sound one; what is nil does not.
type flaw struct {
	one      func(h uint64, yes bool) bool // ContainsHash
	batch    func(dst []bool)              // ContainsHashes
	hash     func()
	add      func(h uint64, changed bool) bool // AddHash
	drop     bool                              // AddHashes adds nothing if dst is nil
	added    func(dst []bool, hs []uint64)     // AddHashes
	stats    func(s *bloomery.Stats)
	marshal  func(data []byte) []byte
	appended func(data []byte) []byte
	written  func(data []byte) []byte
	verify   func() error
}

// set is a Bloom filter with flaws.
type set struct {
	*bloom.Filter
	flaw
}

func (s *set) Hash(key []byte) uint64 {
	if s.hash != nil {
		s.hash()
	}
	return s.Filter.Hash(key)
}

func (s *set) ContainsHash(h uint64) bool {
	yes := s.Filter.ContainsHash(h)
	if s.one != nil {
		yes = s.one(h, yes)
	}
	return yes
}

func (s *set) ContainsHashes(dst []bool, hs []uint64) {
	s.Filter.ContainsHashes(dst, hs)
	if s.batch != nil {
		s.batch(dst[:len(hs)])
	}
}

func (s *set) AddHash(h uint64) bool {
	changed := s.Filter.AddHash(h)
	if s.add != nil {
		changed = s.add(h, changed)
	}
	return changed
}

func (s *set) AddHashes(dst []bool, hs []uint64) {
	if !s.drop || dst != nil {
		s.Filter.AddHashes(dst, hs)
	}
	if s.added != nil {
		s.added(dst, hs)
	}
}

func (s *set) Stats() bloomery.Stats {
	got := s.Filter.Stats()
	if s.stats != nil {
		s.stats(&got)
	}
	return got
}

func changed(data []byte, err error, change func([]byte) []byte) ([]byte, error) {
	if change != nil && err == nil {
		data = change(data)
	}
	return data, err
}

func (s *set) MarshalBinary() ([]byte, error) {
	data, err := s.Filter.MarshalBinary()
	return changed(data, err, s.marshal)
}

func (s *set) AppendBinary(dst []byte) ([]byte, error) {
	data, err := s.Filter.AppendBinary(dst)
	return changed(data, err, s.appended)
}

func (s *set) WriteTo(w io.Writer) (int64, error) {
	data, err := s.Filter.MarshalBinary()
	if data, err = changed(data, err, s.written); err != nil {
		return 0, err
	}
	n, err := w.Write(data)
	return int64(n), err
}

// view is a view with flaws.
type view struct {
	bloomery.View
	flaw
}

func (v *view) Verify() error {
	if v.verify != nil {
		return v.verify()
	}
	return v.View.Verify()
}

func (v *view) ContainsHash(h uint64) bool {
	yes := v.View.ContainsHash(h)
	if v.one != nil {
		yes = v.one(h, yes)
	}
	return yes
}

// readSet reads a Filter.
func readSet(r io.Reader) (*bloom.Filter, error) {
	f, err := bloom.Config{}.Read(r)
	b, _ := f.(*bloom.Filter) // nil beside an error
	return b, err
}

// sets returns a sound kind with changes.
func sets(change func(*Kind)) Kind {
	k := Kind{
		Name:  "bloom",
		Rates: []float64{1e-2},
		Make:  func(hs []uint64, n int, p float64) (bloomery.Hashed, error) { return makeSet(hs, n, p, flaw{}) },
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Capacity: 100, ErrorRate: 1e-2, Hasher: h}.New()
			return &set{Filter: f}, err
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			f, err := bloom.Config{Hasher: h}.Decode(data)
			return &set{Filter: f}, err
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) {
			f, err := readSet(r)
			return &set{Filter: f}, err
		},
		View: func(data []byte) (bloomery.View, error) {
			v, err := bloom.Config{}.View(data)
			return &view{View: v}, err
		},
		Union: func(a, b bloomery.Hashed) error { return a.(*set).Union(b.(*set).Filter) },
		Clone: func(a bloomery.Hashed) bloomery.Hashed { return &set{Filter: a.(*set).Clone()} },
		Clear: func(a bloomery.Hashed) { a.(*set).Clear() },
	}
	if change != nil {
		change(&k)
	}
	return k
}

func makeSet(hs []uint64, n int, p float64, with flaw) (bloomery.Hashed, error) {
	f, err := bloom.Config{Capacity: n, ErrorRate: p}.New()
	if err != nil {
		return nil, err
	}
	f.AddHashes(nil, hs)
	return &set{f, with}, nil
}

// flawed returns a kind whose filters have a flaw.
func flawed(with flaw) Kind {
	return sets(func(k *Kind) {
		k.Make = func(hs []uint64, n int, p float64) (bloomery.Hashed, error) { return makeSet(hs, n, p, with) }
	})
}

// bag is a cuckoo filter with flaws.
type bag struct {
	*cuckoo.Filter
	flaw
	insert func(f *cuckoo.Filter, h uint64) error
	remove func(f *cuckoo.Filter, h uint64) bool
	count  func(h, n uint64) uint64
	many   func(f *cuckoo.Filter, hs []uint64) (int, error)
}

func (b *bag) ContainsHash(h uint64) bool {
	yes := b.Filter.ContainsHash(h)
	if b.one != nil {
		yes = b.one(h, yes)
	}
	return yes
}

func (b *bag) InsertHash(h uint64) error {
	if b.insert != nil {
		return b.insert(b.Filter, h)
	}
	return b.Filter.InsertHash(h)
}

func (b *bag) InsertHashes(hs []uint64) (int, error) {
	if b.many != nil {
		return b.many(b.Filter, hs)
	}
	return b.Filter.InsertHashes(hs)
}

func (b *bag) DeleteHash(h uint64) bool {
	if b.remove != nil {
		return b.remove(b.Filter, h)
	}
	return b.Filter.DeleteHash(h)
}

func (b *bag) CountHash(h uint64) uint64 {
	n := b.Filter.CountHash(h)
	if b.count != nil {
		n = b.count(h, n)
	}
	return n
}

func (b *bag) Stats() bloomery.Stats {
	got := b.Filter.Stats()
	if b.stats != nil {
		b.stats(&got)
	}
	return got
}

// bags returns a kind of cuckoo filters; change gives each of them its flaw.
func bags(change func(*bag)) Kind {
	return Kind{
		Name: "cuckoo", Rates: []float64{1e-2}, Distinct: true,
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			f, err := cuckoo.Config{Capacity: n, ErrorRate: p}.New()
			if err != nil {
				return nil, err
			}
			if _, err := f.InsertHashes(hs); err != nil {
				return nil, err
			}
			b := &bag{Filter: f}
			change(b)
			return b, nil
		},
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return cuckoo.Config{Hasher: h}.Decode(data)
		},
	}
}
