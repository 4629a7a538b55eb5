package acl_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/glob"
)

// list is a small table of commands.
var list = []acl.Command{
	{Name: "get", Index: 0, Categories: []string{"read", "string", "fast"}},
	{Name: "set", Index: 1, Categories: []string{"write", "string", "slow", "delete"}},
	{Name: "keys", Index: 2, Categories: []string{"read", "keyspace", "slow", "dangerous"}},
	{Name: "config", Index: 3, Categories: []string{"slow"}},
	{Name: "config|get", Index: 4, Categories: []string{"slow", "admin", "dangerous"}},
	{Name: "config|set", Index: 5, Categories: []string{"slow", "admin", "dangerous"}},
	{Name: "cf.add", Index: 6, Categories: []string{"write", "cuckoo"}},
	{Name: "cf.del", Index: 7, Categories: []string{"write", "cuckoo", "delete"}},
	{Name: "bf.add", Index: 8, Categories: []string{"write", "bloom"}},
}

// model is a user by the book: what each rule does, without a thought for time.
type model struct {
	on, noPass bool
	passwords  map[string]bool // by their hash
	addRate    int
	parts      []*part
}

// part is a selector.
type part struct {
	commands             map[string]bool
	keys                 map[string]string // pattern to R, W or RW
	allKeys, allChannels bool
	channels             map[string]bool
}

func newPart() *part {
	return &part{commands: map[string]bool{}, keys: map[string]string{}, channels: map[string]bool{}}
}

func newModel() *model { return &model{passwords: map[string]bool{}, parts: []*part{newPart()}} }

var (
	blank   = regexp.MustCompile("[ \t\n\v\f\r\x00]") // what a word of a file cannot have
	hashed  = regexp.MustCompile("^#[0-9a-f]{64}$")
	between = regexp.MustCompile("[ \t\n\v\f\r]+")
	percent = regexp.MustCompile(`(?s)^%([rR]|[wW]|[rR][wW]|[wW][rR])~(.*)$`)
)

// apply puts a rule in force and reports whether it is one.
func (m *model) apply(rule string) bool {
	low := strings.ToLower(rule)
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	switch {
	case rule == "" || low == "sanitize-payload" || low == "skip-sanitize-payload":
	case low == "on":
		m.on = true
	case low == "off":
		m.on = false
	case low == "nopass":
		m.noPass, m.passwords = true, map[string]bool{}
	case low == "resetpass":
		m.noPass, m.passwords = false, map[string]bool{}
	case low == "reset":
		*m = *newModel()
	case low == "clearselectors":
		m.parts = m.parts[:1]
	case strings.HasPrefix(low, "addrate="):
		n, err := strconv.ParseUint(low[8:], 10, 64)
		if err != nil || n > 1e9 {
			return false
		}
		m.addRate = int(n)
	case rule[0] == '>':
		m.passwords[hash(rule[1:])], m.noPass = true, false
	case rule[0] == '#':
		if !hashed.MatchString(rule) {
			return false
		}
		m.passwords[rule[1:]], m.noPass = true, false
	case rule[0] == '<' || rule[0] == '!':
		key := rule[1:]
		if rule[0] == '<' {
			key = hash(key)
		}
		if !m.passwords[key] {
			return false
		}
		delete(m.passwords, key)
	case rule[0] == '(' && rule[len(rule)-1] == ')':
		p := newPart()
		for _, word := range between.Split(rule[1:len(rule)-1], -1) {
			if word != "" && (strings.HasSuffix(word, ")") || !p.apply(word)) {
				return false
			}
		}
		m.parts = append(m.parts, p)
	default:
		return m.parts[0].apply(rule)
	}
	return true
}

func (p *part) apply(rule string) bool {
	low := strings.ToLower(rule)
	switch {
	case low == "allkeys" || rule == "~*":
		p.allKeys, p.keys = true, map[string]string{}
	case low == "resetkeys":
		p.allKeys, p.keys = false, map[string]string{}
	case low == "allchannels" || rule == "&*":
		p.allChannels, p.channels = true, map[string]bool{}
	case low == "resetchannels":
		p.allChannels, p.channels = false, map[string]bool{}
	case low == "allcommands" || low == "+@all" || low == "nocommands" || low == "-@all":
		for _, c := range list {
			p.commands[c.Name] = low == "allcommands" || low == "+@all"
		}
	case rule[0] == '~':
		return p.pattern("RW", rule[1:])
	case rule[0] == '%':
		found := percent.FindStringSubmatch(rule)
		return found != nil && p.pattern(strings.ToUpper(found[1]), found[2])
	case rule[0] == '&':
		if p.allChannels || blank.MatchString(rule) {
			return false
		}
		p.channels[rule[1:]] = true
	case rule[0] == '+' || rule[0] == '-':
		return p.change(low[1:], rule[0] == '+')
	default:
		return false
	}
	return true
}

func (p *part) pattern(access, pattern string) bool {
	if p.allKeys || blank.MatchString(pattern) {
		return false
	}
	p.keys[pattern] += access
	return true
}

