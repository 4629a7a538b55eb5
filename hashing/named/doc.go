// Package named has the hash functions that other systems use, for filters
// that must agree with them: XXH64, Murmur3, FNV-1a, CityHash64, FarmHash,
// BLAKE2b, BLAKE3 and HMAC-SHA-256; and [Digest], for keys that are digests.
//
//	f, err := bloom.Config{Capacity: n, ErrorRate: p, Hasher: named.XXH64()}.New()
//
// Where nothing needs to agree, take the default of package hashing: it is
// faster than all of these, and costs no copy of the key, which a function
// behind a [hashing.Hasher] does. For adversarial keys
// take [hashing.Keyed]; of the functions here only HMACSHA256 resists them, at
// several times the cost (go test -bench .).
//
// # Files
//
// The header of a file records that a filter was made with a function, and
// holds the function's hash of a fixed text, [hashing.Hasher.Check]. [Find]
// returns from that which function of this package it was. To open the file,
// give the same function to the Config that opens it.
//
// # Which of them keep the rate
//
// All are held to 1% by TestKeepsRate and to 0.1% and 0.01% by
// TestKeepsLowRates: random, sequential and structured keys, in both layouts.
// All keep them but FNV-1a. Filters place keys by the top bits of a hash, and
// in those FNV-1a leaves keys alike that differ at their end only, as
// "user:0000000000000000041" and "...42" do. Measured rates of FNV-1a where 1%
// was asked for, by kind of keys, layout and number of keys
// (go test ./hashing/named -run FNVTable -v):
//
//	                           1,000     100,000   1,000,000
//	random      bloom          0.87%       1.04%       1.01%
//	random      standard       0.95%       0.99%       1.02%
//	sequential  bloom          0.80%       0.65%       0.97%
//	sequential  standard       1.02%       1.00%       0.98%
//	user        bloom          8.10%       6.33%       1.50%
//	user        standard       0.97%       0.98%       1.01%
//	url         bloom          0.91%       1.01%       1.02%
//	url         standard       0.97%       1.02%       0.95%
//
// FNV1aMixed adds a finalizer and keeps 1% in every row.
package named
