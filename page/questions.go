package page

// What the scripts of the page ask for.

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/page/internal/calc"
	"github.com/bloomery/bloomery/page/internal/teach"
)

// Question is what the page can ask for.
type Question struct {
	// Path is that of the question below api/v1/.
	Path string
	// Doc describes the answer in a line.
	Doc string

	fields []string // of the query; nil if answer checks them
	answer func(url.Values) (any, error)
}

// QueryError is what is wrong with a query, by the name of the field.
type QueryError map[string]string

// Error returns the faults in the order of their fields.
func (e QueryError) Error() string { return calc.QueryError(e).Error() }

// Questions returns everything that the page can ask for.
func Questions() []Question {
	script := []string{"lesson", "kind", "bits", "hashes", "word", "do"}
	return []Question{
		{"calc", "Solves for the size, the false positive rate, the keys or the bits per key of a filter, with curves, all kinds and code to copy.", nil, solve},
		{"teach", "Plays a lesson, or actions on a small filter, and shows every bit after every step.", script, play},
		{"teach/lessons", "Lists the lessons, and the kinds of filters that can be shown.", nil, lessons},
		{"teach/find", "Looks for a false positive of a scene.", script, find},
		{"teach/hashes", "Compares a good hash function with a poor one on the same keys.", []string{"n", "p", "keys"}, compare},
		{"teach/saturation", "Fills a filter to four times its capacity and measures its false positive rate.", []string{"kind", "n", "p"}, saturate},
	}
}

// Answer returns the answer to a query: a value that is encoded as JSON. It takes a few
// milliseconds. The error is a QueryError.
func (q Question) Answer(query url.Values) (any, error) {
	for name, values := range query {
		switch {
		case q.fields == nil:
		case !slices.Contains(q.fields, name):
			return nil, QueryError{clip(name): "there is no such field, only " + strings.Join(q.fields, ", ")}
		case len(values) > 1 && name != "do" && name != "word":
			return nil, QueryError{name: "is given more than once"}
		}
	}
	v, err := q.answer(query)
	if fault, ok := errors.AsType[*teach.FieldError](err); ok {
		return nil, QueryError{fault.Field: fault.Cause}
	}
	return v, err
}

// clip shortens what comes back in a message.
func clip(s string) string {
	const most = 64
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

func solve(q url.Values) (any, error) {
	a, faults := calc.Solve(q)
	if faults != nil {
		return nil, QueryError(faults)
	}
	return a, nil
}

// lessonList is what there is to show.
type lessonList struct {
	Lessons []teach.Lesson `json:"lessons"`
	Kinds   []teach.Kind   `json:"kinds"`
	Limits  map[string]int `json:"limits"`
}

func lessons(url.Values) (any, error) {
	return lessonList{teach.Lessons(), teach.Kinds(), map[string]int{
		"actions": teach.MaxActions, "key_bytes": teach.MaxKeyBytes, "min_keys": teach.MinTrialKeys, "max_keys": teach.MaxTrialKeys,
	}}, nil
}

func play(q url.Values) (any, error) {
	s, err := readScript(q)
	if err != nil {
		return nil, err
	}
	return s.Play()
}

func find(q url.Values) (any, error) {
	s, err := readScript(q)
	if err != nil {
		return nil, err
	}
	return s.Find()
}

func readScript(q url.Values) (teach.Script, error) {
	s := teach.Script{Lesson: q.Get("lesson"), Kind: q.Get("kind")}
	var err error
	for _, text := range q["word"] {
		w, err := teach.ParseWord(text)
		if err != nil {
			return s, err
		}
		s.Words = append(s.Words, w)
	}
	if s.Lesson == "" && s.Kind == "" && s.Words == nil {
		s.Kind = "standard"
	}
	if s.Bits, err = wholeOf(q, "bits"); err != nil {
		return s, err
	}
	if s.Hashes, err = wholeOf(q, "hashes"); err != nil {
		return s, err
	}
	if n := len(q["do"]); n > teach.MaxActions {
		return s, QueryError{"do": strconv.Itoa(n) + " actions, at most " + strconv.Itoa(teach.MaxActions)}
	}
	for _, text := range q["do"] {
		a, err := teach.ParseAction(text)
		if err != nil {
			return s, err
		}
		s.Actions = append(s.Actions, a)
	}
	return s, nil
}

// wholeOf reads a whole number of a query, 0 if it is not given.
func wholeOf(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, QueryError{name: "must be a whole number of at least 1"}
	}
	return int(n), nil
}

func compare(q url.Values) (any, error) {
	n, p, err := readTrial(q)
	if err != nil {
		return nil, err
	}
	keys := q.Get("keys")
	if keys != "" && keys != "structured" && keys != "random" {
		return nil, QueryError{"keys": "must be structured or random"}
	}
	return teach.Compare(n, p, keys != "random")
}

func saturate(q url.Values) (any, error) {
	n, p, err := readTrial(q)
	if err != nil {
		return nil, err
	}
	kind := q.Get("kind")
	if kind == "" {
		kind = "standard"
	}
	return teach.Grow(kind, n, p)
}

// readTrial reads the number of keys and the rate of an experiment.
func readTrial(q url.Values) (n int, p float64, err error) {
	n, p = 1000, 0.01
	if text := q.Get("n"); text != "" {
		count, err := figures.Count(text)
		if err != nil {
			return 0, 0, QueryError{"n": err.Error()}
		}
		n = int(min(count, 1<<31-1))
	}
	if text := q.Get("p"); text != "" {
		if p, err = figures.Rate(text); err != nil {
			return 0, 0, QueryError{"p": err.Error()}
		}
	}
	return n, p, nil
}
