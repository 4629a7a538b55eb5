package cuckoo_test

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
)

func Example() {
	f := cuckoo.New(1_000_000, 0.01) // a million keys, 1% false positives
	if err := f.InsertString("alice"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.ContainsString("alice")) // always true
	fmt.Println(f.DeleteString("alice"))   // true: it was there
	fmt.Println(f.ContainsString("alice")) // false, or true with probability 1%
	// Output:
	// true
	// true
	// false
}

func ExampleNew() {
	f := cuckoo.New(1_000_000, 0.001)
	s := f.Shape()
	fmt.Println(s.Width, "bits in a slot,", s.Slots(), "slots")
	// Output: 13 bits in a slot, 1052632 slots
}

func ExampleConfig_New() {
	_, err := cuckoo.Config{Capacity: 100, ErrorRate: 1e-12}.New()
	fmt.Println(errors.Is(err, bloomery.ErrParameter))
	f, err := cuckoo.Config{Buckets: 1000, Width: 12}.New()
	fmt.Println(f.Stats().Bits, err)
	// Output:
	// true
	// 48000 <nil>
}

func ExampleFilter_Insert() {
	f := cuckoo.New(1, 0.01) // the smallest one has two buckets of 4 slots
	for i := range 10 {
		if err := f.Insert([]byte{byte(i)}); errors.Is(err, bloomery.ErrFull) {
			fmt.Println(err)
			break
		}
	}
	fmt.Println(f.Contains([]byte{3})) // what is in stays in
	// Output:
	// cuckoo: insert: full: no room for another key of these buckets, 8 of 8 slots are taken
	// true
}

func ExampleFilter_Count() {
	f := cuckoo.New(100, 1e-6)
	for range 3 {
		if err := f.InsertString("alice"); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(f.CountString("alice"), f.CountString("bob"))
	// Output: 3 0
}

func ExampleConfig_View() {
	f := cuckoo.New(1000, 0.01)
	if err := f.InsertString("alice"); err != nil {
		fmt.Println(err)
	}
	data, _ := f.MarshalBinary()
	v, err := cuckoo.Config{}.View(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.ContainsString("alice"), v.ContainsString("bob"), v.Verify())
	// Output: true false <nil>
}
