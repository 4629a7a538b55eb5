package counting_test

import (
	"fmt"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
)

func ExampleNew() {
	f := counting.New(1_000_000, 0.01)
	for _, name := range []string{"alice", "bob", "alice"} {
		if err := f.InsertString(name); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(f.CountString("alice"), f.CountString("bob"))
	f.DeleteString("alice")
	f.DeleteString("bob")
	fmt.Println(f.ContainsString("alice"), f.ContainsString("bob"))
	fmt.Println(f.DeleteString("carol")) // certainly absent
	// Output:
	// 2 1
	// true false
	// false
}

func ExampleConfig_New() {
	// Keys that are never there twice, seldom deleted: a third of the memory
	// may go into counters of 2 bits.
	f, err := counting.Config{Capacity: 1_000_000, ErrorRate: 0.01, Overflow: 0.01}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Shape().Width, f.Stats().Bits/1_000_000)
	_, err = counting.Config{Capacity: 1_000_000, ErrorRate: 2}.New()
	fmt.Println(err)
	// Output:
	// 2 29
	// counting: new: bad parameter: error rate 2 is not between 0 and 1
}

// A set that changes is published as plain bits, for readers who only ask.
func ExampleFilter_Bloom() {
	f := counting.New(1000, 0.01)
	_ = f.InsertString("alice") // nothing is there 16 times
	_ = f.InsertString("bob")
	f.DeleteString("bob")

	v, err := bloom.Config{}.View(f.Bloom())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.ContainsString("alice"), v.ContainsString("bob"))
	// Output: true false
}
