package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/library"
)

// child is the process that a hazard gets for itself. It prints its outcome on
// stdout, if it comes that far.
func child(name string, stdout io.Writer) {
	if err := limitMemory(); err != nil {
		panic(err)
	}
	lib, in, _ := strings.Cut(name, "/")
	o := survive(library.Named(lib), inputNamed(in))
	if err := json.NewEncoder(stdout).Encode(o); err != nil {
		panic(err)
	}
}

// survive gives lib the input and turns a panic into an outcome. A panic with
// a text of the library's own is an answer, if not a polite one; one of the
// runtime says that nobody looked.
func survive(lib library.Library, in input) (o outcome) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		_, unforeseen := p.(runtime.Error)
		o = outcome{Kind: panicked, Text: short(fmt.Sprint(p)), Good: !unforeseen && !lib.Ours}
	}()
	return in.give(lib)
}

// short cuts a text to what a table can hold.
func short(s string) string {
	const most = 60
	s, _, _ = strings.Cut(s, "\n")
	s = strings.ReplaceAll(s, "|", "/")
	if len(s) > most {
		s = s[:most] + " ..."
	}
	return s
}
