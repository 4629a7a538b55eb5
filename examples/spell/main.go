// Command spell is a spell checker in a megabyte: a ribbon filter of all words finds errors and
// suggests corrections, and an exact filter finds unwanted words and never blocks another word.
//
//	go run ./examples/spell
//	go run ./examples/spell -data full
package main

import (
	"context"
	"errors"
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

// typo is an error and its corrections.
type typo struct {
	text  string
	fixes []string
}

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
	banned := map[string]bool{}
	for _, w := range unwanted {
		banned[w] = true
	}
	innocent := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return banned[w] })
	block, err := exact.Build(hashes(unwanted), hashes(innocent))
	return &checker{known, block}, err
}

func hashes(words []string) []uint64 {
	all := make([]uint64, len(words))
	for i, w := range words {
		all[i] = hashing.Hasher{}.HashString(w)
	}
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
	words, typos           int
	found, rare, missed    int // errors that were found, that are words too, false positives
	fixed                  int // right corrections among the suggestions
	suggested, wrong       int // suggestions for errors that were found, and those that are no words
	unwanted, wordsBlocked int
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
	f := figures{words: len(words), typos: len(typos), wordsBytes: int(c.words.Stats().Bytes), blockBytes: int(c.unwanted.Stats().Bytes)}
	list := map[string]bool{} // to count what the filters do, which they cannot know
	for _, w := range words {
		list[w] = true
		f.plain += len(w) + 1
		if !c.correct(w) {
			return figures{}, fmt.Errorf("%q is not known", w)
		}
		if c.unwanted.ContainsString(w) && !slices.Contains(unwanted, w) {
			f.wordsBlocked++
		}
	}
	for _, w := range unwanted {
		if c.unwanted.ContainsString(w) {
			f.unwanted++
		}
	}
	for _, t := range typos {
		f.check(c, list, t)
	}
	return f, ctx.Err()
}

func (f *figures) check(c *checker, list map[string]bool, t typo) {
	switch {
	case !c.correct(t.text):
		f.found++
	case list[t.text] || list[strings.ToLower(t.text)]:
		f.rare++
		return
	default:
		f.missed++
		return
	}
	suggestions := c.suggest(t.text)
	f.suggested += len(suggestions)
	for _, s := range suggestions {
		if !list[s] {
			f.wrong++
		}
	}
	if slices.ContainsFunc(t.fixes, func(fix string) bool { return slices.Contains(suggestions, fix) }) {
		f.fixed++
	}
}

// load returns the words and the errors: those of SCOWL and codespell as Debian has them, or
// those of sample.go.
func load(ctx context.Context, o demo.Options) (words []string, typos []typo, err error) {
	words, errs := strings.Fields(sampleWords), strings.Split(strings.TrimSpace(sampleTypos), "\n")
	if o.Full {
		list, err1 := demo.Deb(ctx, "wamerican-insane", "usr/share/dict/american-english-insane")
		known, err2 := demo.Deb(ctx, "codespell", "usr/lib/python3/dist-packages/codespell_lib/data/dictionary.txt")
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		words, err1 = demo.Lines(list)
		errs, err2 = demo.Lines(known)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
	}
	for _, line := range errs {
		text, fixes, ok := strings.Cut(line, "->")
		if !ok {
			return nil, nil, fmt.Errorf("%q is no error with its corrections", line)
		}
		t := typo{text: text}
		for fix := range strings.SplitSeq(fixes, ",") {
			t.fixes = append(t.fixes, strings.TrimSpace(fix))
		}
		typos = append(typos, t)
	}
	return words, typos, nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("words", f.words)
	t.Count("errors that people make", f.typos)
	t.Percent("errors found", float64(f.found)/float64(f.typos))
	t.Count("not found, words of the list too", f.rare)
	t.Count("not found, false positives", f.missed)
	t.Percent("false positive rate asked", rate)
	t.Percent("measured", float64(f.missed)/float64(f.missed+f.found))
	t.Percent("right correction suggested", float64(f.fixed)/float64(f.found))
	t.Number("suggestions per error", float64(f.suggested)/float64(f.found), 2)
	t.Percent("of them no words", float64(f.wrong)/float64(max(1, f.suggested)))
	t.Count("unwanted words found", f.unwanted)
	t.Count("other words blocked", f.wordsBlocked)
	t.Bytes("filter of words", f.wordsBytes)
	t.Bytes("filter of unwanted words", f.blockBytes)
	t.Bytes("the list of words itself", f.plain)
	return t
}
