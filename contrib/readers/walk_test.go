package readers

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/hashing"
)

// walked returns a part of docs/format.md, from its heading to the next one.
func walked(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/format.md has no heading %q", heading)
	}
	part, _, _ := strings.Cut(rest, "\n##")
	return part
}

var (
	dumped = regexp.MustCompile(`(?m)^([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)(?: |$)`)
	hashed = regexp.MustCompile("(?m)^\\| (.+) \\| (\\d+) \\| `([0-9a-f]{16})` \\| `([0-9a-f]{16})` \\| `([0-9a-f]{16})` \\|$")
	named  = regexp.MustCompile("^(?:`([^`]*)`(?: × (\\d+))?|the empty key)$")
)

// dump compares the bytes that a part shows with those of a golden file, and returns the file and
// how many bytes are shown.
func dump(t *testing.T, part, path string) (data []byte, shown int) {
	t.Helper()
	if !strings.Contains(part, "`"+path+"`") {
		t.Errorf("%s is not named", path)
	}
	data, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range dumped.FindAllStringSubmatch(part, -1) {
		at, err := strconv.ParseInt(m[1], 16, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
		if err != nil || int(at)+len(b) > len(data) || string(data[at:int(at)+len(b)]) != string(b) {
			t.Errorf("%s: %q is not what the file has: %v", path, m[0], err)
		}
		shown += len(b)
	}
	return data, shown
}

// says asks that a part has these lines.
func says(t *testing.T, part string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(part, "\n"+line+"\n") {
			t.Errorf("docs/format.md does not say %q", line)
		}
	}
}

// TestWalkBloom holds docs/format.md to the golden file of a bloom filter, byte by byte.
func TestWalkBloom(t *testing.T) {
	part := walked(t, "### A bloom filter")
	data, shown := dump(t, part, "bloom/testdata/v1-bloom-1e-2.golden")
	if shown != len(data) {
		t.Errorf("%d bytes are shown of %d", shown, len(data))
	}
	for key, lanes := range map[string]int{"key 0": 7, "absent 0": 1} {
		h := hashing.Hasher{}.HashString(key)
		block, low := bits.Mul64(h, 2)
		start, y := int(low>>61), (h^h>>32)*0x9fb21c651e98df25
		says(t, part, fmt.Sprintf("h     = XXH3 of %q, seed 0  = %016x", key, h), fmt.Sprintf("block = %d, start = %d", block, start), fmt.Sprintf("y     = %016x", y))
		for i := range lanes {
			lane := (start + i) % 8
			b := byte(y >> (8 * lane))
			pos := int(b % 64)
			at := 64 + 64*int(block) + 8*lane + pos/8
			says(t, part, fmt.Sprintf("lane %d: byte %d of y is %02x, position %d: bit %d of the byte at %04x, %02x, is %d",
				lane, lane, b, pos, pos%8, at, data[at], data[at]>>(pos%8)&1))
		}
	}
}

// TestWalkFuse holds docs/format.md to the golden file of a fuse filter.
func TestWalkFuse(t *testing.T) {
	part := walked(t, "### A fuse filter")
	data, shown := dump(t, part, "fuse/testdata/v1-fuse8.golden")
	if want := 64 + 16 + 3 + 8; shown != want {
		t.Errorf("%d bytes are shown, want header, directory, three slots and table: %d", shown, want)
	}
	for _, key := range []string{"key 0", "absent 0"} {
		h := hashing.Hasher{}.HashString(key)
		start, _ := bits.Mul64(h, 3*64)
		slots := []uint64{start, (start + 64) ^ h>>18&63, (start + 128) ^ h&63}
		var b []any
		x := byte(0)
		for _, slot := range slots {
			b = append(b, data[128+slot])
			x ^= data[128+slot]
		}
		says(t, part, fmt.Sprintf("h           = XXH3 of %q, seed 0  = %016x", key, h),
			fmt.Sprintf("slots       = %d, %d, %d", slots[0], slots[1], slots[2]),
			fmt.Sprintf("fingerprint = %02x", byte(h&(1<<56-1)*0xd6e8feb86659fd93>>32)),
			fmt.Sprintf("slots xor   = %02x xor %02x xor %02x = %02x", append(b, x)...))
	}
}

// TestWalkHashes holds the hashes of docs/format.md.
func TestWalkHashes(t *testing.T) {
	rows := hashed.FindAllStringSubmatch(walked(t, "### Hashes of keys"), -1)
	if len(rows) != 14 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		name := named.FindStringSubmatch(row[1])
		if name == nil {
			t.Fatalf("the key %q", row[1])
		}
		key := name[1]
		if name[2] != "" {
			n, err := strconv.Atoi(name[2])
			if err != nil {
				t.Fatal(err)
			}
			key = strings.Repeat(key, n)
		}
		if row[2] != strconv.Itoa(len(key)) {
			t.Errorf("%s has %d bytes", row[1], len(key))
		}
		for i, h := range []hashing.Hasher{{}, hashing.Seeded(42), keyed} {
			if got := fmt.Sprintf("%016x", h.HashString(key)); got != row[3+i] {
				t.Errorf("%v of %s is %s, docs/format.md says %s", h, row[1], got, row[3+i])
			}
		}
	}
}
