// The command which: the filters that contain each line.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
)

// whichOptions are the flags of which.
type whichOptions struct {
	inputFlags
	keyFlags
	digestFlags
	invert bool
	files  []string
}

func newWhich() *cobra.Command {
	o := &whichOptions{}
	cmd := &cobra.Command{
		Use:   "which SET...",
		Short: "Print which of several filters contain each line",
		Long: `which looks each line of standard input up in all filters, and prints the lines
that are (probably) in at least one, a tab, and the names of those filters,
separated by commas. With -v it prints the lines that certainly are in none.

A filter has the name of its file. A sliced one holds many, and answers for all
of them at once: its columns have the names FILE:1, FILE:2 and so on, in the
order of the files that bloomery build --kind sliced was given.

The exit code is 0 if a line was printed, else 1.`,
		Example: `  bloomery build --kind sliced -o days.bs words.txt words2.txt
  bloomery which days.bs < words2.txt
  bloomery which -f words2.txt monday.bf tuesday.bf`,
		Args: between(1, -1, "the filters to ask"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) })
	f := cmd.Flags()
	f.BoolVarP(&o.invert, "invert", "v", false, "print the lines that certainly are in none")
	f.StringArrayVarP(&o.files, "file", "f", nil, "read the lines of `FILE`, - is standard input; may be repeated")
	o.inputFlags.bind(f)
	o.keyFlags.bind(f)
	o.digestFlags.bind(cmd)
	return cmd
}

func (o *whichOptions) run(ctx context.Context, s *shell, names []string) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	paths, err := s.locatedAll(ctx, names)
	if err != nil {
		return err
	}
	files, err := s.files(o.files)
	if err != nil {
		return err
	}
	if err := o.goesWith(&o.inputFlags); err != nil {
		return err
	}
	in, err := o.input(s, files)
	if err != nil {
		return err
	}
	w := wherever{key: o.compared, digests: o.text != "", separator: o.separator(), invert: o.invert, asJSON: s.asJSON}
	for i, path := range paths {
		m, err := o.openMember(ctx, path, names[i], h, len(w.labels))
		if err != nil {
			return err
		}
		defer m.close()
		w.members = append(w.members, m)
		w.labels = append(w.labels, m.labels...)
	}
	return answerLines(ctx, s, &o.inputFlags, "which", in, w.work, func(p *places) *tallies { return &p.tallies })
}

// member is one of the files that are asked: a filter, or many in one.
type member struct {
	labels []string
	first  int // number of the first label among those of all members
	hashes hashFunc
	filter asked
	sliced *bloom.Sliced // or nil
}

func (m member) close() {
	if m.filter.Hashed != nil {
		m.filter.close()
	}
}

// openMember opens a filter that is called by a name, and whose labels come
// behind so many of others.
func (o *whichOptions) openMember(ctx context.Context, path, name string, h hashing.Hasher, first int) (member, error) {
	info, err := headOf(path)
	if err != nil {
		return member{}, err
	}
	if info.Name != slicedKind {
		f, err := mapFilter(ctx, path, h, true)
		if err != nil {
			return member{}, err
		}
		hashes, err := o.hashesOf(name, f.Hashed)
		if err != nil {
			f.close()
			return member{}, err
		}
		return member{labels: []string{name}, first: first, hashes: hashes, filter: f}, nil
	}
	set, err := openSliced(ctx, path, info, h)
	if err != nil {
		return member{}, err
	}
	m := member{first: first, sliced: set, hashes: plainHashes(set.Hasher())}
	for column := range set.Len() {
		m.labels = append(m.labels, fmt.Sprintf("%s:%d", name, column+1))
	}
	return m, nil
}

// ask notes for each hash in which places it is: the numbers of labels.
func (m member) ask(p *places, hs []uint64) {
	if m.sliced == nil {
		p.yes = slices.Grow(p.yes[:0], len(hs))[:len(hs)]
		m.filter.ContainsHashes(p.yes, hs)
		for i, isIn := range p.yes {
			if isIn {
				p.in[i] = append(p.in[i], m.first)
			}
		}
		return
	}
	p.words = slices.Grow(p.words[:0], m.sliced.Words())[:m.sliced.Words()]
	for i, h := range hs {
		m.sliced.Which(p.words, h)
		for column := range m.labels {
			if p.words[column/64]>>(column%64)&1 != 0 {
				p.in[i] = append(p.in[i], m.first+column)
			}
		}
	}
}

// wherever asks all members for batches of lines.
type wherever struct {
	members   []member
	labels    []string
	key       lines.Key
	digests   bool
	separator byte
	invert    bool
	asJSON    bool
}

// places are the answers for one batch.
type places struct {
	tallies
	yes   []bool
	words []uint64
	in    [][]int // numbers of labels, for each line

	again
	second *places // of the records that are asked for again
}

// placesJSON is a line with --json. Bytes that are not text come as base64.
type placesJSON struct {
	Value  *string  `json:"value,omitempty"`
	Base64 []byte   `json:"base64,omitempty"`
	Sets   []string `json:"sets"`
}

// look finds the places of a batch.
func (w *wherever) look(b *lines.Batch, p *places) error {
	n := len(b.Records)
	p.in = slices.Grow(p.in[:0], n)[:n]
	for i := range p.in {
		p.in[i] = p.in[i][:0]
	}
	for _, m := range w.members {
		if err := p.of(b, &w.key, m.hashes); err != nil {
			return err
		}
		m.ask(p, p.hashes)
	}
	return nil
}

// lookAgain finds the places of lines that end with a carriage return with it, too: filters may be of
// raw lines.
func (w *wherever) lookAgain(b *lines.Batch, p *places) error {
	with := p.withCR(b)
	if with == nil || w.digests {
		return nil
	}
	if p.second == nil {
		p.second = &places{}
	}
	if err := w.look(with, p.second); err != nil {
		return err
	}
	for j, i := range p.at {
		p.in[i] = append(p.in[i], p.second.in[j]...)
		slices.Sort(p.in[i])
		p.in[i] = slices.Compact(p.in[i])
	}
	return nil
}

// work answers a batch.
func (w *wherever) work(b *lines.Batch, p *places) error {
	if err := w.look(b, p); err != nil {
		return err
	}
	if err := w.lookAgain(b, p); err != nil {
		return err
	}
	p.text, p.found = p.text[:0], false
	for i, r := range b.Records {
		if (len(p.in[i]) == 0) != w.invert {
			continue
		}
		p.found = true
		var err error
		if p.text, err = w.appendLine(p.text, r, p.in[i]); err != nil {
			return err
		}
	}
	return nil
}

// appendLine appends a line and the labels of its places.
func (w *wherever) appendLine(dst, line []byte, in []int) ([]byte, error) {
	if w.asJSON {
		j := placesJSON{Sets: []string{}}
		j.Value, j.Base64 = textOrBytes(line)
		for _, label := range in {
			j.Sets = append(j.Sets, w.labels[label])
		}
		data, err := json.Marshal(j)
		return append(append(dst, data...), '\n'), err
	}
	dst = append(dst, line...)
	for i, label := range in {
		separator := byte(',')
		if i == 0 {
			separator = '\t'
		}
		dst = append(append(dst, separator), w.labels[label]...)
	}
	return append(dst, w.separator), nil
}
