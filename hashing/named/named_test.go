package named_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
)

const fox = "The quick brown fox jumps over the lazy dog"

// Values of the specifications, of the papers, or of the C programs.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		name string
		h    hashing.Hasher
		key  string
		want uint64
	}{
		{"xxh64", named.XXH64(), "", 0xef46db3751d8e999},
		{"xxh64", named.XXH64(), "a", 0xd24ec4f1a98c6e5b},
		{"xxh64", named.XXH64(), "abc", 0x44bc2cf5ad770999},
		{"xxh64", named.XXH64(), "hello", 0x26c7827d889f6da3},
		{"xxh64", named.XXH64(), fox, 0x0b242d361fda71bc},
		{"xxh64", named.XXH64(), sevens(1000), 0x25275608a9cfc168},
		{"murmur3", named.Murmur3(), "", 0},
		{"murmur3", named.Murmur3(), fox, 0xe34bbc7bbc071b6c},
		{"fnv1a", named.FNV1a(), "", 0xcbf29ce484222325},
		{"fnv1a", named.FNV1a(), "a", 0xaf63dc4c8601ec8c},
		{"fnv1a", named.FNV1a(), "foobar", 0x85944171f73967e8},
		{"city64", named.City64(), "hello", 0xb48be5a931380ce8},
		{"city64", named.City64(), fox, 0xc268724928feca7d},
		{"farm64", named.Farm64(), "", 0x9ae16a3b2f90404f},
		{"farm64", named.Farm64(), "a", 0xb3454265b6df75e3},
		{"farm64", named.Farm64(), "hello", 0xb48be5a931380ce8},
		{"farm64", named.Farm64(), fox, 0xabbe83f33b1b5134},
		// RFC 7693, appendix A, and the test vectors of BLAKE3.
		{"blake2b", named.BLAKE2b(), "abc", first8(t, "ba80a53f981c4d0d")},
		{"blake3", named.BLAKE3(), "", first8(t, "af1349b9f5f9a1a6")},
		{"blake3", named.BLAKE3(), "\x00", first8(t, "2d3adedff11b61f1")},
		{"blake3", named.BLAKE3(), counting(1024), first8(t, "42214739f095a406")},
		// RFC 4231, cases 1, 2 and 6.
		{"hmac", named.HMACSHA256(bytes.Repeat([]byte{0x0b}, 20)), "Hi There", first8(t, "b0344c61d8db3853")},
		{"hmac", named.HMACSHA256([]byte("Jefe")), "what do ya want for nothing?", first8(t, "5bdcc146bf60754e")},
		{
			"hmac", named.HMACSHA256(bytes.Repeat([]byte{0xaa}, 131)),
			"Test Using Larger Than Block-Size Key - Hash Key First", first8(t, "60e431591ee0b67f"),
		},
	} {
		for range 2 { // HMAC keeps its state
			if got := c.h.HashString(c.key); got != c.want {
				t.Errorf("%s of %.20q = %016x, want %016x", c.name, c.key, got, c.want)
			}
		}
	}
}

// first8 is the first 8 bytes of a digest as the package reads them.
func first8(t *testing.T, digest string) uint64 {
	t.Helper()
	b, err := hex.DecodeString(digest)
	if err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b)
}

// sevens returns n bytes with the values 0, 7, 14 and so on.
func sevens(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return string(b)
}

// counting returns n bytes as BLAKE3's vectors have them.
func counting(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return string(b)
}

// SMHasher sums a function up in one number: the hash of the hashes of 256
// keys of 0 to 255 bytes, with as many seeds. So it covers every length.
func TestSMHasherVerification(t *testing.T) {
	murmur := func(key []byte, seed uint64) []byte {
		h1, h2 := named.Murmur3Seeded(key, seed)
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, h1), h2)
	}
	city := func(key []byte, _ uint64) []byte {
		return binary.LittleEndian.AppendUint64(nil, named.City64().Hash(key))
	}
	for _, c := range []struct {
		name string
		hash func(key []byte, seed uint64) []byte
		want uint32
	}{
		{"murmur3 x64-128", murmur, 0x6384ba69},
		{"city64 1.1 without seed", city, 0x4c4e54b1},
	} {
		var key, all []byte
		for i := range 256 {
			all = append(all, c.hash(key, uint64(256-i))...)
			key = append(key, byte(i))
		}
		if got := binary.LittleEndian.Uint32(c.hash(all, 0)); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	if h1, h2 := named.Murmur3Seeded([]byte("hello"), 1); h1 != 0xa78ddff5adae8d10 || h2 != 0x128900ef20900135 {
		t.Errorf("murmur3 of hello, seed 1 = %016x %016x", h1, h2)
	}
}

func TestFNVAgreesWithStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := named.FNV1a()
	for n := range 100 {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		std := fnv.New64a()
		std.Write(key)
		if got, want := h.Hash(key), std.Sum64(); got != want {
			t.Fatalf("%d bytes: %016x, want %016x", n, got, want)
		}
	}
}

// Each function is found by its name and by what a file holds of it.
func TestNamesAndChecks(t *testing.T) {
	if n := len(named.All()); n != 10 {
		t.Errorf("All has %d functions, want 10", n)
	}
	for _, h := range named.All() {
		again, err := named.ByName(h.Name)
		if err != nil || again.Name != h.Name || h.Description == "" || h.Weakness == "" == !h.Secret {
			t.Errorf("%s: %+v, %v", h.Name, again, err)
		}
		secret := []byte("a secret of ours")
		right, wrong := secret, []byte(nil)
		if !h.Secret {
			right, wrong = wrong, right[:1]
		}
		if _, err := h.Hasher(wrong); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s with a wrong number of secrets: %v, want ErrParameter", h.Name, err)
		}
		hasher, err := h.Hasher(right)
		if err != nil || hasher.Kind() != hashing.Custom {
			t.Fatalf("%s: kind %v, %v", h.Name, hasher.Kind(), err)
		}
		found, ok := named.Find(hasher.Check())
		if ok == h.Secret || ok && found.Name != h.Name {
			t.Errorf("Find of %s = %s, %v", h.Name, found.Name, ok)
		}
	}
	if _, ok := named.Find(0); ok {
		t.Error("Find(0) found something")
	}
	if _, err := named.ByName("md5"); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("ByName(md5): %v, want ErrParameter", err)
	}
	if _, err := (named.Hash{}).Hasher(nil); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("Hasher of a zero Hash: %v, want ErrParameter", err)
	}
}

// The hash of a digest is its first 8 bytes, mixed: other text behind them changes nothing, and a
// short one has zeros behind it.
func TestDigest(t *testing.T) {
	for digest, want := range map[string]uint64{
		"":                                 0,
		"\x01":                             0xb456bcfc34c2cb2c,
		"\x01\x00\x00\x00\x00\x00\x00\x00": 0xb456bcfc34c2cb2c,
		"\x01\x00\x00\x00\x00\x00\x00\x00 and more": 0xb456bcfc34c2cb2c,
	} {
		if got := named.DigestHash([]byte(digest)); got != want {
			t.Errorf("%q: %#x, want %#x", digest, got, want)
		}
		if got := named.Digest().HashString(digest); got != want {
			t.Errorf("%q: %#x, want %#x", digest, got, want)
		}
	}
	digest := make([]byte, 20)
	if got := testing.AllocsPerRun(100, func() { named.DigestHash(digest) }); got > 0 {
		t.Errorf("%v allocations", got)
	}
}

// Changing All's result must change nothing for others, and a secret that is
// wiped after use must go on working.
func TestCopies(t *testing.T) {
	named.All()[0].Name = "changed"
	if _, err := named.ByName("xxh64"); err != nil {
		t.Error(err)
	}
	secret := []byte("a secret of ours")
	h := named.HMACSHA256(secret)
	want := h.HashString("x")
	clear(secret)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if got := h.HashString("x"); got != want {
					t.Errorf("%016x, want %016x", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// The copy of the key is the one allocation that hashing.Func promises.
func TestAllocs(t *testing.T) {
	key := []byte("user:0000000000000000042")
	for _, h := range named.All() {
		hasher, err := h.Hasher(secretFor(h))
		if err != nil {
			t.Fatal(err)
		}
		want := 1.0
		if h.Secret {
			want = 6 // the digest's buffer and state; under the race detector pools drop things
		}
		if got := testing.AllocsPerRun(100, func() { hasher.Hash(key) }); got > want {
			t.Errorf("%s allocates %v times, want %v", h.Name, got, want)
		}
	}
}

// secretFor returns a secret if h needs one.
func secretFor(h named.Hash) []byte {
	if h.Secret {
		return []byte("sixteen byte key")
	}
	return nil
}

func BenchmarkNamed(b *testing.B) {
	key := []byte("user:0000000000000000042")
	for _, h := range named.All() {
		hasher, err := h.Hasher(secretFor(h))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("hash="+h.Name+"/len=24", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hasher.Hash(key)
			}
		})
	}
}
