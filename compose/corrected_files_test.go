package compose_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// openAnyCorrected opens the filters of these tests.
func openAnyCorrected(data []byte) (bloomery.Hashed, error) {
	if len(data) < 12 {
		return openBloom(data)
	}
	switch binary.LittleEndian.Uint16(data[10:]) {
	case 1:
		return openBloom(data)
	case 19:
		return compose.StripedConfig{Open: openCuckoo}.Decode(data)
	case 12:
		return fuse.Config[uint8]{}.Decode(data)
	}
	return openCuckoo(data)
}

// recoded returns what comes back from the encoding of c.
func recoded(t testing.TB, c *compose.Corrected) *compose.Corrected {
	t.Helper()
	data, err := c.MarshalBinary()
	if err != nil {
		t.Error(err)
		return c
	}
	got, err := compose.CorrectedConfig{Open: openAnyCorrected}.Decode(data)
	if err != nil {
		t.Error(err)
		return c
	}
	return got
}

// TestCorrectedReplay reports 10,000 false positives of filters of several families: none
// comes again, one by one or in batches, and every key is still there.
func TestCorrectedReplay(t *testing.T) {
	keys := hashes(50_000, 1)
	static, err := fuse.Config[uint8]{}.Build(t.Context(), slices.Clone(keys))
	if err != nil {
		t.Fatal(err)
	}
	full, err := cuckoo.Config{Capacity: len(keys), ErrorRate: 0.03}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := full.InsertHashes(keys); err != nil {
		t.Fatal(err)
	}
	set := bloom.New(len(keys), 0.03)
	set.AddHashes(nil, keys)
	for name, f := range map[string]bloomery.Hashed{"bloom": set, "cuckoo": full, "fuse8": static} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := correct(t, 0, f)
			bad := wrongs(c, 10_000, 100)
			report(t, c, bad)
			for _, c := range []*compose.Corrected{c, recoded(t, c)} {
				found := make([]bool, len(bad))
				c.ContainsHashes(found, bad)
				for i, h := range bad {
					if found[i] || c.ContainsHash(h) || c.CountHash(h) != 0 || c.DeleteHash(h) {
						t.Fatal("a false positive that was reported comes again")
					}
				}
				for _, h := range keys {
					if !c.ContainsHash(h) || c.CountHash(h) == 0 {
						t.Fatal("a key is denied")
					}
				}
				if st := c.Counts(); st.Held != 10_000 || st.Dropped != 0 || st.Refused != 0 || st.Room != compose.DefaultReports {
					t.Errorf("counts: %+v", st)
				}
			}
			n, err := c.InsertHashes(bad[1:100])
			if takes := name != "fuse8"; takes != (n == 99 && err == nil) || takes != c.ContainsHash(bad[1]) || takes != c.ContainsHash(bad[99]) {
				t.Errorf("insert of reported keys: %d, %v", n, err)
			}
			err = c.InsertHash(bad[0])
			if takes := name != "fuse8"; takes != (err == nil) || takes != c.ContainsHash(bad[0]) {
				t.Errorf("insert of a reported key: %v, found %v", err, c.ContainsHash(bad[0]))
			}
			if name == "fuse8" && !errors.Is(err, bloomery.ErrIncompatible) {
				t.Errorf("insert into a static filter: %v, want ErrIncompatible", err)
			}
		})
	}
}

// TestCorrectedMerge unites two, each with reports of which the other contains some.
func TestCorrectedMerge(t *testing.T) {
	make := func(seed uint64) (*compose.Corrected, []uint64) {
		c, keys := correct(t, 0, bloom.New(2000, 0.1)), hashes(2000, seed)
		if _, err := c.InsertHashes(keys); err != nil {
			t.Fatal(err)
		}
		return c, keys
	}
	a, keysA := make(1)
	b, keysB := make(2)
	badA, badB := wrongs(a, 500, 50), wrongs(b, 500, 70)
	var inB []uint64 // a key of b that a has reported
	for _, h := range keysB {
		if a.ContainsHash(h) {
			inB = append(inB, h)
		}
	}
	if len(inB) == 0 {
		t.Fatal("no key of b is a false positive of a")
	}
	report(t, a, append(badA, inB...))
	report(t, b, badB)
	kept := 0
	for _, h := range badA {
		if !b.ContainsHash(h) {
			kept++
		}
	}
	for _, h := range badB {
		if !a.ContainsHash(h) {
			kept++
		}
	}
	var yes []bool
	for _, h := range slices.Concat(badA, badB) {
		yes = append(yes, a.ContainsHash(h) || b.ContainsHash(h))
	}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	for _, h := range slices.Concat(keysA, keysB) {
		if !a.ContainsHash(h) {
			t.Fatal("a key is denied by the union")
		}
	}
	for i, h := range slices.Concat(badA, badB) {
		if a.ContainsHash(h) != yes[i] {
			t.Fatalf("the union says %v to what one of them had reported, both together %v", !yes[i], yes[i])
		}
	}
	if st := a.Counts(); st.Held != uint64(kept) {
		t.Errorf("%d reports, want %d", st.Held, kept)
	}
	if err := a.Merge(a); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("merge with itself: %v", err)
	}
	if err := a.Merge(correct(t, 0, bloom.New(10, 0.1))); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("merge with another shape: %v", err)
	}
}

