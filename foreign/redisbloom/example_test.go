package redisbloom_test

import (
	"fmt"

	"github.com/bloomery/bloomery/foreign/redisbloom"
)

func ExampleNewBloom() {
	b, err := redisbloom.NewBloom(redisbloom.BloomParams{Error: 0.01, Capacity: 100, Expansion: 2})
	if err != nil {
		panic(err)
	}
	for range 2 {
		added, err := b.Add([]byte("hello"))
		fmt.Println(added, err)
	}
	fmt.Println(b.Contains([]byte("hello")), b.Contains([]byte("world")))
	fmt.Println(b.Items(), b.Capacity(), b.Size())
	// Output:
	// true <nil>
	// false <nil>
	// true false
	// 1 100 240
}

func ExampleNewCuckoo() {
	c, err := redisbloom.NewCuckoo(redisbloom.CuckooParams{
		Capacity: 1024, BucketSize: 2, MaxIterations: 20, Expansion: 1,
	})
	if err != nil {
		panic(err)
	}
	key := []byte("hello")
	fmt.Println(c.Insert(key), c.Insert(key), c.Count(key))
	fmt.Println(c.Delete(key), c.Count(key), c.Contains(key))
	// Output:
	// <nil> <nil> 2
	// true 1 true
}

// A dump of a RedisBloom server is a header and chunks, each with the number
// that BF.SCANDUMP returned beside it.
func ExampleParseBloomHeader() {
	from, _ := redisbloom.NewBloom(redisbloom.BloomParams{Error: 0.01, Capacity: 100, Expansion: 2})
	_, _ = from.Add([]byte("hello"))

	iter, header := from.ScanDump(0)
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		panic(err)
	}
	const limit = 1 << 20
	if h.Bytes() > limit { // nothing is allocated yet
		panic("too large")
	}
	to, err := h.New(nil)
	if err != nil {
		panic(err)
	}
	for {
		next, chunk := from.ScanDump(iter)
		if next == 0 {
			break
		}
		if err := to.LoadChunk(next, chunk); err != nil {
			panic(err)
		}
		iter = next
	}
	fmt.Println(to.Contains([]byte("hello")), to.Contains([]byte("world")))
	// Output: true false
}
