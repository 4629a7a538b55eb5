package codec_test

import (
	"bytes"
	"crypto/aes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// Whatever holds a Hasher can be printed in every way: the key is not seen.
func TestPrintsNoSecret(t *testing.T) {
	secret := [16]byte{0xb7, 0x1d, 0xe5, 0x93, 0xc1, 0x4f, 0xaa, 0x68, 0x95, 0xd3, 0x7e, 0x21, 0xf9, 0x86, 0x3c, 0xed}
	h := hashing.Keyed(secret)
	things := map[string]any{
		"Hasher":             h,
		"*Hasher":            &h,
		"exported field":     struct{ Hasher hashing.Hasher }{h},
		"unexported field":   struct{ hasher hashing.Hasher }{h},
		"pointer field":      struct{ hasher *hashing.Hasher }{&h},
		"pointer to struct":  &struct{ hasher hashing.Hasher }{h},
		"interface field":    struct{ hasher any }{h},
		"slice":              []hashing.Hasher{h},
		"map":                map[string]hashing.Hasher{"h": h},
		"unexported slice":   struct{ all []hashing.Hasher }{[]hashing.Hasher{h}},
		"bloom.Config":       bloom.Config{Hasher: h},
		"*bloom.Config":      &bloom.Config{Hasher: h},
		"counting.Config":    counting.Config{Hasher: h},
		"cuckoo.Config":      cuckoo.Config{Hasher: h},
		"quotient.Config":    quotient.Config{Hasher: h},
		"fuse.Config":        fuse.Config[uint8]{Hasher: h},
		"ribbon.Config":      ribbon.Config{Hasher: h},
		"exact.Config":       exact.Config{Hasher: h},
		"codec.Config":       codec.Config{Hasher: h},
		"WindowConfig":       compose.WindowConfig{Hasher: h, Rotate: true},
		"QuorumConfig":       compose.QuorumConfig{Hasher: h},
		"Striped":            stripedFilter(t, h),
		"Corrected":          correctedFilter(t, h),
		"Layers":             layersFilter(t, h),
		"rotating Window":    rotatingWindow(t, h),
		"user's with Config": struct{ c bloom.Config }{bloom.Config{Hasher: h}},
	}
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, hashes(3, 1), 3, 0.1, h)
		if err != nil {
			t.Fatal(err)
		}
		v, err := codec.Config{Hasher: h}.View(encoded(t, f))
		if err != nil {
			t.Fatal(err)
		}
		things["filter "+k.Name], things["view "+k.Name] = f, v
		things["user's with "+k.Name] = struct{ f any }{f}
	}
	concurrent, err := bloom.Config{Capacity: 3, ErrorRate: 0.1, Hasher: h}.NewConcurrent()
	if err != nil {
		t.Fatal(err)
	}
	columns, err := bloom.Config{Columns: 1, Capacity: 3, ErrorRate: 0.1, Hasher: h}.NewSliced()
	if err != nil {
		t.Fatal(err)
	}
	things["concurrent"], things["sliced"] = concurrent, columns
	for name, thing := range things {
		texts := map[string]string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%t", "%p"} {
			texts[verb] = fmt.Sprintf(verb, thing)
		}
		data, err := json.Marshal(thing) // some cannot be: their error is a text too
		texts["json"] = string(data) + fmt.Sprint(err)
		for how, text := range texts {
			if seen := shown(text, secret); seen != "" {
				t.Errorf("%s by %s shows the key as %s: %.300s", name, how, seen, text)
			}
		}
	}
	// The search finds what a Hasher with its key inside would print.
	type leak struct{ k0, k1 uint64 }
	for _, verb := range []string{"%v", "%x", "%X", "%o", "%b"} {
		if shown(fmt.Sprintf(verb, leak{littleEndian(secret[:8]), littleEndian(secret[8:])}), secret) == "" {
			t.Errorf("%s: the search does not find halves of the key", verb)
		}
		if shown(fmt.Sprintf(verb, secret), secret) == "" {
			t.Errorf("%s: the search does not find the bytes of the key", verb)
		}
	}
}

// A Sealer and an Unsealer can be printed in every way: the key of the cipher,
// from which the file can be read, is not seen.
func TestSealerPrintsNoKey(t *testing.T) {
	key := [32]byte{5, 6, 7}
	var file bytes.Buffer
	s, err := codec.NewSealer(&file, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	derived, err := hkdf.Key(sha256.New, key[:], file.Bytes()[16:48], "bloomery sealed filter 1", 32)
	if err != nil {
		t.Fatal(err)
	}
	u := codec.NewUnsealer(&file, key)
	if _, err := io.ReadAll(u); err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		t.Fatal(err)
	}
	shows := func(verb string, thing any) bool {
		text := strings.ToLower(fmt.Sprintf(verb, thing))
		for _, form := range []string{"%d %d", "%x %x", "0x%x, 0x%x"} {
			for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} { // AES has either
				if strings.Contains(text, fmt.Sprintf(form, order.Uint32(derived), order.Uint32(derived[4:]))) {
					return true
				}
			}
		}
		return false
	}
	if !shows("%v", block) {
		t.Error("the search does not find the key in a cipher")
	}
	for _, thing := range []any{s, *s, u, *u, struct{ s *codec.Sealer }{s}, struct{ u *codec.Unsealer }{u}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			if shows(verb, thing) {
				t.Errorf("%T by %s shows the key", thing, verb)
			}
		}
	}
}

// shown returns the form in which a text shows half of a key, "" if in none.
func shown(text string, secret [16]byte) string {
	for _, half := range [][]byte{secret[:8], secret[8:]} {
		x := littleEndian(half)
		forms := map[string]string{
			"raw bytes": string(half),
			"hex":       hex.EncodeToString(half),
			"binary":    fmt.Sprintf("%b", x),
			"octal":     fmt.Sprintf("%o", x),
			"decimal":   fmt.Sprint(x),
			"word":      fmt.Sprintf("%x", x),
		}
		for _, verb := range []string{"%d", "%o", "%b"} {
			list := fmt.Sprintf(verb, half)
			forms["list by "+verb] = strings.Trim(list, "[]")
		}
		for form, want := range forms {
			if bytes.Contains(bytes.ToLower([]byte(text)), bytes.ToLower([]byte(want))) {
				return form
			}
		}
	}
	return ""
}

func littleEndian(b []byte) (x uint64) {
	for i, v := range b {
		x |= uint64(v) << (8 * i)
	}
	return x
}
