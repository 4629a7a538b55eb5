package rdb_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/rdb"
)

// TestChecksum has the check value of CRC-64/Jones, as in Redis.
func TestChecksum(t *testing.T) {
	if got := rdb.Checksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("Checksum = %#x, want 0xe9c6d914c4b8d9ca", got)
	}
}

// bits returns a number from its bits.
func bits(t *testing.T, text string) (n uint64) {
	t.Helper()
	for _, c := range strings.ReplaceAll(text, " ", "") {
		n = n<<1 | uint64(c-'0')
	}
	return n
}

// TestModuleID spells out the bits: six for each of nine letters (A to Z, a to z,
// 0 to 9, - and _), and ten for the version.
func TestModuleID(t *testing.T) {
	// M 12, B 1, b 27, l 37, o 40, o 40, m 38, - 62, - 62
	want := bits(t, "001100 000001 011011 100101 101000 101000 100110 111110 111110 0000000100")
	if got := rdb.ModuleID("MBbloom--", 4); got != want {
		t.Errorf("ModuleID = %#x, want %#x", got, want)
	}
	if a, b := rdb.ModuleID("MBbloom--", 1023), rdb.ModuleID("MBbloom-_", 0); a+1 != b {
		t.Errorf("ids %#x and %#x are not neighbours", a, b)
	}
}

// TestPayload spells out a value: its type, the module's id as a length of 64
// bits, then the opcodes of Redis (2 number, 4 double, 5 string, 0 end), the
// version of RDB, and the checksum.
func TestPayload(t *testing.T) {
	id := rdb.ModuleID("MBbloom--", 4)
	w := rdb.NewWriter(id, 10)
	w.Uint(5)
	w.Double(0.5)
	w.Data([]byte("ab"))
	body := "07" + "81" + hex.EncodeToString(binary.BigEndian.AppendUint64(nil, id)) +
		"0205" + "04000000000000e03f" + "05026162" + "00" + "0c00"
	want, err := hex.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	want = binary.LittleEndian.AppendUint64(want, rdb.Checksum(want))
	if got := w.Payload(); !bytes.Equal(got, want) {
		t.Errorf("Payload = %x, want %x", got, want)
	}
}

// lengths are numbers around the limits of the forms of a length, with the bytes
// that each takes.
var lengths = []struct {
	n    uint64
	form string
}{
	{0, "00"},
	{63, "3f"},
	{64, "4040"},
	{16383, "7fff"},
	{16384, "8000004000"},
	{math.MaxUint32, "80ffffffff"},
	{math.MaxUint32 + 1, "810000000100000000"},
	{math.MaxUint64, "81ffffffffffffffff"},
}

func TestLengths(t *testing.T) {
	for _, c := range lengths {
		w := rdb.NewWriter(c.n, 0)
		data := w.Payload()
		if want := "07" + c.form + "00"; hex.EncodeToString(data[:len(data)-rdb.FooterBytes]) != want {
			t.Errorf("%d is written as %x, want %s", c.n, data[:len(data)-rdb.FooterBytes], want)
		}
		r := rdb.NewReader(data, nil)
		if kind := r.Byte(); kind != rdb.Module {
			t.Errorf("the type is %d", kind)
		}
		if got, special := r.Length(); got != c.n || special {
			t.Errorf("%d is read as %d (special: %v)", c.n, got, special)
		}
		r.End()
		if !r.Done() {
			t.Errorf("%d: not done", c.n)
		}
	}
}

