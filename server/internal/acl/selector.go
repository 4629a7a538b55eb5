package acl

// Selectors: which commands may be run on which keys.

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/glob"
)

// Access is what is done to a key.
type Access uint8

// What is done to a key.
const (
	Read Access = 1 << iota
	Write
)

// keyPattern is keys that may be read, written, or both.
type keyPattern struct {
	text   string
	access Access
	glob   *glob.Pattern
}

func (p *keyPattern) String() string {
	switch p.access {
	case Read:
		return "%R~" + p.text
	case Write:
		return "%W~" + p.text
	}
	return "~" + p.text
}

// Selector is commands, and the keys that they may be used on. It does not change.
//
// Safe for concurrent use.
type Selector struct {
	commands    Set
	every       bool     // rules begin with +@all
	rules       []string // behind it, in their order
	allKeys     bool
	keys        []keyPattern
	allChannels bool
	channels    []string
}

// MayRun reports whether a command may be run.
func (s *Selector) MayRun(index int) bool { return s.commands.Has(index) }

// Patterns returns how many patterns a key is compared with.
func (s *Selector) Patterns() int { return len(s.keys) }

// MayTouch reports whether a key may be read or written. One pattern must allow both
// if both are done.
func (s *Selector) MayTouch(key []byte, a Access) bool {
	if s.allKeys {
		return true
	}
	for i := range s.keys {
		if k := &s.keys[i]; k.access&a == a && k.glob.MatchBytes(key) {
			return true
		}
	}
	return false
}

// MayTouchName is MayTouch for a string.
func (s *Selector) MayTouchName(key string, a Access) bool {
	if s.allKeys {
		return true
	}
	for i := range s.keys {
		if k := &s.keys[i]; k.access&a == a && k.glob.Match(key) {
			return true
		}
	}
	return false
}

// MayTouchAll reports whether every key may be read or written.
func (s *Selector) MayTouchAll(a Access) bool {
	return s.allKeys || slices.ContainsFunc(s.keys, func(k keyPattern) bool { return k.access&a == a && k.glob.Any() })
}

// empty returns the selector that allows nothing.
func empty(c *Commands) Selector { return Selector{commands: newSet(64 * len(c.everything))} }

func (s *Selector) clone() Selector {
	next := *s
	next.commands, next.rules = s.commands.clone(), slices.Clone(s.rules)
	next.keys, next.channels = slices.Clone(s.keys), slices.Clone(s.channels)
	return next
}

// apply puts a rule in force. It returns what is wrong with it, or "".
func (s *Selector) apply(c *Commands, rule string) (text string) {
	switch word := strings.ToLower(rule); {
	case word == "allkeys" || word == "~*":
		s.allKeys, s.keys = true, nil
	case word == "resetkeys":
		s.allKeys, s.keys = false, nil
	case word == "allchannels" || word == "&*":
		s.allChannels, s.channels = true, nil
	case word == "resetchannels":
		s.allChannels, s.channels = false, nil
	case word == "allcommands" || word == "+@"+all:
		s.commands, s.every, s.rules = c.everything.clone(), true, nil
	case word == "nocommands" || word == "-@"+all:
		s.commands, s.every, s.rules = newSet(64*len(c.everything)), false, nil
	case rule[0] == '~' || rule[0] == '%':
		return s.addKeys(rule)
	case rule[0] == '&':
		return s.addChannels(rule[1:])
	case rule[0] == '+' || rule[0] == '-':
		return s.changeCommands(c, word)
	default:
		return textSyntax
	}
	return ""
}

func (s *Selector) addKeys(rule string) (text string) {
	access, pattern := Read|Write, rule[1:]
	if rule[0] == '%' {
		letters, rest, ok := strings.Cut(pattern, "~")
		switch strings.ToUpper(letters) {
		case "R":
			access = Read
		case "W":
			access = Write
		case "RW", "WR":
		default:
			ok = false
		}
		if pattern = rest; !ok {
			return textSyntax
		}
	}
	switch {
	case s.allKeys:
		return textKeys
	case !oneWord(pattern):
		return textSyntax
	}
	for i := range s.keys {
		if s.keys[i].text == pattern {
			s.keys[i].access |= access
			return ""
		}
	}
	if len(s.keys) >= Most {
		return textMany
	}
	s.keys = append(s.keys, keyPattern{pattern, access, glob.New(pattern)})
	return ""
}

func (s *Selector) addChannels(pattern string) (text string) {
	switch {
	case s.allChannels:
		return textChannels
	case !oneWord(pattern):
		return textSyntax
	case slices.Contains(s.channels, pattern):
	case len(s.channels) >= Most:
		return textMany
	default:
		s.channels = append(s.channels, pattern)
	}
	return ""
}

// changeCommands allows or forbids commands. Earlier rules that are about nothing else
// are forgotten: they have no effect any more.
func (s *Selector) changeCommands(c *Commands, rule string) (text string) {
	target, text := c.target(rule)
	if text != "" {
		return text
	}
	allow := rule[0] == '+'
	s.commands.change(target, allow)
	s.rules = slices.DeleteFunc(s.rules, func(earlier string) bool {
		old, _ := c.target(earlier)
		return target.covers(old)
	})
	s.rules = append(s.rules, rule)
	for len(s.rules) > 0 && (s.rules[0][0] == '+') == s.every {
		s.rules = s.rules[1:] // it allows what was allowed, or forbids what was not
	}
	return ""
}

// Commands returns the rules about commands: "-@all +@read -get".
func (s *Selector) Commands() string {
	first := "-@" + all
	if s.every {
		first = "+@" + all
	}
	return strings.Join(append([]string{first}, s.rules...), " ")
}

// Keys returns the rules about keys: "~a* %R~b*".
func (s *Selector) Keys() string {
	if s.allKeys {
		return "~*"
	}
	all := make([]string, len(s.keys))
	for i := range s.keys {
		all[i] = s.keys[i].String()
	}
	return strings.Join(all, " ")
}

// Channels returns the rules about channels. This server has none; clients and files
// name them.
func (s *Selector) Channels() string {
	if s.allChannels {
		return "&*"
	}
	all := make([]string, len(s.channels))
	for i, pattern := range s.channels {
		all[i] = "&" + pattern
	}
	return strings.Join(all, " ")
}

// String returns all rules, such that they make the same selector again.
func (s *Selector) String() string {
	var words []string
	if keys := s.Keys(); keys != "" {
		words = append(words, keys)
	}
	if !s.allChannels {
		words = append(words, "resetchannels")
	}
	if channels := s.Channels(); channels != "" {
		words = append(words, channels)
	}
	return strings.Join(append(words, s.Commands()), " ")
}
