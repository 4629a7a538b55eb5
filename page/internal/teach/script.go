package teach

// Scripts: a filter and what is done with it.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a script. They bound the work of Play to some milliseconds and its
// result to some hundred kilobytes.
const (
	// MaxActions is the number of actions.
	MaxActions = 64
	// MaxKeyBytes is the length of a key.
	MaxKeyBytes = 48
	// MaxKeys is the number of keys that are added, those of fill included.
	MaxKeys = 600
)

// Script is a filter and what is done with it.
type Script struct {
	// Lesson is the name of a lesson. It sets the other fields that are empty.
	Lesson string
	// Kind, Bits and Hashes are those of the filter. 0 is the default of the kind.
	Kind   string
	Bits   int
	Hashes int
	// Words have positions that somebody has typed in, in place of a lesson or a kind.
	Words []Word
	// Actions are done in turn.
	Actions []Action
}

// Action is one thing that is done with a filter.
type Action struct {
	Do  string // add, ask, delete, report, fill or advance
	Key string // of add, ask, delete and report
	N   int    // keys that fill adds
}

// FieldError is an error in one field of a script.
type FieldError struct {
	Field string // lesson, kind, bits, hashes or do
	Cause string
}

// Error implements error.
func (f *FieldError) Error() string { return "teach: " + f.Field + ": " + f.Cause }

func fault(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// ParseAction reads an action: add:KEY, ask:KEY, delete:KEY, report:KEY, fill:N, advance.
func ParseAction(text string) (Action, error) {
	do, rest, given := strings.Cut(text, ":")
	a := Action{Do: do}
	switch do {
	case "add", "ask", "delete", "report":
		a.Key = rest
		if err := checkKey(rest); err != nil {
			return a, fault("do", "%s: %v", do, err)
		}
	case "fill":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > MaxKeys {
			return a, fault("do", "fill: %q is not a number from 1 to %d", clip(rest), MaxKeys)
		}
		a.N = n
	case "advance":
		if given {
			return a, fault("do", "advance takes no key")
		}
	default:
		return a, fault("do", "%q is not add:KEY, ask:KEY, delete:KEY, report:KEY, fill:N or advance", clip(text))
	}
	return a, nil
}

// checkKey refuses keys that cannot be shown.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("the key has %d bytes, at most %d", len(key), MaxKeyBytes)
	case !utf8.ValidString(key):
		return errors.New("the key is not valid UTF-8")
	case strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("the key has characters that cannot be shown")
	}
	return nil
}

// clip shortens what is quoted in a message.
func clip(s string) string {
	if len(s) > MaxKeyBytes {
		return strings.ToValidUTF8(s[:MaxKeyBytes], "") + "…"
	}
	return s
}

// scene checks the script and returns its stage: a scene without steps, and the
// filter that it is about.
func (s Script) scene() (Scene, machine, []Action, error) {
	if len(s.Words) > 0 {
		return s.typedIn()
	}
	if s.Lesson != "" {
		lesson, err := lessonNamed(s.Lesson)
		if err != nil {
			return Scene{}, nil, nil, err
		}
		return s.lesson(lesson)
	}
	k, err := kindNamed(s.Kind)
	if err != nil {
		return Scene{}, nil, nil, err
	}
	return s.filter(k)
}

// lesson is scene for a lesson.
func (s Script) lesson(l *Lesson) (Scene, machine, []Action, error) {
	var none Scene
	if s.Kind != "" || s.Bits != 0 || s.Hashes != 0 {
		return none, nil, nil, fault("lesson", "a lesson has its own kind, bits and hashes")
	}
	actions := s.Actions
	if len(actions) == 0 {
		actions = l.actions()
	}
	if l.paper != nil {
		m := l.paper()
		for _, a := range actions {
			if err := m.accepts(a); err != nil {
				return none, nil, nil, err
			}
		}
		sheet := m.sheet()
		v := Scene{Kind: "lesson", Lesson: l.ID, Title: l.Title, About: l.About, Cell: sheet.cell, Bits: sheet.bits, Hashes: sheet.hashes, Words: sheet.words}
		return v, m, actions, checkActions(actions, m, MaxKeys)
	}
	v, m, _, err := Script{Kind: l.Kind, Bits: l.Bits, Hashes: l.Hashes, Actions: actions}.scene()
	v.Lesson, v.Title, v.About = l.ID, l.Title, l.About
	return v, m, actions, err
}

// filter is scene for a kind.
func (s Script) filter(k *Kind) (Scene, machine, []Action, error) {
	bits, hashes := s.Bits, s.Hashes
	if bits == 0 {
		bits = k.Bits
	}
	if hashes == 0 {
		hashes = k.Hashes
	}
	switch {
	case !slices.Contains(k.Sizes, bits):
		return Scene{}, nil, nil, fault("bits", "%s has %s, not %d", k.Name, alternatives(k.Sizes), bits)
	case hashes < k.MinHashes || hashes > k.MaxHashes:
		return Scene{}, nil, nil, fault("hashes", "%s takes %d to %d, not %d", k.Name, k.MinHashes, k.MaxHashes, hashes)
	}
	m, err := k.open(bits, hashes)
	if err != nil {
		return Scene{}, nil, nil, err
	}
	v := Scene{Kind: k.Name, Title: k.Title, About: k.About, Cell: k.Cell, Bits: bits, Hashes: hashes, Words: []Word{}}
	return v, m, s.Actions, checkActions(s.Actions, m, k.MaxKeys)
}

// checkActions refuses what a filter cannot do, and too much of it.
func checkActions(actions []Action, m machine, most int) error {
	if len(actions) > MaxActions {
		return fault("do", "%d actions, at most %d", len(actions), MaxActions)
	}
	can, keys := abilities(m), 0
	for _, a := range actions {
		if !slices.Contains(can, a.Do) {
			return fault("do", "this filter cannot %s: it takes %s", a.Do, strings.Join(can, ", "))
		}
		switch a.Do {
		case "add":
			keys++
		case "fill":
			keys += a.N
		}
	}
	if keys > most {
		return fault("do", "%d keys are added, at most %d can be shown here", keys, most)
	}
	return nil
}

func alternatives(sizes []int) string {
	texts := make([]string, len(sizes))
	for i, n := range sizes {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1] + " cells"
}
