//go:build !(js && wasm)

// Command browser answers the questions of the page inside a browser: it is compiled to
// WebAssembly for the page as static files.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "browser: this program is for browsers: bloomery page export compiles it")
	os.Exit(2)
}
