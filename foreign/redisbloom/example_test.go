package redisbloom_test

import (
	"fmt"

	"github.com/bloomery/bloomery/foreign/redisbloom"
)

func Example() {
	// What a client got for DUMP users from a RedisBloom server.
	users, err := redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
	if err != nil {
		panic(err)
	}
	_, _ = users.Add([]byte("alice"))
	dump, _ := users.MarshalBinary()

	v, err := redisbloom.Open(dump)
	if err != nil {
		panic(err)
	}
	switch v := v.(type) {
	case *redisbloom.Bloom:
		fmt.Println(v.Contains([]byte("alice")), v.Contains([]byte("bob")), v.Stats().Items)
	case *redisbloom.Cuckoo:
		fmt.Println(v.Count([]byte("alice")))
	}
	// Output: true false 1
}

// The chunks of BF.SCANDUMP become a filter, which RESTORE takes in one piece.
func ExampleLoadBloom() {
	from, _ := redisbloom.NewBloom(redisbloom.BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
	_, _ = from.Add([]byte("hello"))

	b, err := redisbloom.LoadBloom(from.Chunks()) // pairs of number and bytes, as a client got them
	if err != nil {
		panic(err)
	}
	dump, err := b.MarshalBinary()
	fmt.Println(b.Contains([]byte("hello")), len(dump), err)
	// Output: true 206 <nil>
}

func ExampleCountMin_Merge() {
	monday, _ := redisbloom.NewCountMin(1000, 5)
	tuesday, _ := redisbloom.NewCountMin(1000, 5)
	week, _ := redisbloom.NewCountMin(1000, 5)
	monday.Incr([]byte("apple"), 3)
	tuesday.Incr([]byte("apple"), 4)
	err := week.Merge([]*redisbloom.CountMin{monday, tuesday}, []int64{1, 10})
	fmt.Println(week.Count([]byte("apple")), err)
	// Output: 43 <nil>
}

func ExampleTopK() {
	k, err := redisbloom.NewTopK(redisbloom.TopKConfig{K: 2, Width: 100, Depth: 5})
	if err != nil {
		panic(err)
	}
	for _, word := range []string{"rose", "lily", "rose", "lily", "rose", "tulip"} {
		_, _, _ = k.Incr([]byte(word), 1)
	}
	for item, count := range k.All() {
		fmt.Printf("%s %d\n", item, count)
	}
	// Output:
	// rose 3
	// lily 2
}

func ExampleTDigest() {
	d, err := redisbloom.NewTDigest(100)
	if err != nil {
		panic(err)
	}
	for i := range 10000 {
		if err := d.Add(float64(i)); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%.0f %.3f %d\n", d.Quantile(0.5), d.CDF(9900), d.Stats().Count)
	// Output: 5000 0.990 10000
}
