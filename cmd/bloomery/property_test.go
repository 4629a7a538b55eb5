// A test that compares filters on the command line with exact sets.

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstSets builds and asks with random records of any bytes, and
// compares the answers with those of an exact set.
func TestAgainstSets(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string {
			return strings.ReplaceAll(string(b), "\x00", "\n")
		})
		keys := rapid.SliceOfN(record, 1, 50).Draw(t, "keys")
		asked := rapid.SliceOfN(rapid.OneOf(record, rapid.SampledFrom(keys)), 1, 50).Draw(t, "asked")
		kind := rapid.SampledFrom([]string{"bloom", "standard", "scalable"}).Draw(t, "kind")
		name := filepath.Join(dir, "f.bf")
		_ = os.Remove(name)
		run := func(input []string, args ...string) (int, string) {
			var out, errOut bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(strings.Join(input, "\x00")+"\x00"), &out, &errOut)
			if code > exitNo {
				t.Fatalf("%q = %d, %s", args, code, &errOut)
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
				t.Fatalf("%q = %d, %q, want %q", c.args, code, got, c.want)
			}
		}
	})
}
