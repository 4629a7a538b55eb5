// Command hello is the first example of README: a filter of a million keys.
//
//	go run ./examples/hello
package main

import (
	"fmt"

	"github.com/bloomery/bloomery/bloom"
)

func main() {
	f := bloom.New(1_000_000, 0.01) // for a million keys, at a false positive rate of 1%
	f.AddString("alice")
	f.AddString("bob")
	fmt.Println(f.ContainsString("alice")) // always true
	fmt.Println(f.ContainsString("carol")) // false, or true with probability 1% when the filter is full
	fmt.Println(f.Stats())                 // keys, size, fill, rate now, rate asked
}
