package acl_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
)

// TestRandomRules compares users with the model, for rules that are mostly right.
func TestRandomRules(t *testing.T) {
	c := acl.NewCommands(list)
	rng := rand.New(rand.NewPCG(3, 3))
	words := strings.Fields("on off nopass resetpass >p <p >q ~a ~b* ~*c %R~a %W~a %R~b* %RW~d allkeys resetkeys ~* +get -get +set +config -config +config|get -config|set " +
		"+@read -@read +@write -@write +@delete -@delete +@slow -@slow +@all -@all +@hash addrate=5 addrate=0 reset clearselectors &x &* resetchannels (~a_+get) (%R~b*_+@read_-keys)")
	keys := []string{"a", "b", "bc", "c", "d", "e"}
	for range 1000 {
		u, m := acl.NewUser(c, "bob"), newModel()
		var line []string
		for range 1 + rng.IntN(12) {
			rule := strings.ReplaceAll(words[rng.IntN(len(words))], "_", " ")
			line = append(line, rule)
			next, err := u.With(c, rule)
			if (err == nil) != m.apply(rule) {
				t.Fatalf("%q: %v", line, err)
			}
			if err == nil {
				u = next
			}
			if wrong := compare(u, m, keys); wrong != "" {
				t.Fatalf("%q: %s", line, wrong)
			}
		}
		again, err := acl.Parse(c, "f", []byte(u.String()))
		if err != nil || again[0].String() != u.String() {
			t.Fatalf("%q is read as %q, %v", u, again, err)
		}
	}
}

// TestManyRules asks that a user has only so many passwords, patterns and selectors, and
// that a long selector is read in time in proportion to its length.
func TestManyRules(t *testing.T) {
	c := acl.NewCommands(list)
	for _, mark := range []string{">", "~", "%R~", "&", "("} {
		words := make([]string, acl.Most+1)
		for i := range words {
			words[i] = mark + strconv.Itoa(i)
			if mark == "(" {
				words[i] = "(~a)"
			}
		}
		u, err := acl.NewUser(c, "bob").With(c, words[1:]...)
		if err != nil {
			t.Fatalf("%d rules with %s: %v", acl.Most, mark, err)
		}
		if again, err := acl.Parse(c, "f", []byte(u.String())); err != nil || again[0].String() != u.String() {
			t.Errorf("%d rules with %s are not read as they were written: %v", acl.Most, mark, err)
		}
		if _, err := u.With(c, words[1]); (err != nil) != (mark == "(") {
			t.Errorf("a rule with %s that is there: %v", mark, err)
		}
		if _, err := u.With(c, words[0]); err == nil || !strings.Contains(err.Error(), "at most 4096") {
			t.Errorf("one more rule with %s: %v", mark, err)
		}
	}
	words := append(append([]string{"(~a"}, slices.Repeat([]string{"~a"}, 300_000)...), "+get)")
	began := time.Now()
	if u, err := acl.NewUser(c, "bob").With(c, words...); err != nil || len(u.Selectors()) != 2 {
		t.Errorf("a long selector: %v, %v", u, err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a selector of %d words takes %v", len(words), took)
	}
}

func TestPasswords(t *testing.T) {
	c := acl.NewCommands(list)
	u, err := acl.NewUser(c, "bob").With(c, "on", ">one", ">two")
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"one": true, "two": true, "three": false, "": false} {
		if got := u.Accepts([]byte(password)); got != want {
			t.Errorf("Accepts(%q) = %t, want %t", password, got, want)
		}
	}
	off, _ := u.With(c, "off")
	open, _ := u.With(c, "nopass")
	if off.Accepts([]byte("one")) || !open.Accepts([]byte("anything")) {
		t.Error("a user who is off is accepted, or one without a password refused")
	}
	if got := acl.NewDefault(c, "").WithPassword("x"); got.Accepts([]byte("y")) || !got.Accepts([]byte("x")) || !got.All() {
		t.Errorf("the user default with a password: %s", got)
	}
	if strings.Contains(u.String(), "one") || strings.Contains(u.String(), "two") {
		t.Errorf("a password is shown: %s", u)
	}
}

