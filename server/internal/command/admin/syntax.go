package admin

// The syntax lines of commands, as COMMAND DOCS shows them.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// argument is one element of a command's syntax, as COMMAND DOCS shows it.
type argument struct {
	name     string
	token    string // the word in front of the value, or the word alone
	value    bool   // there is a value
	optional bool
	multiple bool
	oneOf    []argument // alternatives
	block    []argument // several elements that go together
}

// parseSyntax reads a syntax line: WORDS in capitals stand for themselves, other
// words are values, [] is optional, | separates alternatives, () groups, "x y [x y
// ...]" is one or more of them, and "[x ...]" any number.
func parseSyntax(s string) []argument {
	for _, c := range "[]()|" {
		s = strings.ReplaceAll(s, string(c), " "+string(c)+" ")
	}
	p := syntaxParser{words: strings.Fields(s)}
	return p.sequence("")
}

type syntaxParser struct{ words []string }

func (p *syntaxParser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *syntaxParser) next() string {
	w := p.peek()
	if w != "" {
		p.words = p.words[1:]
	}
	return w
}

// sequence reads elements up to a closing bracket and, where there are |,
// makes alternatives of them.
func (p *syntaxParser) sequence(end string) []argument {
	var branches [][]argument
	var now []argument
	for p.peek() != "" && p.peek() != end {
		switch w := p.next(); {
		case w == "|":
			branches = append(branches, now)
			now = nil
		case w == "[":
			inner := p.sequence("]")
			p.next()
			many := len(inner) > 1 && inner[len(inner)-1].name == "..."
			if many {
				inner = inner[:len(inner)-1]
			}
			if first := len(now) - len(inner); many && first >= 0 && slices.EqualFunc(inner, now[first:], sameName) {
				a := together(slices.Clone(now[first:]))
				a.multiple = true
				now = append(now[:first], a)
				continue
			}
			a := together(inner)
			a.optional, a.multiple = true, a.multiple || many
			now = append(now, a)
		case w == "(":
			inner := p.sequence(")")
			p.next()
			now = append(now, together(inner))
		case w == "...":
			now = append(now, argument{name: w})
		case isToken(w):
			a := argument{name: strings.ToLower(w), token: w}
			if v := p.peek(); v != "" && !isToken(v) && !strings.ContainsAny(v, "[]()|") {
				a.name, a.value = p.next(), true
			}
			now = append(now, a)
		default:
			now = append(now, argument{name: w, value: true})
		}
	}
	if branches == nil {
		return now
	}
	one := argument{name: "option"}
	for _, b := range append(branches, now) {
		one.oneOf = append(one.oneOf, together(b))
	}
	return []argument{one}
}

func sameName(a, b argument) bool { return a.name == b.name }

// together makes one element of several.
func together(a []argument) argument {
	if len(a) == 1 {
		return a[0]
	}
	return argument{name: "block", block: a}
}

// isToken reports whether a word stands for itself: it has capitals only.
func isToken(w string) bool {
	return strings.IndexFunc(w, unicode.IsLower) < 0 && strings.IndexFunc(w, unicode.IsUpper) >= 0
}

func argumentReplies(args []argument) []answer.Reply {
	out := make([]answer.Reply, len(args))
	for i, a := range args {
		out[i] = a.reply()
	}
	return out
}

func (a argument) reply() answer.Reply {
	kind := "string"
	switch {
	case a.oneOf != nil:
		kind = "oneof"
	case a.block != nil:
		kind = "block"
	case !a.value:
		kind = "pure-token"
	case a.name == "key" || a.name == "newkey":
		kind = "key"
	}
	elems := []answer.Reply{answer.Text("name"), answer.Text(a.name), answer.Text("type"), answer.Text(kind)}
	if kind == "key" {
		elems = append(elems, answer.Text("key_spec_index"), answer.Integer(0))
	}
	if a.token != "" {
		elems = append(elems, answer.Text("token"), answer.Text(a.token))
	}
	var flags []string
	if a.optional {
		flags = append(flags, "optional")
	}
	if a.multiple {
		flags = append(flags, "multiple")
	}
	if flags != nil {
		elems = append(elems, answer.Text("flags"), answer.List(answer.Words(flags)...))
	}
	if inner := append(a.oneOf, a.block...); len(inner) > 0 {
		elems = append(elems, answer.Text("arguments"), answer.List(argumentReplies(inner)...))
	}
	return answer.Pairs(elems...)
}