// TestCorrectedDamage asks that bytes that are not those of a Corrected are refused, sound
// checksums or not.
func TestCorrectedDamage(t *testing.T) {
	c := correct(t, 8, bloom.New(100, 0.3))
	if _, err := c.InsertHashes(hashes(100, 1)); err != nil {
		t.Fatal(err)
	}
	report(t, c, wrongs(c, 7, 3))
	data, err := c.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	open := compose.CorrectedConfig{Open: openBloom}
	refuseDamage(t, "corrected", data, func(data []byte) error {
		_, err := open.Decode(data)
		return err
	})
	le := binary.LittleEndian
	reports := len(data) - 8 - 7*8
	for name, change := range map[string]func(d []byte){
		"order":     func(d []byte) { le.PutUint64(d[reports:], 1<<63); le.PutUint64(d[reports+8:], 1<<62) },
		"equal":     func(d []byte) { copy(d[reports:reports+8], d[reports+8:]) },
		"both":      func(d []byte) { copy(d[reports+4*8:], d[reports:reports+8]) },
		"free":      func(d []byte) { le.PutUint64(d[reports:], 0) },
		"mark":      func(d []byte) { le.PutUint64(d[reports:], 1) },
		"filter":    func(d []byte) { le.PutUint64(d[64:], 1<<63) },
		"long":      func(d []byte) { le.PutUint64(d[64:], le.Uint64(d[64:])+64) },
		"no room":   func(d []byte) { le.PutUint64(d[72:], 1) },
		"huge room": func(d []byte) { le.PutUint64(d[72:], 1<<63) },
		"over half": func(d []byte) { le.PutUint64(d[80:], 5); le.PutUint64(d[88:], 2) },
		"wraps":     func(d []byte) { le.PutUint64(d[80:], 1<<61); le.PutUint64(d[88:], 7) },
		"reserved":  func(d []byte) { d[64+40] = 1 },
		"capacity":  func(d []byte) { d[24]++ },
		"members":   func(d []byte) { d[56]++ },
	} {
		bad := bytes.Clone(data)
		change(bad)
		reseal(bad)
		if _, err := open.Decode(bad); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if v, err := open.View(bad); err == nil {
			for _, h := range hashes(1000, 1) {
				v.ContainsHash(h)
			}
			if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: Verify: %v, want ErrCorrupt", name, err)
			}
		}
	}
	if _, err := (compose.CorrectedConfig{}).Decode(data); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("without Open: %v", err)
	}
}

// TestGoldenCorrected reads reports of both halves, over a filter and over stripes.
func TestGoldenCorrected(t *testing.T) {
	stripes, err := compose.StripedConfig{Capacity: 80, Stripes: 2, Make: func(n int) (bloomery.Hashed, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: 0.1, Hasher: hashing.Seeded(5)}.New()
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]bloomery.Hashed{
		"v1-corrected-bloom": bloom.New(80, 0.1), "v1-corrected-empty": bloom.New(80, 0.1), "v1-corrected-striped": stripes,
	} {
		t.Run(name, func(t *testing.T) {
			c := correct(t, 10, f)
			for i := range 80 {
				if err := c.InsertString(fmt.Sprintf("key %d", i)); err != nil {
					t.Fatal(err)
				}
			}
			var bad []uint64
			if name != "v1-corrected-empty" {
				bad = wrongs(c, 8, 1)
			}
			report(t, c, bad)
			data, err := c.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			got, err := compose.CorrectedConfig{Open: openAnyCorrected}.Decode(golden.File(t, name, data))
			if err != nil {
				t.Fatalf("the golden file is not read any more: %v", err)
			}
			for i := range 80 {
				if key := fmt.Sprintf("key %d", i); !got.ContainsString(key) {
					t.Errorf("%q is missing", key)
				}
			}
			for _, h := range bad {
				if got.ContainsHash(h) {
					t.Errorf("the report of %x is lost", h)
				}
			}
			if got.Stats() != c.Stats() {
				t.Errorf("Stats of the file: %+v, want %+v", got.Stats(), c.Stats())
			}
		})
	}
}
