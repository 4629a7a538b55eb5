package file_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
)

func Example() {
	dir, err := os.MkdirTemp("", "filters")
	if err != nil {
		fmt.Println(err)
		return
	}
	name := filepath.Join(dir, "seen.bloom")

	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	if err := file.WriteFile(name, f); err != nil {
		fmt.Println(err)
	}

	m, err := file.Map(name, codec.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Contains([]byte("alice")), m.Contains([]byte("bob")), m.Verify())
	fmt.Println(m.Close(), os.RemoveAll(dir))
	// Output:
	// true false <nil>
	// <nil> <nil>
}

func ExampleOpen() {
	_, err := file.Open("no such file", codec.Config{})
	fmt.Println(err)
	// Output: file: open no such file: open: no such file or directory
}
