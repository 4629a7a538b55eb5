// A test that compares filters on the command line with exact sets.

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAgainstSets builds and asks with random records of any bytes, and
// compares the answers with those of an exact set.
func TestAgainstSets(t *testing.T) {
	dir, kinds := t.TempDir(), []string{"bloom", "standard", "scalable"}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		record := func() string { // the empty one now and then
			b := make([]byte, rng.IntN(41)*rng.IntN(4)/3)
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			return strings.ReplaceAll(string(b), "\x00", "\n")
		}
		keys, asked := make([]string, 1+rng.IntN(50)), make([]string, 1+rng.IntN(50))
		for i := range keys {
			keys[i] = record()
		}
		for i := range asked {
			if asked[i] = record(); rng.IntN(2) == 0 {
				asked[i] = keys[rng.IntN(len(keys))]
			}
		}
		kind := kinds[seed%3]
		name := filepath.Join(dir, "f.bf")
		_ = os.Remove(name)
		run := func(input []string, args ...string) (int, string) {
			var out, errOut bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(strings.Join(input, "\x00")+"\x00"), &out, &errOut)
			if code > exitNo {
				t.Fatalf("seed %d: %q = %d, %s", seed, args, code, &errOut)
			}
			return code, out.String()
		}
		// At this rate no false positive is seen.
		run(keys, "build", "-0", "--kind", kind, "-p", "1e-6", "-o", name)
		var want, strangers strings.Builder
		for _, a := range asked {
			if slices.Contains(keys, a) {
				want.WriteString(a + "\x00")
			} else {
				strangers.WriteString(a + "\x00")
			}
		}
		for _, c := range []struct {
			want string
			args []string
		}{{want.String(), []string{"check", "-0", name}}, {strangers.String(), []string{"check", "-0", "-v", name}}} {
			code, got := run(asked, c.args...)
			if got != c.want || (code == exitNo) != (c.want == "") {
				t.Fatalf("seed %d: %q = %d, %q, want %q", seed, c.args, code, got, c.want)
			}
		}
	}
}
