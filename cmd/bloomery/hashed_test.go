package main

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/hashing/named"
)

// TestDigestFromHex holds digests in hex of every length, in both cases, against encoding/hex,
// and asks that every byte that is no digit is refused at every place.
func TestDigestFromHex(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	for n := range longestDigest + 2 {
		digest := make([]byte, n)
		for i := range digest {
			digest[i] = byte(rng.Uint32())
		}
		text := []byte(hex.EncodeToString(digest))
		for _, text := range [][]byte{text, bytes.ToUpper(text)} {
			got, ok := digestFromHex(text)
			if want := n >= leastDigest && n <= longestDigest; ok != want || ok && got != named.DigestHash(digest) {
				t.Errorf("%s = %x, %v", text, got, ok)
			}
		}
		if n < leastDigest || n > longestDigest {
			continue
		}
		if _, ok := digestFromHex(text[1:]); ok {
			t.Errorf("half a byte of %s is accepted", text)
		}
		for at := range text {
			was := text[at]
			for c := range 256 {
				text[at] = byte(c)
				want, err := hex.DecodeString(string(text))
				if got, ok := digestFromHex(text); ok != (err == nil) || ok && got != named.DigestHash(want) {
					t.Fatalf("%q = %x, %v", text, got, ok)
				}
			}
			text[at] = was
		}
	}
}