// TestFileErrors asks that errors name file and line, and show no password.
func TestFileErrors(t *testing.T) {
	c := acl.NewCommands(list)
	for text, want := range map[string]string{
		"user a on\n\nuser b +nothing ~*":           "users.acl:3: Unknown command or category name in ACL: '+nothing'",
		"user a on\nusers b on":                     "users.acl:2: should start with user keyword followed by the username",
		"user":                                      "users.acl:1: should start with user keyword followed by the username",
		"# a comment":                               "users.acl:1: should start with user keyword followed by the username",
		"user a on\nuser b on\nuser a off":          "users.acl:3: Duplicate user 'a' found",
		"user a\x00b on":                            "users.acl:1: the username contains invalid characters",
		"user a on > s3cret":                        "users.acl:1: Syntax error",
		"user a on #s3cret":                         "users.acl:1: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
		"user a on <s3cret":                         "users.acl:1: The password you are trying to remove from the user does not exist",
		"user a (~x +get":                           "users.acl:1: Unmatched parenthesis in selector definition",
		"user a (~x +nothing)":                      "users.acl:1: Unknown command or category name in ACL",
		"user a addrate=1.5":                        "users.acl:1: addrate must be a whole number of items a second from 0 to 1000000000, 0 for no limit",
		"user a ~* ~x":                              "users.acl:1: Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
		"user a on\r\n\t user  b \t on nopass \r\n": "",
	} {
		users, err := acl.Parse(c, "users.acl", []byte(text))
		if want == "" {
			if err != nil || len(users) != 2 || users[1].Name() != "b" || !users[1].Open() {
				t.Errorf("%q: %v, %v", text, users, err)
			}
			continue
		}
		var wrong *acl.FileError
		if !errors.As(err, &wrong) || err.Error() != want || users != nil {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestBucket holds the bucket to its promise: in any span of time at most the rate
// times the span, and one second of it at once, and not much less.
func TestBucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, rate := range []int64{1, 3, 1000, 999_999, 1_000_000_000} {
		var b acl.Bucket
		now, taken := time.Duration(0), int64(0)
		for now < 20*time.Second {
			n := 1 + rng.Int64N(rate)
			if wait, ok := b.Take(now, rate, int(n)); ok {
				taken += n
			} else if wait <= 0 || wait > time.Second {
				t.Fatalf("rate %d: wait %v", rate, wait)
			} else if _, ok := b.Take(now+wait-1, rate, int(n)); ok {
				t.Fatalf("rate %d: %d items are there before the %v are over", rate, n, wait)
			} else if rng.IntN(2) == 0 {
				now += wait
				if _, ok := b.Take(now, rate, int(n)); !ok {
					t.Fatalf("rate %d: %d items are not there after %v", rate, n, wait)
				}
				taken += n
			}
			now += time.Duration(rng.Int64N(int64(200 * time.Millisecond)))
			if most := float64(rate) * (1 + now.Seconds()); float64(taken) > most {
				t.Fatalf("rate %d: %d items in %v, at most %.0f", rate, taken, now, most)
			}
		}
		if least := float64(rate) * 15; float64(taken) < least {
			t.Errorf("rate %d: %d items in 20 s, expected at least %.0f", rate, taken, least)
		}
		if wait, ok := b.Take(now, rate, int(rate)+1); ok || wait != 0 {
			t.Errorf("rate %d: more items than the bucket holds: %v, %t", rate, wait, ok)
		}
	}
}

func TestBucketOfMany(t *testing.T) {
	const rate, workers = 10_000, 8
	var b acl.Bucket
	var wg sync.WaitGroup
	var taken [workers]int
	for i := range workers {
		wg.Go(func() {
			for range rate {
				if _, ok := b.Take(0, rate, 1); ok {
					taken[i]++
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range taken {
		sum += n
	}
	if sum != rate {
		t.Errorf("%d items were allowed at a rate of %d", sum, rate)
	}
}

func TestLog(t *testing.T) {
	var l acl.Log
	now := time.UnixMilli(1_700_000_000_000)
	note := func(object string, at time.Time) {
		l.Add(acl.Entry{Reason: acl.Key, Context: acl.TopLevel, Object: object, Username: "bob", Client: strings.Repeat("c", 5000)}, at)
	}
	note("a", now)
	note("b", now)
	note("a", now.Add(time.Second))
	note("a", now.Add(2*time.Minute))
	got := l.Latest(10)
	if len(got) != 3 || got[0].Object != "a" || got[0].Count != 1 || got[1].Count != 2 || got[1].ID != 0 || got[2].Object != "b" || !got[1].Created.Equal(now) {
		t.Errorf("the log is %+v", got)
	}
	for i := range 1000 {
		note(strings.Repeat("x", i+1), now)
	}
	if got := l.Latest(5000); len(got) != 128 || len(got[0].Object) > 1000 || len(got[0].Client) > 1024 {
		t.Errorf("the log has %d entries, the latest of %d bytes", len(got), len(got[0].Object))
	}
	l.SetMaxLen(0)
	note("z", now)
	if got := l.Latest(10); len(got) != 0 {
		t.Errorf("a log of none has %d entries", len(got))
	}
	if got := l.Latest(-1); len(got) != 0 {
		t.Errorf("Latest(-1) has %d entries", len(got))
	}
}

// TestChecksAllocateNothing asks for the checks that are done for every command.
func TestChecksAllocateNothing(t *testing.T) {
	c := acl.NewCommands(list)
	u, err := acl.NewUser(c, "bob").With(c, "+@all", "-@delete", "~some:*:long:*", "%R~"+strings.Repeat("k", 100)+"*")
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(strings.Repeat("k", 200))
	var b acl.Bucket
	if got := testing.AllocsPerRun(100, func() {
		all := u.Selectors()
		if !all[0].MayRun(6) || !all[0].MayTouch(key, acl.Read) || all[0].MayTouch(key, acl.Write) {
			t.Error("wrong answer")
		}
		b.Take(time.Second, 1000, 1)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestCheckSize asks for the most rules and bytes that one command may have, and for
// one more of each.
func TestCheckSize(t *testing.T) {
	for _, c := range []struct {
		words []string
		ok    bool
	}{
		{nil, true},
		{slices.Repeat([]string{"~a"}, 4096), true},
		{slices.Repeat([]string{"~a"}, 4097), false},
		{[]string{"(" + strings.Repeat("~a ", 4095) + "+get)"}, true},
		{[]string{"(" + strings.Repeat("~a ", 4096) + "+get)"}, false},
		{[]string{strings.Repeat("a", 1<<19), strings.Repeat("b", 1<<19)}, true},
		{[]string{strings.Repeat("a", 1<<19), strings.Repeat("b", 1<<19+1)}, false},
	} {
		if err := acl.CheckSize(c.words); (err == nil) != c.ok {
			t.Errorf("CheckSize of %d words: %v", len(c.words), err)
		}
	}
}

// TestLogCountsSimilarOnes repeats what was refused behind nine others, and behind ten.
func TestLogCountsSimilarOnes(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	for others, want := range map[int]int64{9: 2, 10: 1} {
		var l acl.Log
		note := func(object string) {
			l.Add(acl.Entry{Reason: acl.Key, Object: object, Username: strings.Repeat("n", 3000)}, now)
		}
		note("first")
		for i := range others {
			note(strconv.Itoa(i))
		}
		note("first")
		if got := l.Latest(1)[0]; got.Object != "first" || got.Count != want || len(got.Username) != 1024 {
			t.Errorf("behind %d others: %d times %s of a name of %d bytes, want %d", others, got.Count, got.Object, len(got.Username), want)
		}
	}
}

// TestWithPassword sets a password in the place of what there was, and none.
func TestWithPassword(t *testing.T) {
	c := acl.NewCommands(list)
	one := acl.NewDefault(c, "").WithPassword("one")
	if two := one.WithPassword("two"); two.Accepts([]byte("one")) || !two.Accepts([]byte("two")) || len(two.Hashes()) != 1 {
		t.Errorf("a second password: %s", two)
	}
	if open := one.WithPassword(""); !open.Accepts([]byte("anything")) || len(open.Hashes()) != 0 || !slices.Equal(open.Flags(), []string{"on", "nopass", "sanitize-payload"}) {
		t.Errorf("no password: %s", open)
	}
	off, err := one.With(c, "off")
	if err != nil || !slices.Equal(off.Flags(), []string{"off", "sanitize-payload"}) {
		t.Errorf("Flags() of a user who is off: %q, %v", off.Flags(), err)
	}
}

// TestRulesAtTheEdge asks for rules that are just right, and for what is wrong with
// others.
func TestRulesAtTheEdge(t *testing.T) {
	c := acl.NewCommands(list)
	for rule, want := range map[string]string{
		"addrate=1000000000": "", "addrate=1000000001": "addrate must be", "addrate=0": "",
		"+config|get": "", "+config|none": "Unknown command", "+config|get|x": "first-arg of a subcommand", "+get|x": "Rules on the first argument", "+config|": "Syntax error",
		"-config|none": "Unknown command", "+none|x": "Unknown command",
	} {
		_, err := acl.NewUser(c, "bob").With(c, rule)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
	users, err := acl.Parse(c, "f", []byte("user a"))
	if err != nil || len(users) != 1 || users[0].Name() != "a" || users[0].Accepts(nil) {
		t.Errorf("a user without rules: %v, %v", users, err)
	}
	all, err := acl.NewUser(c, "bob").With(c, "~*", "&*", "+@all")
	if err != nil || strings.Contains(all.String(), "resetchannels") || !all.All() {
		t.Errorf("a user with all channels: %s, %v", all, err)
	}
	if none := acl.NewUser(c, "bob").String(); !strings.Contains(none, "resetchannels") {
		t.Errorf("a user without channels: %s", none)
	}
}

// TestBucketRoundsUp takes single items at the highest rate, where each lasts as long as
// the clock can show: none is free.
func TestBucketRoundsUp(t *testing.T) {
	const rate = 1_000_000_000
	var b acl.Bucket
	for range 3 {
		if _, ok := b.Take(0, rate, 1); !ok {
			t.Fatal("an item is not there")
		}
	}
	if wait, ok := b.Take(0, rate, rate-2); ok || wait != 1 {
		t.Errorf("all but two, behind three: %v, %v, want 1ns", wait, ok)
	}
	if _, ok := b.Take(0, rate, rate-3); !ok {
		t.Error("all but three are not there")
	}
}
