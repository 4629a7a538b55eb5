package named

import (
	"fmt"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

// Hash is a hash function that can be asked for by name.
//
// Safe for concurrent use.
type Hash struct {
	// Name is what ByName takes: lower case, as in "xxh64".
	Name string
	// Description is a sentence: what it is, and which systems use it.
	Description string
	// Weakness describes what it is not fit for, empty if there is nothing.
	Weakness string
	// Secret reports whether Hasher needs a secret.
	Secret bool
	// Digests reports whether it is for keys that are digests, and for no others.
	Digests bool

	hasher func(secret []byte) hashing.Hasher
}

const (
	// guessable is what all functions without a secret have in common.
	guessable = "no secret: who knows the function can make keys that collide"
	// digest is what a cryptographic function does not help against here.
	digest = "no secret: a filter keeps few bits of a key, and who knows the function can search for keys that hit them"
)

// table is never changed.
var table = []Hash{
	{
		Name: "xxh64", Description: "XXH64 with seed 0: Parquet and many others.",
		Weakness: guessable, hasher: plain(XXH64),
	},
	{
		Name: "murmur3", Description: "The first half of MurmurHash3_x64_128 with seed 0: Guava, Cassandra, bits-and-blooms.",
		Weakness: guessable, hasher: plain(Murmur3),
	},
	{
		Name: "fnv1a", Description: "FNV-1a with 64 bits: in every standard library.",
		Weakness: "the upper bits hardly depend on the end of a key: numbered keys err up to 8 times as often as promised; " + guessable,
		hasher:   plain(FNV1a),
	},
	{
		Name: "fnv1a-mixed", Description: "FNV-1a with the finalizer of Murmur3: fit for filters.",
		Weakness: guessable, hasher: plain(FNV1aMixed),
	},
	{
		Name: "city64", Description: "CityHash64 of version 1.1.",
		Weakness: guessable, hasher: plain(City64),
	},
	{
		Name: "farm64", Description: "FarmHash's Fingerprint64, which never changes: BigQuery's FARM_FINGERPRINT.",
		Weakness: guessable, hasher: plain(Farm64),
	},
	{
		Name: "blake2b", Description: "The first 8 bytes of BLAKE2b-512: for keys that are such digests elsewhere.",
		Weakness: digest, hasher: plain(BLAKE2b),
	},
	{
		Name: "blake3", Description: "The first 8 bytes of BLAKE3: for keys that are such digests elsewhere.",
		Weakness: digest, hasher: plain(BLAKE3),
	},
	{
		Name: "digest", Description: "The first 8 bytes of a key, mixed: for keys that are digests already.",
		Weakness: "keys that begin with the same 8 bytes are the same key; " + digest, Digests: true, hasher: plain(Digest),
	},
	{
		Name: "hmac-sha256", Description: "The first 8 bytes of HMAC-SHA-256 under a secret: where rules ask for a standard; hashing.Keyed is faster.",
		Secret: true, hasher: HMACSHA256,
	},
}

// plain makes a constructor without a secret fit into the table.
func plain(f func() hashing.Hasher) func([]byte) hashing.Hasher {
	return func([]byte) hashing.Hasher { return f() }
}

// All returns all functions of this package.
func All() []Hash { return append([]Hash(nil), table...) }

// ByName returns the function of this name. The error wraps ErrParameter and
// names those that there are.
func ByName(name string) (Hash, error) {
	var names []string
	for _, h := range table {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return Hash{}, fmt.Errorf("named: by name: %w: no hash is called %q, there are %s",
		bloomery.ErrParameter, name, strings.Join(names, ", "))
}

// Find returns the function whose hashing.Hasher.Check is check, which is what
// a file header holds of a function. It does not find functions with a secret.
// An unknown function has the Check of a known one with probability 2^-60.
func Find(check uint64) (Hash, bool) {
	for _, h := range table {
		if !h.Secret && h.hasher(nil).Check() == check {
			return h, true
		}
	}
	return Hash{}, false
}

// Hasher returns the function as every Config takes it. The error wraps
// ErrParameter if a secret is missing, or given where none is used.
func (h Hash) Hasher(secret []byte) (hashing.Hasher, error) {
	switch {
	case h.hasher == nil:
		return hashing.Hasher{}, fmt.Errorf("named: hasher: %w: a Hash comes from All, ByName or Find", bloomery.ErrParameter)
	case h.Secret && len(secret) == 0:
		return hashing.Hasher{}, fmt.Errorf("named: hasher: %w: %s needs a secret", bloomery.ErrParameter, h.Name)
	case !h.Secret && len(secret) > 0:
		return hashing.Hasher{}, fmt.Errorf("named: hasher: %w: %s takes no secret", bloomery.ErrParameter, h.Name)
	}
	return h.hasher(secret), nil
}
