package redisbloom_test

import (
	"fmt"

	"github.com/bloomery/bloomery/foreign/redisbloom"
)

func ExampleNewBloom() {
	b, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
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
	from, _ := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
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

func ExampleNewCountMin() {
	p, err := redisbloom.CountMinFor(0.001, 0.01)
	if err != nil {
		panic(err)
	}
	c, err := redisbloom.NewCountMin(p)
	if err != nil {
		panic(err)
	}
	c.Incr([]byte("apple"), 3)
	c.Incr([]byte("pear"), 1)
	fmt.Println(c.Incr([]byte("apple"), 2), c.Count([]byte("pear")), c.Count([]byte("plum")))
	fmt.Println(c.Width(), c.Depth(), c.Total(), c.Bytes())
	// Output:
	// 5 1 0
	// 2000 7 6 56072
}

func ExampleCountMin_Merge() {
	shape := redisbloom.CountMinParams{Width: 1000, Depth: 5}
	monday, _ := redisbloom.NewCountMin(shape)
	tuesday, _ := redisbloom.NewCountMin(shape)
	week, _ := redisbloom.NewCountMin(shape)
	monday.Incr([]byte("apple"), 3)
	tuesday.Incr([]byte("apple"), 4)
	err := week.Merge([]*redisbloom.CountMin{monday, tuesday}, []int64{1, 10})
	fmt.Println(week.Count([]byte("apple")), err)
	// Output: 43 <nil>
}

func ExampleNewTopK() {
	k, err := redisbloom.NewTopK(redisbloom.TopKParams{K: 2, Width: 100, Depth: 5, Decay: 0.9})
	if err != nil {
		panic(err)
	}
	for _, word := range []string{"rose", "lily", "rose", "lily", "rose", "tulip"} {
		k.Add([]byte(word))
	}
	for item, count := range k.All() {
		fmt.Printf("%s %d\n", item, count)
	}
	expelled, ok, err := k.Incr([]byte("tulip"), 10)
	fmt.Printf("tulip instead of %s, %v, %v\n", expelled, ok, err)
	fmt.Println(k.Contains([]byte("lily")), k.Count([]byte("lily")), k.Count([]byte("tulip")))
	// Output:
	// rose 3
	// lily 2
	// tulip instead of lily, true, <nil>
	// false 2 11
}

func ExampleNewTDigest() {
	d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 100})
	if err != nil {
		panic(err)
	}
	for i := range 10000 {
		if err := d.Add(float64(i)); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%.0f %.0f %.0f\n", d.Min(), d.Quantile(0.5), d.Max())
	fmt.Printf("%.3f of the values are below 9900\n", d.CDF(9900))
	fmt.Println(d.Observations(), d.Stats().MergedNodes < 100)
	// Output:
	// 0 5000 9999
	// 0.990 of the values are below 9900
	// 10000 true
}
