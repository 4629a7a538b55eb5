package murmur_test

import (
	"testing"

	"github.com/bloomery/bloomery/internal/murmur"
)

func TestSum32(t *testing.T) {
	for _, c := range []struct {
		key  string
		seed uint32
		want uint32
	}{
		{"", 0, 0},
		{"", 1, 0x514e28b7},
		{"", 0xffffffff, 0x81f16f39},
		{"\x21\x43\x65\x87", 0x5082edee, 0x2362f9de},
	} {
		if got := murmur.Sum32([]byte(c.key), c.seed); got != c.want {
			t.Errorf("Sum32(%q, %x) = %08x, want %08x", c.key, c.seed, got, c.want)
		}
	}
}

// TestLevel has the values of LevelDB's own test of its hash, and of RocksDB's, whose
// tails are signed.
func TestLevel(t *testing.T) {
	for key, want := range map[string]uint32{
		"": 0xbc9f1d34, "\x62": 0xef1345c4, "\xc3\x97": 0x5b663814, "\xe2\x99\xa5": 0x323c078f, "\xe1\x80\xb9\x32": 0xed21633a,
	} {
		if got := murmur.Level([]byte(key), murmur.LevelSeed); got != want {
			t.Errorf("Level(%q) = %08x, want %08x", key, got, want)
		}
	}
	for key, want := range map[string]uint32{"\x9a": 3195034349, "\x56\xdc\xd6": 2157698265, "": 0xbc9f1d34} {
		if got := murmur.LevelSigned([]byte(key), murmur.LevelSeed); got != want {
			t.Errorf("LevelSigned(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestSum128Signed(t *testing.T) {
	const key = "caf\xc3\xa9"
	if h, _ := murmur.Sum128([]byte(key), 0); h != 0xa2e7c22a053364dd {
		t.Errorf("Sum128 = %016x", h)
	}
	if h, _ := murmur.Sum128Signed([]byte(key)); h != 0xafd301862e40ab78 {
		t.Errorf("Sum128Signed = %016x", h)
	}
	a1, a2 := murmur.Sum128Signed([]byte("only ASCII, and more than 16 bytes"))
	b1, b2 := murmur.Sum128([]byte("only ASCII, and more than 16 bytes"), 0)
	if a1 != b1 || a2 != b2 {
		t.Error("the hashes of ASCII differ")
	}
}

func TestSum128Suffixed(t *testing.T) {
	key := make([]byte, 0, 50)
	for i := range 50 {
		a1, a2 := murmur.Sum128Suffixed(key, 1)
		b1, b2 := murmur.Sum128(append(key, 1), 0)
		if a1 != b1 || a2 != b2 {
			t.Errorf("%d bytes: %x %x, want %x %x", len(key), a1, a2, b1, b2)
		}
		key = append(key, byte(i*37))
	}
}
