package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// sampleLines is both the number of different lines to draw from and the number
// of lines that are drawn, with repetition: 1 - 1/e of them are different.
const sampleLines = 10_000_000

// writeSample draws lines from the names of npm packages and paths of Debian
// packages. The seed is fixed: the same corpora give the same file.
func writeSample(name string) error {
	all, err := corpus(filepath.Dir(name))
	if err != nil {
		return err
	}
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for range sampleLines {
		_, _ = w.Write(all[r.IntN(len(all))]) // the error stays until Flush
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// corpus returns sampleLines different lines.
func corpus(dir string) ([][]byte, error) {
	all := make([][]byte, 0, sampleLines)
	for _, name := range []string{"names.txt", "paths.txt"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			if len(all) == sampleLines {
				return all, nil
			}
			all = append(all, line)
		}
	}
	if len(all) < sampleLines {
		return nil, fmt.Errorf("%s holds %d lines, want %d", dir, len(all), sampleLines)
	}
	return all, nil
}
