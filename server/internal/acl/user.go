// Package acl is the rights of users, as Redis's ACL has them: which commands they may
// run, and which keys they may read and write with them. It is about names, rules and
// patterns alone; package engine asks it before it runs a command.
//
//	user alice on #9f86d0… addrate=1000 ~users:* %R~shared:* resetchannels -@all +@bloom -@delete
//
// A [User] does not change. [User.With] makes another from it and some rules, so that
// whoever checks a command takes no lock. The first of its selectors is made of the
// rules themselves, each (…) is one more; a command may be run if one of them allows
// the command and all of its keys.
package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Default is the name of the user that every connection is at its beginning.
const Default = "default"

// maxAddRate bounds addrate.
const maxAddRate = 1_000_000_000

// digest is the SHA-256 of a password.
type digest [sha256.Size]byte

// User is a user and its rights. It does not change. Make it with NewUser or
// NewDefault.
//
// Safe for concurrent use.
type User struct {
	name      string
	on        bool
	noPass    bool
	passwords []digest
	addRate   int64
	selectors []Selector // the first is the root
	all       bool       // it may run every command on every key
	size      Size
}

// Size is how much a user consists of.
type Size struct {
	Patterns, Length int // patterns of keys, and their length together
	Rules            int // the others, passwords and selectors among them
}

// NewUser returns a user who may do nothing, as ACL SETUSER begins with.
func NewUser(c *Commands, name string) *User {
	return &User{name: name, selectors: []Selector{empty(c)}}
}

// NewDefault returns the user default, who may do everything, with a password, or
// without one if that is "".
func NewDefault(c *Commands, password string) *User {
	u := NewUser(c, Default).clone()
	u.on = true
	for _, rule := range []string{"+@all", "~*", "&*"} {
		u.selectors[0].apply(c, rule) // none of them is wrong
	}
	u.all = true
	return u.WithPassword(password)
}

// Name returns the name of the user.
func (u *User) Name() string { return u.name }

// All reports whether the user may run every command on every key.
func (u *User) All() bool { return u.all }

// Size returns how much the user consists of.
func (u *User) Size() Size { return u.size }

// measure finds out how much the user consists of.
func (u *User) measure() (size Size) {
	size.Rules = len(u.passwords)
	for _, s := range u.selectors {
		size.Patterns += len(s.keys)
		size.Rules += 1 + len(s.rules) + len(s.channels)
		for i := range s.keys {
			size.Length += len(s.keys[i].text)
		}
	}
	return size
}

// Selectors returns what the user may do. It must not be changed.
func (u *User) Selectors() []Selector { return u.selectors }

// AddRate returns how many items the user may add in a second, 0 for no limit.
func (u *User) AddRate() int64 { return u.addRate }

// Open reports whether the user needs no password.
func (u *User) Open() bool { return u.on && u.noPass }

// NoPass reports whether every password is right.
func (u *User) NoPass() bool { return u.noPass }

// Accepts reports whether the user may log in with a password. It takes the same time
// for every wrong one, and for a user who has none.
func (u *User) Accepts(password []byte) bool {
	sum := sha256.Sum256(password)
	right := 0
	for i := range u.passwords {
		right |= subtle.ConstantTimeCompare(sum[:], u.passwords[i][:])
	}
	return u.on && (u.noPass || right == 1)
}

// WithPassword returns the user with one password, or with none at all if that is "",
// as the setting requirepass has it.
func (u *User) WithPassword(password string) *User {
	next := u.clone()
	next.passwords, next.noPass = nil, password == ""
	if password != "" {
		next.passwords = []digest{sha256.Sum256([]byte(password))}
	}
	return next
}

// With returns the user with more rules in force, in their order: all of them or, on
// an error, none.
func (u *User) With(c *Commands, words ...string) (*User, error) {
	rules, err := join(words)
	if err != nil {
		return nil, err
	}
	next := u.clone()
	for _, rule := range rules {
		if text := next.apply(c, rule); text != "" {
			return nil, &RuleError{shown(rule), text}
		}
	}
	root := &next.selectors[0]
	next.all = root.allKeys && root.commands.covers(c.everything)
	next.size = next.measure()
	return next, nil
}

