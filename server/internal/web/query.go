package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/bloomery/bloomery/internal/figures"
)

// fields reads the query of an address, for the API and for the page. What is wrong
// gets its usual value and a message, by its name.
type fields struct {
	url.Values
	wrong map[string]string
}

func fieldsOf(q url.Values) fields { return fields{q, map[string]string{}} }

// err returns what is wrong as an answer of the API.
func (f fields) err() error {
	for _, name := range slices.Sorted(maps.Keys(f.wrong)) {
		return invalid("%s: %s", name, f.wrong[name])
	}
	return nil
}

// whole reads a whole number.
func (f fields) whole(name string, usual, least, most int) int {
	text := f.Get(name)
	if text == "" {
		return usual
	}
	n, err := figures.Count(text)
	if err != nil || n < uint64(least) || n > uint64(most) {
		f.wrong[name] = fmt.Sprintf("A whole number from %d to %s, please.", least, grouped(int64(most)))
		return usual
	}
	return int(n)
}

// text reads a text of a bounded length.
func (f fields) text(name, usual string, most int) string {
	text := f.Get(name)
	switch {
	case text == "":
		return usual
	case len(text) > most:
		f.wrong[name] = fmt.Sprintf("It has at most %d characters.", most)
		return usual
	}
	return text
}

// descending reads a direction.
func (f fields) descending(name string) bool {
	switch f.Get(name) {
	case "", "asc":
		return false
	case "desc":
		return true
	}
	f.wrong[name] = "The direction is asc or desc."
	return false
}