func (p *part) change(name string, allow bool) bool {
	found := false
	for _, c := range list {
		if name == c.Name || strings.HasPrefix(c.Name, name+"|") || name != "" && name[0] == '@' && slices.Contains(c.Categories, name[1:]) {
			p.commands[c.Name], found = allow, true
		}
	}
	return found || name != "" && name[0] == '@' && slices.Contains(acl.Categories(), name[1:])
}

// may reports whether the model allows a command on a key.
func (m *model) may(command, key, access string) bool {
	return slices.ContainsFunc(m.parts, func(p *part) bool {
		if !p.commands[command] {
			return false
		}
		ok := p.allKeys
		for pattern, has := range p.keys {
			enough := true
			for _, letter := range access {
				enough = enough && strings.ContainsRune(has, letter)
			}
			ok = ok || enough && glob.New(pattern).Match(key)
		}
		return ok
	})
}

// joined puts the words of selectors together, and reports whether all of them end.
func joined(words []string) (rules []string, ok bool) {
	text := ""
	for _, word := range words {
		switch {
		case text != "":
			text += " " + word
		case strings.HasPrefix(word, "("):
			text = word
		default:
			rules = append(rules, word)
			continue
		}
		if strings.HasSuffix(word, ")") {
			rules, text = append(rules, text), ""
		}
	}
	return rules, text == ""
}

var accesses = map[string]acl.Access{"R": acl.Read, "W": acl.Write, "RW": acl.Read | acl.Write}

// may is that of the model, by the user itself.
func may(u *acl.User, index int, key string, a acl.Access) bool {
	all := u.Selectors()
	for i := range all {
		one, other := all[i].MayTouch([]byte(key), a), all[i].MayTouchName(key, a)
		if one != other {
			panic("MayTouch and MayTouchName differ")
		}
		if one && all[i].MayRun(index) {
			return true
		}
	}
	return false
}

// compare returns the first question that a user answers otherwise than the model.
func compare(u *acl.User, m *model, keys []string) string {
	everything := true
	for _, c := range list {
		for _, key := range keys {
			for name, a := range accesses {
				got, want := may(u, c.Index, key, a), m.may(c.Name, key, name)
				if got != want {
					return fmt.Sprintf("%s of %q by %s: %t, want %t", name, key, c.Name, got, want)
				}
				everything = everything && got
			}
		}
	}
	if u.All() && !everything {
		return "All is true, and something is refused"
	}
	if u.AddRate() != int64(m.addRate) || u.NoPass() != m.noPass || u.Open() != (m.on && m.noPass) {
		return fmt.Sprintf("addrate %d, nopass %t, open %t", u.AddRate(), u.NoPass(), u.Open())
	}
	hashes := u.Hashes()
	slices.Sort(hashes)
	want := []string{}
	for hash := range m.passwords {
		want = append(want, hash)
	}
	slices.Sort(want)
	if !slices.Equal(hashes, want) {
		return fmt.Sprintf("passwords %q, want %q", hashes, want)
	}
	return ""
}

// FuzzRules compares users with the model: whatever the rules are, both take them or
// refuse them, allow the same and accept the same passwords. What a user is shown as
// makes the same user again.
func FuzzRules(f *testing.F) {
	for _, s := range []string{
		"on >pw ~a* %R~b* %W~c* +@read -get +config -config|set",
		"+@all -@dangerous -@delete allkeys nopass", "(~x +get) (%W~y +@write -@delete) clearselectors (~z +keys",
		"#" + strings.Repeat("a", 64) + " !" + strings.Repeat("a", 64) + " <pw >pw <pw resetpass",
		"addrate=1000 addrate=0 addrate=x", "~a ~a %R~a %W~a resetkeys %RW~a* &x &* &y resetchannels",
		"+get|x +config|get|y -get|x +@nothing +nothing +get| +| -", "reset on off (+get ~a)) (~a) +get) () ( )", "+config -config|get +@slow -config",
	} {
		f.Add(s)
	}
	c := acl.NewCommands(list)
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, " ")
		u, err := acl.NewUser(c, "bob").With(c, words...)
		rules, ok := joined(words)
		m := newModel()
		for _, rule := range rules {
			ok = ok && m.apply(rule)
		}
		if ok != (err == nil) {
			t.Fatalf("%q: %v, the model takes it: %t", text, err, ok)
		}
		if err != nil {
			return
		}
		keys := []string{"", "a", "ab", "b", "secret"}
		for _, word := range words {
			keys = append(keys, strings.Trim(word, "()~%RWrw*&"))
		}
		if wrong := compare(u, m, keys); wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
		again, err := acl.Parse(c, "f", acl.Format([]*acl.User{u}))
		if err != nil || len(again) != 1 || again[0].String() != u.String() {
			t.Fatalf("%q is shown as %q, which is read as %q, %v", text, u, again, err)
		}
		if wrong := compare(again[0], m, keys); wrong != "" {
			t.Fatalf("%q, written and read again: %s", text, wrong)
		}
		one := acl.NewUser(c, "bob")
		for _, rule := range rules {
			if one, err = one.With(c, rule); err != nil {
				t.Fatalf("%q: the rule %q alone: %v", text, rule, err)
			}
		}
		if one.String() != u.String() {
			t.Fatalf("%q: one by one %q, together %q", text, one, u)
		}
	})
}
