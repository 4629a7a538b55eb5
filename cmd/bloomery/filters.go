// Filter files: how they are opened, mapped and written.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/hashing/named"
)

// kindNames are the names of all kinds, in the order of the table.
func kindNames() []string {
	var names []string
	for _, k := range codec.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// kindNamed returns the kind with a name.
func kindNamed(name string) (codec.Kind, error) {
	for _, k := range codec.Kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	return codec.Kind{}, hinted{fmt.Errorf("unknown kind %q", name), "one of " + strings.Join(kindNames(), ", ")}
}

// kindOf returns the kind of a filter, of a corrected one that of what it corrects.
func kindOf(f bloomery.Hashed) (codec.Kind, error) {
	if c, ok := f.(*compose.Corrected); ok {
		f = c.Filter()
	}
	if _, ok := f.(*compose.Layers); ok { // which no table has
		return codec.Kind{Name: f.Stats().Kind, Features: codec.Features{Insert: true, Delete: true}}, nil
	}
	return kindNamed(f.Stats().Kind)
}

// aKind returns the name of a kind with its article.
func aKind(name string) string {
	if name == exactKind {
		return "an " + name
	}
	return "a " + name
}

// anyFuse stands for the smallest fuse kind with the rate asked.
const anyFuse = "fuse"

// kindFor returns the kind with a name for a false positive rate.
func kindFor(name string, rate float64) (codec.Kind, error) {
	if name == anyFuse {
		var err error
		if name, err = fuseFor(rate); err != nil {
			return codec.Kind{}, err
		}
	}
	return kindNamed(name)
}

// notPiped refuses standard input as a filter that is replaced.
func notPiped(name string) error {
	if name != "-" {
		return nil
	}
	return hinted{errors.New("-: a filter from standard input cannot be replaced"), "write it to a file first; one of this name is ./-"}
}

// openFilter reads the filter in a file into memory.
func openFilter(ctx context.Context, name string, h hashing.Hasher) (bloomery.Hashed, error) {
	info, err := headOf(name)
	if err != nil {
		return nil, err
	}
	f, err := abandon(ctx, func() (bloomery.Hashed, error) { return file.Open(name, codec.Config{Hasher: hasherFor(info, h)}) })
	return f, about(name, err)
}

// openWithForm is openFilter that returns how the filter is written down, too.
func openWithForm(ctx context.Context, name string, h hashing.Hasher) (f bloomery.Hashed, form codec.Form, err error) {
	if form, err = formOf(name); err == nil {
		f, err = openFilter(ctx, name, h)
	}
	return f, form, err
}

// asked is a filter that is only asked, in a mapping that must be closed.
type asked struct {
	bloomery.Hashed
	mapping *file.Mapped // nil if the filter is in memory
}

// close gives the mapping back.
func (a asked) close() {
	if a.mapping != nil {
		_ = a.mapping.Close() // it was only read
	}
}

// mapFilter maps the filter in a file, and verifies it if asked to: what is
// damaged would forget keys. A transport form, and stripes, are read into memory.
func mapFilter(ctx context.Context, name string, h hashing.Hasher, verify bool) (asked, error) {
	info, err := headOf(name)
	if err != nil {
		return asked{}, err
	}
	if info.Form == codec.FormTransport {
		f, err := openFilter(ctx, name, h)
		return asked{Hashed: f}, err
	}
	m, err := file.Map(name, codec.Config{Hasher: hasherFor(info, h)})
	if errors.Is(err, bloomery.ErrIncompatible) { // it has no view
		f, err := openFilter(ctx, name, h)
		return asked{Hashed: f}, err
	}
	if err != nil {
		return asked{}, about(name, err)
	}
	if verify {
		_, err := abandon(ctx, func() (struct{}, error) { return struct{}{}, m.Verify() })
		if ctx.Err() != nil {
			return asked{}, ctx.Err() // and the mapping stays, since it is still read
		}
		if err != nil {
			_ = m.Close() // it is of no use
			return asked{}, hinted{about(name, err), "see all of the damage with: bloomery inspect " + name}
		}
	}
	return asked{m.View, m}, nil
}

// headSize is enough for the header of an encoding in any form, and to recognize
// other files.
const headSize = 512

// formOf returns how the filter in a file is written down.
func formOf(name string) (codec.Form, error) {
	info, err := headOf(name)
	return info.Form, err
}

// hasherFor returns the hasher to open a filter with: the one that the user gave,
// or the function that the header names, if it is one of package named.
func hasherFor(info codec.Info, given hashing.Hasher) hashing.Hasher {
	if f, ok := functionOf(info); ok && given.Equal(hashing.Hasher{}) {
		if h, err := f.Hasher(nil); err == nil {
			return h
		}
	}
	return given
}

// functionOf returns the function of package named that a filter was made with.
func functionOf(info codec.Info) (named.Hash, bool) {
	if info.Hash != hashing.Custom {
		return named.Hash{}, false
	}
	return named.Find(info.Check)
}

// headBytes returns the first bytes of a file.
func headBytes(name string) ([]byte, error) {
	if name == "" {
		return nil, errNoName
	}
	f, err := os.Open(name)
	if err != nil && isAddress(name) {
		return nil, hinted{about(name, cause(err)), "only bloomery check reads filters on a web server: fetch the file first"}
	}
	if err != nil {
		return nil, about(name, cause(err))
	}
	defer f.Close() //nolint:errcheck // it was only read
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	if err != nil {
		return nil, about(name, cause(err))
	}
	return head, nil
}

// headOf returns what the header of a filter file says.
func headOf(name string) (none codec.Info, err error) {
	head, err := headBytes(name)
	switch {
	case err != nil:
		return none, err
	case codec.Sealed(head):
		return none, errSealed(name)
	case !startsLikeFilter(head):
		return none, notFilter(name, head)
	}
	info, err := codec.Inspect(bytes.NewReader(head))
	if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
		return none, about(name, cause(err))
	}
	return info, nil // what is damaged is found when it is opened
}

