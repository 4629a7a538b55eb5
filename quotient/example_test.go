package quotient_test

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/quotient"
)

func Example() {
	f := quotient.New(1_000_000, 0.01) // a million keys, 1% false positives
	for _, name := range []string{"alice", "bob", "alice"} {
		if err := f.InsertString(name); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(f.CountString("alice"), f.CountString("bob"), f.CountString("carol"))
	fmt.Println(f.DeleteString("alice"), f.ContainsString("alice"))
	fmt.Println(f.DeleteString("carol"))
	// Output:
	// 2 1 0
	// true true
	// false
}

func ExampleNew() {
	f := quotient.New(1_000_000, 0.001)
	s := f.Stats()
	fmt.Printf("%.2f bits per key\n", float64(s.Bits)/float64(s.Capacity))
	// Output:
	// 12.77 bits per key
}

func ExampleConfig_New() {
	_, err := quotient.Config{Capacity: -3, ErrorRate: 0.01}.New()
	fmt.Println(err)
	// Output:
	// quotient: new: bad parameter: capacity -3 is not at least 1
}

// A filter that is enlarged when it is full. The rate asked for is kept for two
// doublings.
func ExampleFilter_Resize() {
	f, err := quotient.Config{Capacity: 1000, ErrorRate: 0.01, Doublings: 2}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range uint64(4000) {
		h := f.Hasher().HashUint64(i)
		if err := f.InsertHash(h); errors.Is(err, bloomery.ErrFull) {
			if err := f.Resize(2 * int(f.Stats().Capacity)); err != nil {
				fmt.Println(err)
				return
			}
			err = f.InsertHash(h)
			s := f.Stats()
			fmt.Println(s.Items, "keys, room for", s.Capacity, err)
		}
	}
	s := f.Stats()
	fmt.Println(s.Items, "keys, rate kept:", s.Predicted <= s.Asked)
	// Output:
	// 1048 keys, room for 2000 <nil>
	// 2094 keys, room for 4000 <nil>
	// 4000 keys, rate kept: true
}

func ExampleFilter_Merge() {
	a, b := quotient.New(1000, 0.01), quotient.New(1000, 0.01)
	_ = a.InsertString("alice") // there is room
	_ = b.InsertString("alice")
	_ = b.InsertString("bob")
	fmt.Println(a.Merge(b), a.CountString("alice"), a.CountString("bob"))
	fmt.Println(a.Merge(quotient.New(1400, 0.01)))
	// Output:
	// <nil> 2 1
	// quotient: merge: incompatible: 1664 quotients and 2304 quotients, neither is a doubling of the other
}

func ExampleFilter_All() {
	f := quotient.New(1000, 0.01)
	for range 3 {
		_ = f.InsertString("alice") // there is room
	}
	for h, count := range f.All() {
		fmt.Println(f.ContainsHash(h), count)
	}
	// Output:
	// true 3
}

func ExampleConfig_View() {
	f := quotient.New(1000, 0.01)
	_ = f.InsertString("alice") // there is room
	data, _ := f.MarshalBinary()

	v, err := quotient.Config{}.View(data) // data could be a mapped file
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.ContainsString("alice"), v.(bloomery.Counter).CountHash(v.Hash([]byte("alice"))), v.Verify())
	// Output:
	// true 1 <nil>
}

// A filter that starts with room for 100 keys and gets 10,000, some of which
// leave again.
func ExampleNewGrowing() {
	g := quotient.NewGrowing(100, 0.01)
	for i := range uint64(10_000) {
		if err := g.InsertHash(g.Hasher().HashUint64(i)); err != nil {
			fmt.Println(err)
			return
		}
	}
	g.DeleteHash(g.Hasher().HashUint64(7))
	s := g.Stats()
	fmt.Println(s.Items, "keys, rate kept:", s.Predicted <= 0.01)
	fmt.Println(g.ContainsHash(g.Hasher().HashUint64(8)), g.CountHash(g.Hasher().HashUint64(9)))
	// Output:
	// 9999 keys, rate kept: true
	// true 1
}
