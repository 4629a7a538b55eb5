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

	paper func() paper
}

// paper is a filter small enough for a sheet of paper, whose words have given places.
type paper interface {
	machine
	// accepts refuses actions on keys that have no places.
	accepts(a Action) error
	sheet() sheet
}

// sheet is what stands beside such a filter.
type sheet struct {
	cell         string
	bits, hashes int
	words        []Word
}

var lessons = []Lesson{
	{
		ID: "cat-dog", Title: "Cat and dog",
		About: "An array of 10 bits and two hash functions that can be computed in the head: h1 is the sum of the ASCII codes of the letters, modulo 10; h2 is 3 times the length, modulo 10.",
		Do:    []string{"add:cat", "ask:cat", "ask:dog"},
		paper: func() paper {
			g := newGiven(byHead("cat"), byHead("dog"))
			g.rule = byHead
			return g
		},
	},
	{
		ID: "fruit", Title: "Three fruit",
		About: "Apple and orange are inserted, grape and banana are not. The positions are given: compare them, and say what the filter will answer before you look.",
		Do:    []string{"add:apple", "add:orange", "ask:apple", "ask:grape", "ask:banana"},
		paper: func() paper {
			return newGiven(at("apple", 2, 5, 7), at("orange", 2, 5, 8), at("grape", 2, 5, 8), at("banana", 3))
		},
	},
	{
		ID: "apple-banana-cherry", Title: "Apple, banana, cherry",
		About: "A key whose bits are not all set is certainly absent. Once it is inserted it is always found: there is no false negative. A bit that two keys share is why a Bloom filter cannot delete. The positions are given, three for each word.",
		Do:    []string{"add:apple", "add:banana", "ask:cherry", "add:cherry", "ask:apple", "ask:banana", "ask:cherry"},
		paper: func() paper {
			return newGiven(at("apple", 2, 5, 7), at("banana", 1, 5, 9), at("cherry", 2, 5, 8))
		},
	},
	{
		ID: "colours", Title: "Four colours",
		About: "Red and blue are inserted, black and green are not. The filter is certain about one of these two, and wrong about the other: which? The positions are given, three for each word.",
		Do:    []string{"add:red", "add:blue", "ask:red", "ask:blue", "ask:black", "ask:green"},
		paper: func() paper {
			return newGiven(at("red", 1, 3, 5), at("blue", 4, 5, 9), at("black", 0, 3, 6), at("green", 3, 4, 5))
		},
	},
	{
		ID: "quotient", Title: "A quotient filter",
		About: "Fingerprints instead of bits. Each is a number below 32, divided by 4: the quotient is its home slot, and only the remainder is stored. Fingerprints stay in order, so keys can be deleted and counted. The fingerprints are given.",
		Do:    []string{"add:ant", "add:bee", "add:cow", "ask:bee", "ask:dog", "ask:elk", "delete:ant", "ask:ant", "ask:cow"},
		paper: func() paper {
			return newShelf(shelfWord{"ant", 9}, shelfWord{"bee", 22}, shelfWord{"cow", 10}, shelfWord{"dog", 23}, shelfWord{"elk", 10})
		},
	},
	{
		ID: "growing", Title: "A filter that grows without its keys",
		About: "The seventh key makes a table of 8 slots double. Every fingerprint is found again from its slot and remainder, and divided anew: nobody needs the keys for that. One digit moves from the remainder to the slot. The fingerprints are given.",
		Do:    []string{"add:ant", "add:bee", "add:cow", "add:dog", "add:elk", "add:fox", "ask:cow", "add:gnu", "ask:cow", "ask:hen"},
		paper: func() paper {
			return newShelf(shelfWord{"ant", 9}, shelfWord{"bee", 22}, shelfWord{"cow", 10}, shelfWord{"dog", 3}, shelfWord{"elk", 14}, shelfWord{"fox", 27},
				shelfWord{"gnu", 17}, shelfWord{"hen", 23})
		},
	},
	{
		ID: "static", Title: "Sets that never change: fuse and ribbon",
		About: "Digits instead of bits. The digits at the three places of a key add up to its check digit; only the last digit of a sum counts. A fuse filter has places far apart, a ribbon filter in one short run, which takes less space. Both find all digits at once, from all keys; here it is done key by key. The places are given.",
		Do:    []string{"add:ant", "add:bee", "add:cow", "ask:ant", "ask:bee", "ask:dog", "ask:elk"},
		paper: func() paper {
			return newSums("", givenBits,
				sumWord{key: "ant", first: []int{0, 4, 8}, check: 5},
				sumWord{key: "bee", first: []int{1, 4, 7}, check: 3},
				sumWord{key: "cow", first: []int{2, 5, 8}, check: 8},
				sumWord{key: "dog", first: []int{1, 5, 9}, check: 6},
				sumWord{key: "elk", first: []int{0, 1, 2}, check: 6})
		},
	},
	{
		ID: "map", Title: "A map: which shelf?",
		About: "A map stores a small number for each key, here a shelf, and not the keys. The digits at the three places of a key add up to its check digit, and below to its shelf; only the last digit of a sum counts. An absent key is found out by its check digit, but for one in ten. The places are given.",
		Do:    []string{"add:bread", "add:milk", "add:tea", "ask:milk", "ask:salt", "ask:soap"},
		paper: func() paper {
			return newSums("shelves", givenBits,
				sumWord{key: "bread", first: []int{0, 3, 6}, second: []int{0, 3, 6}, check: 4, stored: 7},
				sumWord{key: "milk", first: []int{0, 3, 8}, second: []int{0, 3, 8}, check: 2, stored: 1},
				sumWord{key: "tea", first: []int{0, 5, 8}, second: []int{0, 5, 8}, check: 9, stored: 7},
				sumWord{key: "salt", first: []int{5, 6, 8}, second: []int{5, 6, 8}, check: 3},
				sumWord{key: "soap", first: []int{3, 5, 6}, second: []int{3, 5, 6}, check: 7})
		},
	},
	{
		ID: "exact", Title: "An exact set: no error among keys that are known",
		About: "Anna and Bert are blocked; Carl and Dora are the others that exist. The first row is a filter of those that are in. Whoever of the others passes it by chance gets a place in the second row, which says in or out. So nobody who is in a list is answered wrongly; Eve is in none. The places are given.",
		Do:    []string{"add:Anna", "add:Bert", "ask:Dora", "add:Carl", "add:Dora", "ask:Dora", "ask:Anna", "ask:Eve"},
		paper: func() paper {
			return newSums("in or out", 2,
				sumWord{key: "Anna", first: []int{0, 3}, second: []int{1, 5}, check: 4, stored: 1},
				sumWord{key: "Bert", first: []int{3, 7}, second: []int{5, 7}, check: 6, stored: 1},
				sumWord{key: "Carl", first: []int{0, 7}, second: []int{2, 7}, check: 3, out: true},
				sumWord{key: "Dora", first: []int{2, 7}, second: []int{1, 8}, check: 6, out: true},
				sumWord{key: "Eve", first: []int{0, 5}, second: []int{4, 7}, check: 4})
		},
	},
	{
		ID: "delete", Title: "Deleting from a counting filter", Kind: "counting", Bits: 512, Hashes: 4,
		About: "Counters instead of bits. Apple and orange share a counter. Orange is deleted: watch that counter, and say whether apple is still found. With bits alone apple would be lost.",
		Do:    []string{"add:apple", "add:orange", "ask:orange", "delete:orange", "ask:orange", "ask:apple"},
	},
	{
		ID: "beside", Title: "Blocked beside standard", Kind: "beside",
		About: "The same keys in both filters. Look where the bits of a key lie: anywhere, or in one block of 512, which is one memory access.",
		Do:    []string{"add:apple", "ask:apple", "add:banana", "ask:cherry", "fill:60", "ask:cherry"},
	},
	{
		ID: "parts", Title: "Parts of a large filter", Kind: "parts",
		About: "A server cuts a large filter into parts, and a cluster can hold them on several machines. The hash of a key decides which part has it: a lookup asks that one alone.",
		Do:    []string{"add:apple", "add:banana", "add:cherry", "ask:apple", "ask:elderberry", "fill:40", "ask:banana"},
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
	{
		ID: "corrected", Title: "A corrected filter: the lion at the pet hotel", Kind: "corrected", Bits: 16, Hashes: 2,
		About: "A false positive that is reported does not pass again. Cat, dog and fish are guests of a hotel; its guest book is the store, which is asked after every yes. Whoever is not in the book is reported. A guest is never denied, whatever was reported, and whenever. There is room for two reports: say who passes again after the third.",
		Do: []string{
			"add:cat", "add:dog", "add:fish", "ask:lion", "report:lion", "ask:lion", "ask:mole", "add:mole", "report:mole", "ask:mole",
			"add:lion", "ask:lion", "report:panda", "report:wasp", "report:eagle", "ask:panda", "ask:eagle",
		},
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