// cause takes operation and name out of an error of the file system.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// itemsOf returns the number of different keys in a filter, and whether it was
// counted. It may read the whole array, where Stats takes a sample.
func itemsOf(f bloomery.Filter) (uint64, bool) {
	s := f.Stats()
	if e, ok := f.(interface{ EstimateCount() uint64 }); ok && !s.Exact {
		return e.EstimateCount(), false
	}
	return s.Items, s.Exact
}

// save writes a filter to a file, whole or not at all, or to standard output if
// that is "-". Once ctx is cancelled nothing more is written.
func (s *shell) save(ctx context.Context, to outputFlags, form codec.Form, w io.WriterTo) error {
	if err := errors.Join(ctx.Err(), s.checkOutput(to.output, to.overwrite)); err != nil {
		return err
	}
	out := cancelled{ctx, w, form}
	if to.output == "-" {
		_, err := out.WriteTo(s.data(ctx))
		return about("", err)
	}
	return writeFile(to.output, writerTo(func(w io.Writer) error {
		if _, err := out.WriteTo(w); err != nil {
			return err
		}
		return s.checkOutput(to.output, to.overwrite) // another may have written it meanwhile
	}))
}

// writeFile replaces a file, whole or not at all. Behind a symbolic link it is
// the file that is replaced, not the link.
func writeFile(name string, w io.WriterTo) error {
	return about(name, file.WriteFile(followed(name), w))
}

// mostLinks is how many symbolic links in a row are followed, as systems do.
const mostLinks = 40

// followed returns the file that a name stands for behind symbolic links; it
// need not be there.
func followed(name string) string {
	for range mostLinks {
		target, err := os.Readlink(name)
		if err != nil {
			return name
		}
		if !filepath.IsAbs(target) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(name))
			if err != nil {
				return name
			}
			target = filepath.Join(folder, target)
		}
		name = target
	}
	return name
}

// saveFilter is save for a filter.
func (s *shell) saveFilter(ctx context.Context, to outputFlags, form codec.Form, f bloomery.Hashed) error {
	w, err := written(f, nil)
	if err != nil {
		return err
	}
	return s.save(ctx, to, form, w)
}

// cancelled writes a filter, in the plain or in the transport form, until its
// context is cancelled.
type cancelled struct {
	ctx  context.Context
	f    io.WriterTo
	form codec.Form
}

// WriteTo implements io.WriterTo.
func (c cancelled) WriteTo(w io.Writer) (int64, error) {
	guarded := until(c.ctx, w)
	if c.form != codec.FormTransport {
		return c.f.WriteTo(guarded)
	}
	z := codec.NewWriter(guarded)
	n, err := c.f.WriteTo(z)
	return n, errors.Join(err, z.Close())
}

// until returns a writer that ends with ctx, between two writes.
func until(ctx context.Context, w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return w.Write(p)
	})
}

// writerFunc is a function as an io.Writer.
type writerFunc func(p []byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
