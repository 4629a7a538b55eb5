// Tests of build, check and add for every kind.

package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// TestKinds takes every kind of the table through the commands.
func TestKinds(t *testing.T) {
	many := []byte(numbered(140_000)) // more hashes than the least memory holds
	for _, k := range codec.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			if testing.Short() && !slices.Contains([]string{"bloom", "cuckoo", "ribbon"}, k.Name) {
				t.Skip("one kind that adds, one that inserts and one that is built will do")
			}
			if k.Features.Get || k.Features.Out {
				t.Skip("it is built from more than keys: see the scripts map and exact")
			}
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			write(t, in("one"), []byte(strings.Repeat("alice\nbob\n", 2)+numbered(500)))
			write(t, in("two"), []byte("carol\nbob\n"))
			write(t, in("many"), many)
			fine := func(args ...string) (out string) {
				t.Helper()
				code, out, errOut := call(t, args...)
				if code != 0 {
					t.Errorf("%q = %d, %s", args, code, errOut)
				}
				return out
			}
			fine("build", "--kind", k.Name, "-p", "1%", "-o", in("counted"), in("one"))
			fine("build", "--kind", k.Name, "-p", "1%", "--max-memory", "1MiB", "-o", in("spooled"), in("many"), in("one"))
			fine("build", "--kind", k.Name, "-n", "1000", "-p", "1%", "-o", in("a"), in("one"))
			fine("build", "--kind", k.Name, "-n", "1000", "-p", "1%", "-o", in("b"), in("two"))
			for _, f := range []string{"counted", "spooled", "a"} {
				if out := fine("check", "-c", in(f), "-f", in("one")); out != "504\n" {
					t.Errorf("%s finds %q of 504 lines", f, out)
				}
			}
			if !k.Features.Static {
				fine("create", "--kind", k.Name, "-n", "1000", in("empty"))
				fine("add", in("empty"), in("one"))
				fine("check", "-q", in("empty"), "alice")
			} else if code, _, errOut := call(t, "add", in("a"), in("one")); code != 2 || !strings.Contains(errOut, "never changes") {
				t.Errorf("add to a static filter = %d, %s", code, errOut)
			}
			if out := fine("inspect", "--probe", "1e4", in("a")); !strings.Contains(out, k.Name) || !strings.Contains(out, "sound") {
				t.Errorf("inspect: %s", out)
			}
			fine("convert", "--to", "transport", "-o", in("packed"), in("a"))
			fine("convert", "--to", "plain", "-o", in("again"), in("packed"))
			sameFiles(t, in("a"), in("again"))
			if code, _, errOut := call(t, "merge", "-o", in("m"), in("a"), in("b")); code == 0 {
				fine("check", "-q", in("m"), "carol")
			} else if code != 4 || !strings.Contains(errOut, "cannot") {
				t.Errorf("merge = %d, %s", code, errOut)
			}
			if code, _, errOut := call(t, "diff", in("a"), in("b")); code != 1 {
				t.Errorf("diff = %d, %s", code, errOut)
			}
			if out := fine("diff", "--json", in("a"), in("a")); strings.Contains(out, `"jaccard"`) && !strings.Contains(out, `"jaccard":1}`) {
				t.Errorf("a filter is not like itself: %s", out)
			}
		})
	}
}

// numbered returns n lines.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(grouped(uint64(i)) + "\n")
	}
	return b.String()
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(x) != string(y) {
		t.Errorf("%s and %s differ", filepath.Base(a), filepath.Base(b))
	}
}

// TestCounting makes a bloom filter of one that counts.
func TestCounting(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "words"), []byte(strings.Repeat("alice\n", 12)+"bob\n"))
	from, to := filepath.Join(dir, "counting"), filepath.Join(dir, "bloom")
	for _, args := range [][]string{
		{"build", "--kind", "counting", "--multiset", "-n", "100", "-o", from, filepath.Join(dir, "words")},
		{"convert", "--to", "bloom", "-o", to, from},
		{"check", "-q", to, "alice"},
	} {
		if code, _, errOut := call(t, args...); code != 0 {
			t.Fatalf("%q = %d, %s", args, code, errOut)
		}
	}
	if code, out, errOut := call(t, "count", from, "alice", "bob", "zoe"); code != 0 || out != "12\talice\n1\tbob\n0\tzoe\n" {
		t.Errorf("count = %d, %q, %s", code, out, errOut)
	}
}

// TestSurely takes three standard deviations off what is estimated.
func TestSurely(t *testing.T) {
	f := bloom.New(10_000, 0.01)
	bits := f.Stats().Bits
	slack := uint64(math.Ceil(24_000 / math.Sqrt(float64(bits))))
	for _, c := range []struct {
		before uint64
		exact  bool
		want   uint64
	}{
		{10_000, true, 10_005}, {10_000, false, 10_005 - slack}, {slack - 1, false, 5}, {unknownItems, false, unknownItems},
	} {
		if got := surely(f, c.before, c.exact, 5); got != c.want {
			t.Errorf("%d before (exact: %v): %d, want %d", c.before, c.exact, got, c.want)
		}
	}
}
