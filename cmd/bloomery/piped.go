// Filters that come through a pipe: they are copied to a temporary file, since a
// filter is mapped, and its header is read before.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// pipes are the filters of a command that are not regular files.
type pipes struct {
	names map[string]string // as they were given, by the path of their copy
	stdin bool              // standard input is one of them
}

// located returns the path of the filter that an argument names: - is standard
// input. What is not a regular file is copied to a temporary one.
func (s *shell) located(ctx context.Context, name string) (string, error) {
	if name == "-" {
		switch {
		case s.pipes.stdin:
			return "", errors.New("-: standard input can be read only once")
		case s.terminal(s.in):
			return "", errHelp
		}
		s.pipes.stdin = true
		return s.copied(ctx, "standard input", s.in)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return name, nil // opening it shows what is wrong
	}
	f, err := os.Open(name)
	if err != nil {
		return "", about(name, cause(err))
	}
	defer f.Close() //nolint:errcheck // it was only read
	return s.copied(ctx, name, f)
}

// locatedAll is located for several arguments.
func (s *shell) locatedAll(ctx context.Context, names []string) ([]string, error) {
	paths := make([]string, len(names))
	for i, name := range names {
		var err error
		if paths[i], err = s.located(ctx, name); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// copied copies what r holds to a temporary file, and returns its path.
func (s *shell) copied(ctx context.Context, name string, r io.Reader) (string, error) {
	f, err := os.CreateTemp("", "bloomery-filter-*")
	if err != nil {
		return "", fmt.Errorf("%s: temporary file: %w", name, cause(err))
	}
	if s.pipes.names == nil {
		s.pipes.names = map[string]string{}
	}
	s.pipes.names[f.Name()] = name
	// A read that blocks is given up; the file is removed all the same.
	guarded := readerFunc(func(p []byte) (int, error) {
		return abandon(ctx, func() (int, error) { return r.Read(p) })
	})
	_, err = io.Copy(f, guarded)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", about(name, cause(err))
	}
	return f.Name(), nil
}

// readerFunc is a function as an io.Reader.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// given returns the argument that a path stands for.
func (s *shell) given(path string) string {
	if name, ok := s.pipes.names[path]; ok {
		return name
	}
	return path
}

// closePipes removes the copies.
func (s *shell) closePipes() {
	for path := range s.pipes.names {
		_ = os.Remove(path) // it is of no use any more
	}
}

// withGiven returns an error that names arguments instead of their copies.
func (s *shell) withGiven(err error) error {
	if err == nil || len(s.pipes.names) == 0 {
		return err
	}
	replace := func(text string) string {
		for path, name := range s.pipes.names {
			text = strings.ReplaceAll(text, path, name)
		}
		return text
	}
	named := error(worded{err, replace(err.Error())})
	if h, ok := errors.AsType[hinted](err); ok {
		return hinted{named, replace(h.hint)}
	}
	return named
}
