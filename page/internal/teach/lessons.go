package teach

import "fmt"

// Lesson is a scene with a name, so that it can be linked to.
type Lesson struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	About string   `json:"about"`
	Do    []string `json:"do"`
	// Kind, Bits and Hashes are those of a real filter, empty for a lesson with
	// given positions.
	Kind   string `json:"kind,omitempty"`
	Bits   int    `json:"bits,omitempty"`
	Hashes int    `json:"hashes,omitempty"`

	given func() *given
}

var lessons = []Lesson{
	{
		ID: "cat-dog", Title: "Cat and dog",
		About: "An array of 10 bits and two hash functions that can be computed in the head: h1 is the sum of the ASCII codes of the letters, modulo 10; h2 is 3 times the length, modulo 10.",
		Do:    []string{"add:cat", "ask:cat", "ask:dog"},
		given: func() *given {
			g := newGiven(byHead("cat"), byHead("dog"))
			g.rule = byHead
			return g
		},
	},
	{
		ID: "fruit", Title: "Three fruit",
		About: "Apple and orange are inserted. Grape is not, but each of its bits was set by one of them: a false positive. The positions are given, three for each word.",
		Do:    []string{"add:apple", "add:orange", "ask:apple", "ask:orange", "ask:grape"},
		given: func() *given {
			return newGiven(at("apple", 1, 4, 7), at("orange", 3, 4, 8), at("grape", 1, 3, 8))
		},
	},
	{
		ID: "apple-banana-cherry", Title: "Apple, banana, cherry",
		About: "A key whose bits are not all set is certainly absent. Once it is inserted it is always found: there is no false negative. A bit that two keys share is why a Bloom filter cannot delete. The positions are given, three for each word.",
		Do:    []string{"add:apple", "add:banana", "ask:cherry", "add:cherry", "ask:apple", "ask:banana", "ask:cherry"},
		given: func() *given {
			return newGiven(at("apple", 0, 4, 7), at("banana", 2, 4, 9), at("cherry", 2, 5, 7))
		},
	},
	{
		ID: "colours", Title: "Four colours",
		About: "Red and blue are inserted. Black is certainly absent, since one of its bits is 0. Green is a false positive: one of its bits was set by red, the other by blue. The positions are given, two for each word.",
		Do:    []string{"add:red", "add:blue", "ask:red", "ask:blue", "ask:black", "ask:green"},
		given: func() *given {
			return newGiven(at("red", 1, 5), at("blue", 3, 8), at("black", 3, 6), at("green", 5, 8))
		},
	},
	{
		ID: "delete", Title: "Deleting from a counting filter", Kind: "counting", Bits: 512, Hashes: 4,
		About: "Counters instead of bits: a key can be deleted, and what it shares with others stays.",
		Do:    []string{"add:apple", "add:banana", "add:cherry", "delete:banana", "ask:banana", "ask:apple", "ask:cherry"},
	},
	{
		ID: "layers", Title: "Layers of a scalable filter", Kind: "scalable",
		About: "The first layer is for 16 keys. Twenty more make a second one of twice the capacity.",
		Do:    []string{"fill:16", "add:one more", "fill:20", "ask:one more"},
	},
	{
		ID: "buckets", Title: "Buckets of a cuckoo filter", Kind: "cuckoo", Bits: 64,
		About: "Fingerprints in buckets: when both buckets of a key are full, others move on. A key can be deleted.",
		Do:    []string{"add:apple", "add:banana", "fill:50", "ask:apple", "delete:apple", "ask:apple"},
	},
	{
		ID: "generations", Title: "Generations of a window", Kind: "window",
		About: "Keys are forgotten by age: a generation is cleared whole when time moves on.",
		Do:    []string{"add:monday", "advance", "add:tuesday", "advance", "add:wednesday", "ask:monday", "advance", "advance", "ask:monday", "ask:tuesday"},
	},
}

// Lessons returns the lessons.
func Lessons() []Lesson { return append([]Lesson(nil), lessons...) }

func lessonNamed(id string) (*Lesson, error) {
	var names []string
	for i := range lessons {
		if lessons[i].ID == id {
			return &lessons[i], nil
		}
		names = append(names, lessons[i].ID)
	}
	return nil, fault("lesson", "there is no lesson %q, only %s", clip(id), list(names))
}

// actions returns what a lesson does.
func (l *Lesson) actions() []Action {
	all := make([]Action, len(l.Do))
	for i, text := range l.Do {
		all[i], _ = ParseAction(text) // a test reads them all
	}
	return all
}

// at gives a word its positions.
func at(key string, cells ...int) Word { return Word{Key: key, Cells: cells} }

// byHead computes the positions of a key as a person would.
func byHead(key string) Word {
	sum := 0
	for _, b := range []byte(key) {
		sum += int(b)
	}
	h1, h2 := sum%givenBits, 3*len(key)%givenBits
	return Word{Key: key, Cells: []int{h1, h2}, Why: fmt.Sprintf("the ASCII codes add up to %d, so h1 = %d; 3 × %d = %d, so h2 = %d",
		sum, h1, len(key), 3*len(key), h2)}
}
