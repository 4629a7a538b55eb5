// Command spell is a spell checker in a megabyte: a ribbon filter of all words finds errors and
// suggests corrections, and an exact filter finds unwanted words and never blocks another word.
//
//	go run ./examples/spell
//	go run ./examples/spell -data full
package main

import (
	"context"
	_ "embed" // for the sample
	"fmt"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

func main() { demo.Main(run) }

// rate is that of errors that pass for words. It is low because one error has hundreds of
// candidates for its correction, and each false positive among them is shown.
const rate = 1. / 2048

// checker knows words without keeping them.
type checker struct {
	words    *ribbon.Filter
	unwanted *exact.Filter
}

func newChecker(words, unwanted []string) (*checker, error) {
	known, err := ribbon.Build(hashes(words), rate)
	if err != nil {
		return nil, err
	}
	banned := demo.Exact(unwanted)
	innocent := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return banned[w] })
	block, err := exact.Build(hashes(unwanted), hashes(innocent))
	return &checker{known, block}, err
}

func hashes(words []string) []uint64 {
	all := make([]uint64, len(words))
	hashing.Hasher{}.HashStrings(all, words)
	return all
}

// correct reports whether word is known.
func (c *checker) correct(word string) bool {
	return c.words.ContainsString(word) || c.words.ContainsString(strings.ToLower(word))
}

// suggest returns the known words that are one edit away.
func (c *checker) suggest(word string) []string {
	candidates := edits(word)
	found := make([]bool, len(candidates))
	c.words.ContainsStrings(found, candidates)
	var known []string
	for i, w := range candidates {
		if found[i] {
			known = append(known, w)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// edits returns what one deletion, exchange of neighbours, replacement or insertion makes of a
// word, some of it twice.
func edits(word string) []string {
	const letters = "abcdefghijklmnopqrstuvwxyz'"
	var all []string
	for i := range len(word) + 1 {
		before, rest := word[:i], word[i:]
		if len(rest) > 0 {
			all = append(all, before+rest[1:])
		}
		if len(rest) > 1 {
			all = append(all, before+rest[1:2]+rest[:1]+rest[2:])
		}
		for _, letter := range letters {
			all = append(all, before+string(letter)+rest)
			if len(rest) > 0 {
				all = append(all, before+string(letter)+rest[1:])
			}
		}
	}
	return all
}

// figures is what the checker does with a list of errors that people make.
type figures struct {
	words, rare            int        // words, and errors that are words, too
	found                  demo.Share // errors
	passed                 demo.Share // errors that are no words, and those taken for words
	fixed                  demo.Share // errors that were found, and those with the right correction suggested
	invented               demo.Share // suggestions, and those that are no words
	unwanted               demo.Share // words, and those that were found
	wordsBlocked           int
	wordsBytes, blockBytes int
	plain                  int // bytes of the list itself
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	words, typos, err := load(ctx, o)
	if err != nil {
		return figures{}, err
	}
	unwanted := strings.Fields(unwantedWords)
	c, err := newChecker(words, unwanted)
	if err != nil {
		return figures{}, err
	}
	f := figures{words: len(words), wordsBytes: int(c.words.Stats().Bytes), blockBytes: int(c.unwanted.Stats().Bytes)}
	for _, w := range words {
		f.plain += len(w) + 1
		if !c.correct(w) {
			return figures{}, fmt.Errorf("%q is not known", w)
		}
		if c.unwanted.ContainsString(w) && !slices.Contains(unwanted, w) {
			f.wordsBlocked++
		}
	}
	for _, w := range unwanted {
		f.unwanted.Count(c.unwanted.ContainsString(w))
	}
	list := demo.Exact(words)
	for _, line := range typos {
		typo, fixes, ok := strings.Cut(line, "->")
		if !ok {
			return figures{}, fmt.Errorf("%q is no error with its corrections", line)
		}
		f.check(c, list, typo, strings.Split(fixes, ","))
	}
	return f, ctx.Err()
}

// The sample: common words, and errors that people make in the form of codespell's list. The unwanted
// words are mild ones: a list for real use is longer, and does not belong here.
var (
	//go:embed words.txt
	sampleWords string
	//go:embed typos.txt
	sampleTypos string
	//go:embed unwanted.txt
	unwantedWords string
)

// load returns the words and the errors: those of SCOWL and codespell as Debian has them, or the sample.
func load(ctx context.Context, o demo.Options) (words, typos []string, err error) {
	if !o.Full {
		return strings.Fields(sampleWords), strings.Split(strings.TrimSpace(sampleTypos), "\n"), nil
	}
	if words, err = demo.DebLines(ctx, "wamerican-insane", "usr/share/dict/american-english-insane"); err != nil {
		return nil, nil, err
	}
	typos, err = demo.DebLines(ctx, "codespell", "usr/lib/python3/dist-packages/codespell_lib/data/dictionary.txt")
	return words, typos, err
}

// check has the checker find an error and correct it, and counts by the list, which the checker does not have.
func (f *figures) check(c *checker, list map[string]bool, typo string, fixes []string) {
	correct := c.correct(typo)
	f.found.Count(!correct)
	if list[typo] || list[strings.ToLower(typo)] {
		f.rare++
		return
	}
	f.passed.Count(correct)
	if correct {
		return
	}
	suggestions := c.suggest(typo)
	for _, s := range suggestions {
		f.invented.Count(!list[s])
	}
	f.fixed.Count(slices.ContainsFunc(fixes, func(fix string) bool { return slices.Contains(suggestions, strings.TrimSpace(fix)) }))
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("words", f.words)
	t.Count("errors that people make", f.found.All)
	t.Percent("errors found", f.found.Rate())
	t.Count("not found, words of the list too", f.rare)
	t.Count("not found, false positives", f.passed.Yes)
	t.Percent("false positive rate asked", rate)
	t.Percent("measured", f.passed.Rate())
	t.Percent("right correction suggested", f.fixed.Rate())
	t.Number("suggestions per error", float64(f.invented.All)/float64(f.fixed.All), 2)
	t.Percent("of them no words", f.invented.Rate())
	t.Count("unwanted words found", f.unwanted.Yes)
	t.Count("other words blocked", f.wordsBlocked)
	t.Bytes("filter of words", f.wordsBytes)
	t.Bytes("filter of unwanted words", f.blockBytes)
	t.Bytes("the list of words itself", f.plain)
	return t
}
