// Keys that are digests already: lists of SHA-1 sums and the like.

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
)

// hashFunc puts the hashes of keys into dst, which is as long.
type hashFunc func(dst []uint64, keys [][]byte) error

// digestFlags say that keys are digests, and how they are written.
type digestFlags struct {
	text string
}

// The ways to write a digest.
const (
	inHex    = "hex"
	inBase64 = "base64"
)

func (o *digestFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.text, "hashed", "", "keys are digests already, such as SHA-1 sums, written in `FORM`: hex or base64; they are not hashed again")
	completeWords(cmd, "hashed", inHex, inBase64)
}

// goesWith returns an error if the flag does not go with those of the input.
func (o *digestFlags) goesWith(in *inputFlags) error {
	switch {
	case o.text != "" && o.text != inHex && o.text != inBase64:
		return hinted{fmt.Errorf("--hashed: unknown form %q", o.text), "hex or base64"}
	case o.text != "" && in.fold:
		return errors.New("--hashed and -i exclude each other: digests in hex are the same in both cases")
	}
	return nil
}

// isDigest reports whether a hasher is the one for digests.
func isDigest(h hashing.Hasher) bool { return h.Equal(named.Digest()) }

// hashesOf returns the function that hashes keys as a filter does.
func (o *digestFlags) hashesOf(name string, f interface{ Hash(key []byte) uint64 }) (hashFunc, error) {
	own, ok := f.(interface{ Hasher() hashing.Hasher })
	switch digests := ok && isDigest(own.Hasher()); {
	case digests && o.text == "":
		return nil, hinted{fmt.Errorf("%s: its keys are digests", name), "say how they are written: --hashed hex or --hashed base64"}
	case !digests && o.text != "":
		return nil, hinted{fmt.Errorf("--hashed: %s was not built from digests", name), "leave --hashed out, or build it again with it"}
	case digests:
		return o.digests(), nil
	case ok:
		return plainHashes(own.Hasher()), nil
	}
	return func(dst []uint64, keys [][]byte) error {
		for i, key := range keys {
			dst[i] = f.Hash(key)
		}
		return nil
	}, nil
}

// plainHashes hashes keys as they are.
func plainHashes(h hashing.Hasher) hashFunc {
	return func(dst []uint64, keys [][]byte) error {
		h.HashKeys(dst, keys)
		return nil
	}
}

// digestHasher returns the hasher of --hashed.
func (o *buildOptions) digestHasher() (hashing.Hasher, error) {
	if o.seed.text != "" || o.file != "" || o.hash != defaultHash {
		return hashing.Hasher{}, errors.New("--hashed takes digests as they are: leave --hash, --seed and --key-file out")
	}
	return named.Digest(), o.goesWith(&o.inputFlags)
}

// digests returns the function that reads keys as digests.
func (o *digestFlags) digests() hashFunc {
	decode := digestFromHex
	if o.text == inBase64 {
		decode = digestFromBase64
	}
	return func(dst []uint64, keys [][]byte) error {
		for i, key := range keys {
			var ok bool
			if dst[i], ok = decode(key); !ok {
				return &notDigest{i, o.text, string(key[:min(len(key), longestShown)])}
			}
		}
		return nil
	}
}

// longestShown is how much of a wrong key is printed.
const longestShown = 80

// notDigest is the error for a key that is not a digest.
type notDigest struct {
	record int // in its batch
	form   string
	key    string
}

func (e *notDigest) Error() string {
	return fmt.Sprintf("%q is not a digest of %d to %d bytes in %s", e.key, leastDigest, longestDigest, e.form)
}

// The lengths of digests in bytes: what is shorter has more accidental equals than a filter
// promises, and SHA-512 has the longest.
const (
	leastDigest   = 8
	longestDigest = 64
)

// digestFromHex returns the hash of a digest in hex. All of it is checked, and its first bytes
// are used.
func digestFromHex(text []byte) (hash uint64, ok bool) {
	const word = 8 // digits
	if len(text) < 2*leastDigest || len(text) > 2*longestDigest || len(text)%2 != 0 {
		return 0, false
	}
	fine := uint64(highBits)
	for at := 0; at < len(text); at += word {
		fine &= hexDigits(binary.LittleEndian.Uint64(text[min(at, len(text)-word):]))
	}
	var digest [leastDigest]byte
	binary.LittleEndian.PutUint32(digest[:], hexBytes(binary.LittleEndian.Uint64(text)))
	binary.LittleEndian.PutUint32(digest[4:], hexBytes(binary.LittleEndian.Uint64(text[word:])))
	return named.DigestHash(digest[:]), fine == highBits
}

const (
	// everyByte is what a byte is multiplied by to be in all bytes of a word.
	everyByte = 0x0101010101010101
	// highBits are the high bits of all bytes.
	highBits = 0x80 * everyByte
)

// hexDigits returns the high bit of every byte of w that is a digit in hex.
func hexDigits(w uint64) uint64 {
	low := w &^ highBits
	lower := low | 0x20*everyByte
	digits := (low + (0x80-'0')*everyByte) &^ (low + (0x7f-'9')*everyByte)
	letters := (lower + (0x80-'a')*everyByte) &^ (lower + (0x7f-'f')*everyByte)
	return (digits | letters) & highBits &^ w
}

// hexBytes returns the four bytes of eight digits in hex, the first of which is the lowest byte
// of w.
func hexBytes(w uint64) uint32 {
	letters := w >> 6 & everyByte
	values := w&(0x0f*everyByte) + 9*letters
	pairs := (values<<4 | values>>8) & 0x00ff00ff00ff00ff
	pairs = (pairs | pairs>>8) & 0x0000ffff0000ffff
	return uint32(pairs | pairs>>16)
}

// digestFromBase64 returns the hash of a digest in base64, in the alphabet for text or that for
// addresses, with and without the signs that fill it up.
func digestFromBase64(text []byte) (hash uint64, ok bool) {
	const most = (longestDigest + 2) / 3 * 4
	if len(text) > most {
		return 0, false
	}
	if len(text)%4 == 0 {
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("=")), []byte("="))
	}
	alphabet := base64.RawStdEncoding
	for _, c := range text {
		if c == '-' || c == '_' {
			alphabet = base64.RawURLEncoding
		}
	}
	var digest [most]byte
	n, err := alphabet.Strict().Decode(digest[:], text)
	if err != nil || n < leastDigest || n > longestDigest {
		return 0, false
	}
	return named.DigestHash(digest[:n]), true
}