// reader reads these bytes, with room for everything.
func reader(t *testing.T, form string) *rdb.Reader {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(form, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return rdb.NewReader(append(data, make([]byte, rdb.FooterBytes)...), func(uint64) bool { return true })
}

// TestText reads the forms that Redis has for strings.
func TestText(t *testing.T) {
	if got := []byte{rdb.String, rdb.Module}; !bytes.Equal(got, []byte{0, 7}) {
		t.Errorf("the types of strings and modules are %v, Redis has 0 and 7", got)
	}
	for form, want := range map[string]string{
		"03 616263":              "abc",
		"00":                     "",
		"c0 7f":                  "127",
		"c0 80":                  "-128",
		"c1 3930":                "12345",
		"c1 0080":                "-32768",
		"c2 ffffff7f":            "2147483647",
		"c2 00000080":            "-2147483648",
		"c3 05 06 01 6162 40 01": "ababab",
	} {
		r := reader(t, form)
		if got := r.Text(); string(got) != want || !r.Done() {
			t.Errorf("%s = %q (bad: %v), want %q", form, got, r.Bad, want)
		}
	}
}

// TestBad reads what is no value: everything is zero and Bad from there on.
func TestBad(t *testing.T) {
	text := func(r *rdb.Reader) bool { return r.Text() == nil }
	number := func(r *rdb.Reader) bool { return r.Uint() == 0 || r.Bad }
	double := func(r *rdb.Reader) bool { return r.Double() == 0 }
	end := func(r *rdb.Reader) bool { r.End(); return true }
	for _, c := range []struct {
		form string
		read func(*rdb.Reader) bool
	}{
		{"", text},
		{"", double},
		{"", func(r *rdb.Reader) bool { return r.Byte() == 0 }},
		{"04 616263", text},             // cut off
		{"80 0000", text},               // a length cut off
		{"81 00000000000000", text},     // another
		{"82", text},                    // no form of a length
		{"c1 39", text},                 // a number cut off
		{"c2 393939", text},             // another
		{"c4 01", text},                 // no encoding
		{"c3 01 02 00", text},           // packed, and a literal is missing
		{"c3 05 01 00 61", text},        // longer than what is left
		{"02 c0", number},               // an encoding is no number
		{"05 01", number},               // a string is none
		{"c2 01", number},               // an encoding is no opcode
		{"04 00000000", double},         // cut off
		{"02 0000000000000000", double}, // a number is no double
		{"02", end},
		{"c0", end},
	} {
		r := reader(t, c.form)
		if ok := c.read(r); !ok || !r.Bad || r.Done() {
			t.Errorf("%q: bad %v, done %v, zero %v", c.form, r.Bad, r.Done(), ok)
		}
		if r.Byte() != 0 || r.Text() != nil {
			t.Errorf("%q: a value comes after the bad one", c.form)
		}
	}
}

// TestFooter looks at every byte of the footer.
func TestFooter(t *testing.T) {
	data := rdb.AppendFooter(rdb.AppendString(nil, "alice"))
	if !rdb.FooterFits(data) {
		t.Fatal("our own footer does not fit")
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if rdb.FooterFits(bad) {
			t.Errorf("byte %d is changed, and the footer fits", i)
		}
		if rdb.FooterFits(data[:i]) {
			t.Errorf("%d bytes have a footer that fits", i)
		}
	}
	// Of a later version than ours, with its checksum.
	late := binary.LittleEndian.AppendUint16([]byte{0, 0}, 13)
	if rdb.FooterFits(binary.LittleEndian.AppendUint64(late, rdb.Checksum(late))) {
		t.Error("a payload of a later version is accepted")
	}
	empty := rdb.AppendFooter(nil)
	if len(empty) != rdb.FooterBytes || !rdb.FooterFits(empty) {
		t.Error("a footer alone does not fit")
	}
}

// TestHoles fills holes in pieces of all sizes, within the size that was foreseen
// and beyond.
func TestHoles(t *testing.T) {
	first, second := bytes.Repeat([]byte("x"), 100), bytes.Repeat([]byte("yz"), 150)
	plain := rdb.NewWriter(7, 0)
	plain.Uint(1)
	plain.Data(first)
	plain.Uint(2)
	plain.Data(second)
	want := plain.Payload()
	all := append(bytes.Clone(first), second...)
	for _, size := range []int{0, 50, 120, 1000} {
		for _, step := range []int{1, 7, 99, 100, 101, 1000} {
			w := rdb.NewWriter(7, size)
			w.Uint(1)
			w.Hole(len(first))
			w.Uint(2)
			w.Hole(len(second))
			if w.Holed() != len(all) {
				t.Fatalf("Holed = %d, want %d", w.Holed(), len(all))
			}
			for from := 0; from < len(all); from += step {
				w.Fill(from, all[from:min(from+step, len(all))])
			}
			w.Fill(len(all), []byte("beyond"))
			if got := w.Payload(); !bytes.Equal(got, want) {
				t.Fatalf("size %d, step %d: holes differ from strings", size, step)
			}
		}
	}
}

// TestUnpackLZF unpacks runs, copies near and far, short and long.
func TestUnpackLZF(t *testing.T) {
	literals := func(text string) (in []byte) {
		for len(text) > 0 {
			n := min(32, len(text))
			in = append(append(in, byte(n-1)), text[:n]...)
			text = text[n:]
		}
		return in
	}
	var long strings.Builder // no two of its bytes alike nearby
	for i := range 10_000 {
		long.WriteByte(byte(i*7 + i/256))
	}
	text := long.String()
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":         {nil, ""},
		"a literal":       {[]byte{0, 'a'}, "a"},
		"32 literals":     {literals(text[:32]), text[:32]},
		"three":           {[]byte{0, 'a', 1 << 5, 0}, "aaaa"},
		"eight":           {[]byte{0, 'a', 6 << 5, 0}, "a" + strings.Repeat("a", 8)},
		"nine":            {[]byte{0, 'a', 7 << 5, 0, 0}, "a" + strings.Repeat("a", 9)},
		"264":             {[]byte{0, 'a', 7 << 5, 255, 0}, "a" + strings.Repeat("a", 264)},
		"256 back":        {append(literals(text[:300]), 1<<5, 255), text[:300] + text[44:47]},
		"257 back":        {append(literals(text[:300]), 1<<5|1, 0), text[:300] + text[43:46]},
		"8192 back":       {append(literals(text[:9000]), 1<<5|0x1f, 255), text[:9000] + text[808:811]},
		"from the first":  {append(literals(text[:300]), 1<<5|1, 43), text[:300] + text[:3]},
		"literals behind": {append([]byte{0, 'a', 1 << 5, 0}, literals("bc")...), "aaaabc"},
	} {
		if got, ok := rdb.UnpackLZF(c.in, uint64(len(c.want))); !ok || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, c.want)
		}
		for _, size := range []int{len(c.want) + 1, len(c.want) - 1} {
			if _, ok := rdb.UnpackLZF(c.in, uint64(size)); ok {
				t.Errorf("%s: %d bytes are taken for %d", name, len(c.want), size)
			}
		}
	}
	for name, in := range map[string][]byte{
		"a run cut off":             {3, 'a', 'b'},
		"a copy without distance":   {0, 'a', 1 << 5},
		"a long one without length": {0, 'a', 7 << 5},
		"a long one cut off":        {0, 'a', 7 << 5, 0},
		"before the first byte":     {0, 'a', 1 << 5, 1},
		"nothing to copy":           {1 << 5, 0},
	} {
		for size := range uint64(12) {
			if got, ok := rdb.UnpackLZF(in, size); ok {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if _, ok := rdb.UnpackLZF([]byte{0, 'a'}, 1<<50); ok {
		t.Error("two bytes are taken for a petabyte")
	}
}

// TestRoom asks for memory before anything is unpacked, and not for what cannot be.
func TestRoom(t *testing.T) {
	packed := append([]byte{0xc3, 5, 0x41, 0x09}, 0, 'a', 7<<5, 255, 0) // 265 bytes in 5
	var asked []uint64
	read := func(data []byte, answer bool) *rdb.Reader {
		asked = nil
		r := rdb.NewReader(rdb.AppendFooter(bytes.Clone(data)), func(n uint64) bool {
			asked = append(asked, n)
			return answer
		})
		r.Text()
		return r
	}
	if r := read(packed, true); !r.Done() || r.NoRoom || len(asked) != 1 || asked[0] != 265 {
		t.Errorf("bad %v, no room %v, asked for %v, want 265", r.Bad, r.NoRoom, asked)
	}
	if r := read(packed, false); !r.Bad || !r.NoRoom {
		t.Errorf("without room: bad %v, no room %v", r.Bad, r.NoRoom)
	}
	huge := append([]byte{0xc3, 5, 0x80, 0x7f, 0, 0, 0}, packed[4:]...)
	if r := read(huge, true); !r.Bad || r.NoRoom || len(asked) != 0 {
		t.Errorf("two gigabytes in five bytes: bad %v, asked for %v", r.Bad, asked)
	}
}
