package named_test

import (
	"fmt"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing/named"
)

func Example() {
	f, err := bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: named.XXH64()}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	f.AddString("alice")
	fmt.Printf("%016x\n", f.Hash([]byte("abc")))
	// Output: 44bc2cf5ad770999
}

func ExampleByName() {
	h, err := named.ByName("murmur3")
	fmt.Println(h.Description, err)

	_, err = named.ByName("md5")
	fmt.Println(err)
	// Output:
	// The first half of MurmurHash3_x64_128 with seed 0: Guava, Cassandra, bits-and-blooms. <nil>
	// named: by name: bad parameter: no hash is called "md5", there are xxh64, murmur3, fnv1a, fnv1a-mixed, city64, farm64, blake2b, blake3, digest, hmac-sha256
}

func ExampleFind() {
	// What a file's header holds of the function that it was made with.
	check := named.Farm64().Check()

	h, ok := named.Find(check)
	fmt.Println(h.Name, ok)
	// Output: farm64 true
}

func ExampleHash_Hasher() {
	h, _ := named.ByName("hmac-sha256")
	_, err := h.Hasher(nil)
	fmt.Println(err)

	hasher, err := h.Hasher([]byte("Jefe"))
	fmt.Println(hasher.Kind(), err)
	// Output:
	// named: hasher: bad parameter: hmac-sha256 needs a secret
	// custom <nil>
}