func (u *User) clone() *User {
	next := *u
	next.passwords = slices.Clone(u.passwords)
	next.selectors = make([]Selector, len(u.selectors))
	for i := range u.selectors {
		next.selectors[i] = u.selectors[i].clone()
	}
	return &next
}

// apply puts a rule in force. It returns what is wrong with it, or "".
func (u *User) apply(c *Commands, rule string) (text string) {
	if rule == "" {
		return ""
	}
	switch word := strings.ToLower(rule); {
	case word == "on" || word == "off":
		u.on = word == "on"
	case word == "sanitize-payload" || word == "skip-sanitize-payload": // payloads are always checked
	case word == "nopass" || word == "resetpass":
		u.noPass, u.passwords = word == "nopass", nil
	case word == "clearselectors":
		u.selectors = u.selectors[:1]
	case word == "reset":
		*u = *NewUser(c, u.name)
	case strings.HasPrefix(word, "addrate="):
		return u.limit(word)
	case strings.IndexByte("><#!", rule[0]) >= 0:
		return u.changePassword(rule)
	case rule[0] == '(' && strings.HasSuffix(rule, ")"):
		return u.addSelector(c, rule[1:len(rule)-1])
	default:
		return u.selectors[0].apply(c, rule)
	}
	return ""
}

func (u *User) limit(word string) (text string) {
	digits := strings.TrimPrefix(word, "addrate=")
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > maxAddRate {
		return textAddRate
	}
	u.addRate = int64(n)
	return ""
}

func (u *User) changePassword(rule string) (text string) {
	var d digest
	if rule[0] == '>' || rule[0] == '<' {
		d = sha256.Sum256([]byte(rule[1:]))
	} else if n, err := hex.Decode(d[:], []byte(rule[1:min(len(rule), 1+2*len(d))])); err != nil ||
		n != len(d) || len(rule) != 1+2*len(d) || strings.ToLower(rule) != rule {
		return textHash
	}
	at := slices.Index(u.passwords, d)
	switch add := rule[0] == '>' || rule[0] == '#'; {
	case !add && at < 0:
		return textPassword
	case !add:
		u.passwords = slices.Delete(u.passwords, at, at+1)
		return ""
	case at < 0 && len(u.passwords) >= Most:
		return textMany
	case at < 0:
		u.passwords = append(u.passwords, d)
	}
	u.noPass = false
	return ""
}

func (u *User) addSelector(c *Commands, rules string) (text string) {
	if len(u.selectors) > Most {
		return textMany
	}
	s := empty(c)
	for _, word := range strings.FieldsFunc(rules, space) {
		if strings.HasSuffix(word, ")") {
			return textSyntax // it would not be clear where the selector ends
		}
		if text := s.apply(c, word); text != "" {
			return text
		}
	}
	u.selectors = append(u.selectors, s)
	return ""
}

// Flags returns what ACL GETUSER shows as flags.
func (u *User) Flags() []string {
	flags := []string{"off"}
	if u.on {
		flags[0] = "on"
	}
	if u.noPass {
		flags = append(flags, "nopass")
	}
	return append(flags, "sanitize-payload")
}

// Hashes returns the passwords as they are kept, SHA-256 in hexadecimal digits.
func (u *User) Hashes() []string {
	all := make([]string, len(u.passwords))
	for i := range u.passwords {
		all[i] = hex.EncodeToString(u.passwords[i][:])
	}
	return all
}

// String returns the line of the user in a file of users.
func (u *User) String() string {
	words := append([]string{"user", u.name}, u.Flags()...)
	for _, hash := range u.Hashes() {
		words = append(words, "#"+hash)
	}
	if u.addRate > 0 {
		words = append(words, "addrate="+strconv.FormatInt(u.addRate, 10))
	}
	for i := range u.selectors {
		rules := u.selectors[i].String()
		if i > 0 {
			rules = "(" + rules + ")"
		}
		words = append(words, rules)
	}
	return strings.Join(words, " ")
}
