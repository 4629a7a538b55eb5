// Command words shows the library at work: it builds a filter from words and
// asks it for them and for others.
//
//	go run ./examples/words                       # a list of its own
//	go run ./examples/words /usr/share/dict/words # or a file
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/bloomery/bloomery/bloom"
)

const rate = 0.01

func main() {
	words, err := load(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	f, err := bloom.Config{Capacity: len(words), ErrorRate: rate}.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	for _, w := range words {
		f.AddString(w)
	}

	s := f.Stats()
	fmt.Printf("%d words in %d bytes, %.2f bits each; a Go map would take about %d bytes\n",
		len(words), s.Bytes, float64(s.Bits)/float64(len(words)), mapBytes(words))
	fmt.Printf("%.1f%% of the bits are set; asked for a false positive rate of %.2f%%, now predicted %.2f%%\n",
		100*s.Saturation, 100*s.Asked, 100*s.Predicted)

	known, unknown := ask(f, words)
	fmt.Printf("all %d words asked: %d found, %d false negatives\n", len(words), known, len(words)-known)
	fmt.Printf("%d other words asked: %d false positives, %.2f%%\n", others, unknown, 100*float64(unknown)/others)
	for _, w := range []string{words[0], words[len(words)/2], "no such word"} {
		fmt.Printf("  is %q in the set? %v\n", w, map[bool]string{true: "probably", false: "certainly not"}[f.ContainsString(w)])
	}
}

// others is how many words that are not in the set are asked.
const others = 200_000

// ask asks for all words, and for words made from them that no list has.
func ask(f *bloom.Filter, words []string) (found, wrong int) {
	for _, w := range words {
		if f.ContainsString(w) {
			found++
		}
	}
	for i := range others {
		if f.ContainsString(fmt.Sprintf("%s#%d", words[i%len(words)], i)) {
			wrong++
		}
	}
	return found, wrong
}

// mapBytes estimates the memory of a map from string to struct{}: the bytes of
// the words, and 16 bytes of header in slots that are three quarters full.
func mapBytes(words []string) int {
	n := len(words) * 17 * 4 / 3
	for _, w := range words {
		n += len(w)
	}
	return n
}

// load reads the words of the file in args, or makes words.
func load(args []string) ([]string, error) {
	if len(args) == 0 {
		return syllables(), nil
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return nil, fmt.Errorf("%s: no words", args[0])
	}
	return words, nil
}

// syllables returns 64,000 pronounceable words.
func syllables() []string {
	const consonants, vowels = "bdgklmst", "aeiou"
	var parts []string
	for _, c := range consonants {
		for _, v := range vowels {
			parts = append(parts, string(c)+string(v))
		}
	}
	var words []string
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				words = append(words, a+b+c)
			}
		}
	}
	return words
}
