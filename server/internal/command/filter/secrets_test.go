package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

const textSecret = "-NOPERM the secret key "

// secretBench has a key for filters of secret:*, one without patterns and one that is for
// all, a user of each prefix, and one who may touch all keys.
func secretBench(t *testing.T) *bench {
	t.Helper()
	keys := commandtest.Keys()
	keys["shared"] = hashing.Keyed([16]byte{3})
	b := openBench(t, nil, newBench(t, 1).Now, keys)
	b.Engine.SetSecretNames(map[string][]string{"old": {"secret:*"}, "shared": {"nothing", "*"}})
	for _, line := range []string{
		"ACL SETUSER bob on >pw +@all ~bob:*", "ACL SETUSER eve on >pw +@all ~secret:*",
		"ACL SETUSER two on >pw +@all ~secret:* ~bob:*", "ACL SETUSER all on >pw +@all -@admin %RW~*",
		"ACL SETUSER reader on >pw +@all %R~* ~bob:*", "ACL SETUSER apart on >pw +@all ~bob:* (~* +get)",
	} {
		b.OK(t, line)
	}
	return b
}

// TestSecretsAreForNames asks who may make filters with which secret keys: a key is for
// the names of its patterns, and one without patterns for users who may touch all keys.
func TestSecretsAreForNames(t *testing.T) {
	b := secretBench(t)
	for i, tt := range []struct {
		user, key, prefix string
		ok                bool
	}{
		{"bob", "old", "bob:", false}, {"two", "old", "bob:", false}, {"all", "old", "bob:", false}, {"default", "old", "bob:", false},
		{"eve", "old", "secret:", true}, {"two", "old", "secret:", true}, {"all", "old", "secret:", true}, {"default", "old", "secret:", true},
		{"bob", "new", "bob:", false}, {"two", "new", "secret:", false}, {"reader", "new", "bob:", false}, {"apart", "new", "bob:", false},
		{"all", "new", "bob:", true}, {"default", "new", "any:", true},
		{"bob", "shared", "bob:", true}, {"eve", "shared", "secret:", true},
	} {
		name := fmt.Sprint(tt.prefix, i)
		for _, verb := range []string{"FILTER.CREATE %s bloom CAPACITY 100 KEYED ", "FILTER.REBUILD %s BEGIN bloom NEWKEY "} {
			got := b.As(t, tt.user, strings.Fields(fmt.Sprintf(verb, name)+tt.key)...)
			if tt.ok && got != "+OK" || !tt.ok && !strings.HasPrefix(got, textSecret+"'"+tt.key+"' is not for a filter of this name") {
				t.Errorf("%s: %s of key %s: %s", tt.user, fmt.Sprintf(verb, name), tt.key, got)
			}
			b.Line("DEL " + name)
		}
	}
	none := b.As(t, "bob", strings.Fields("FILTER.CREATE bob:x bloom KEYED none")...)
	if want := b.As(t, "bob", strings.Fields("FILTER.CREATE bob:x bloom KEYED old")...); none != strings.Replace(want, "'old'", "'none'", 1) {
		t.Errorf("a key that is not there: %s, one that is: %s", none, want)
	}
	if got := b.As(t, "default", strings.Fields("FILTER.CREATE x bloom KEYED none")...); got != "-ERR KEYED: there is no key 'none' in the file of keys (serve --keys)" {
		t.Errorf("a key that is not there, for a user who may touch all keys: %s", got)
	}
}

// TestSecretsStayWithTheirNames tries every way by which a name gets a filter with a
// secret key that it may not have, by a user who has the right to both names.
func TestSecretsStayWithTheirNames(t *testing.T) {
	b := secretBench(t)
	for _, line := range []string{
		"FILTER.CREATE secret:a standard CAPACITY 100 KEYED old", "FILTER.CREATE secret:b standard LIKE secret:a", "FILTER.ADD secret:a x",
		"FILTER.CREATE bob:plain standard CAPACITY 100", "FILTER.CREATE bob:other standard CAPACITY 100", "FILTER.REBUILD bob:other BEGIN",
	} {
		if got := b.Line(line); strings.HasPrefix(got, "-") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	dump := b.Exec(commandtest.Bytes([]string{"DUMP", "secret:a"}))[0].Text
	piece := b.Exec(commandtest.Bytes([]string{"FILTER.DUMP", "secret:a", "0"}))[0].Elems[1].Text
	ways := [][]string{
		{"FILTER.CREATE", "bob:new", "standard", "LIKE", "secret:a"},
		{"FILTER.LOAD", "bob:new", "1", piece}, {"FILTER.LOAD", "bob:plain", "1", piece},
		{"RESTORE", "bob:new", "0", dump}, {"RESTORE", "bob:plain", "0", dump, "REPLACE"},
		{"COPY", "secret:a", "bob:new"}, {"COPY", "secret:a", "bob:plain", "REPLACE"},
		{"RENAME", "secret:a", "bob:new"}, {"RENAME", "secret:a", "bob:plain"}, {"RENAMENX", "secret:a", "bob:new"},
		{"FILTER.UNION", "bob:new", "secret:a"}, {"FILTER.INTERSECT", "bob:new", "secret:a", "secret:b"}, {"FILTER.INTERSECT", "bob:plain", "secret:a", "secret:b"},
		{"FILTER.REBUILD", "bob:plain", "BEGIN", "NEWKEY", "old"},
	}
	for _, words := range ways {
		for _, user := range []string{"two", "all", "default"} {
			want := textSecret + "'old' is not"
			if user == "two" && words[len(words)-1] != "old" { // it is not for those who do not name it
				want = textSecret + "is not"
			}
			got := b.As(t, user, words...)
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s: %.60q: %s", user, words, got)
			}
			if dry := b.As(t, "default", append([]string{"ACL", "DRYRUN", user}, words...)...); dry != `"`+strings.TrimPrefix(got, "-NOPERM ")+`"` {
				t.Errorf("%s: ACL DRYRUN %.60q: %s", user, words, dry)
			}
			b.Login(t, user) // and inside a transaction
			b.Line("MULTI")
			if got := b.Do(words...); got == "+QUEUED" {
				if got := b.Line("EXEC"); !strings.HasPrefix(got, "["+want) {
					t.Errorf("%s in a transaction: %.60q: %s", user, words, got)
				}
			} else {
				b.Line("DISCARD")
			}
			b.Login(t, "default")
		}
	}
	if got := b.Line("EXISTS bob:new"); got != ":0" {
		t.Error("a name has got a filter with a key that it may not have")
	}
	for _, words := range ways { // to names that may have it
		words[1] = strings.Replace(words[1], "bob:", "secret:", 1)
		if words[0] == "COPY" || strings.HasPrefix(words[0], "RENAME") {
			words[2] = strings.Replace(words[2], "bob:", "secret:", 1)
		}
		if dry := b.As(t, "default", append([]string{"ACL", "DRYRUN", "two"}, words...)...); dry != "+OK" {
			t.Errorf("ACL DRYRUN two %.60q: %s", words, dry)
		}
		if got := b.As(t, "two", words...); strings.HasPrefix(got, textSecret) {
			t.Errorf("%.60q: %s", words, got)
		}
		b.As(t, "two", "FILTER.REBUILD", "secret:plain", "ABORT")
		b.As(t, "two", "RENAMENX", "secret:new", "secret:a")
		b.As(t, "two", "RENAMENX", "secret:plain", "secret:a")
		b.As(t, "two", "DEL", "secret:new")
	}
	b.As(t, "two", "FILTER.ADD", "secret:a", "x")
	b.Login(t, "default")
	// A rebuild whose filter gets another name meanwhile.
	b.OK(t, "FILTER.CREATE secret:r bloom CAPACITY 100")
	b.OK(t, "FILTER.REBUILD secret:r BEGIN NEWKEY old")
	if got := b.As(t, "two", "RENAME", "secret:r", "bob:r"); !strings.HasPrefix(got, textSecret) {
		t.Errorf("RENAME of a filter that gets a key: %s", got)
	}
	b.Engine.SetSecretNames(map[string][]string{"old": {"other:*"}})
	if got := b.As(t, "two", "FILTER.REBUILD", "secret:r", "COMMIT", "FORCE"); !strings.HasPrefix(got, textSecret) {
		t.Errorf("COMMIT: %s", got)
	}
	// What is there stays in use; a new one is not made of it.
	if got := b.As(t, "two", "FILTER.ADD", "secret:a", "y") + b.As(t, "two", "FILTER.HAS", "secret:a", "x", "y"); got != "[true][true true]" {
		t.Errorf("a filter from before: %s", got)
	}
	if got := b.As(t, "two", "FILTER.REBUILD", "secret:a", "BEGIN"); !strings.HasPrefix(got, textSecret) {
		t.Errorf("a rebuild of a filter from before: %s", got)
	}
}

// TestSecretsThatAreNotThere loads a filter whose key is not in the file: the key may be
// there at the next start, so that needs the right to all keys.
func TestSecretsThatAreNotThere(t *testing.T) {
	b := secretBench(t)
	b.OK(t, "FILTER.CREATE secret:a standard CAPACITY 100 KEYED old")
	dump := b.Exec(commandtest.Bytes([]string{"DUMP", "secret:a"}))[0].Text
	piece := b.Exec(commandtest.Bytes([]string{"FILTER.DUMP", "secret:a", "0"}))[0].Elems[1].Text
	ways := [][]string{{"RESTORE", "bob:r", "0", dump}, {"FILTER.LOAD", "bob:l", "1", piece}}
	known := []string{b.As(t, "bob", ways[0]...), b.As(t, "bob", ways[1]...)}
	b.State.SetKeys(nil)
	for i, words := range ways {
		if got := b.As(t, "bob", words...); !strings.HasPrefix(got, textSecret+"is not for a filter of this name") || got != known[i] {
			t.Errorf("%.20q by bob: %s; and with the key in the file: %s", words, got, known[i])
		}
		if got := b.As(t, "all", words...); got != "+OK" {
			t.Errorf("%.20q by a user who may touch all keys: %s", words, got)
		}
	}
	if got := b.As(t, "default", "ACL", "LOG", "1"); !strings.Contains(got, `"reason" "key"`) || !strings.Contains(got, `"object" "bob:l"`) || !strings.Contains(got, `"username" "bob"`) {
		t.Errorf("ACL LOG: %s", got)
	}
}

// TestRestoreTrustsNoKeyID restores filters whose plans name another secret key than that
// of their hash: FILTER.INFO shows the one that is used.
func TestRestoreTrustsNoKeyID(t *testing.T) {
	b := secretBench(t)
	for _, line := range []string{
		"FILTER.CREATE secret:a standard CAPACITY 100 KEYED old", "FILTER.ADD secret:a x",
	} {
		b.Line(line)
	}
	dump := b.Exec(commandtest.Bytes([]string{"DUMP", "secret:a"}))[0].Text
	const footer = 10
	for id, want := range map[string]string{"new": `"key" "old"`, "not": `"key" "old"`} {
		forged := strings.Replace(dump[:len(dump)-footer], "\x03old", "\x03"+id, 1)
		if got := b.Do("RESTORE", "secret:r", "0", string(rdb.AppendFooter([]byte(forged))), "REPLACE"); got != "+OK" || forged == dump[:len(forged)] {
			t.Fatalf("RESTORE: %s", got)
		}
		if got := b.Line("FILTER.INFO secret:r"); !strings.Contains(got, want) {
			t.Errorf("a dump that names the key %s: %s, want %s", id, got, want)
		}
		if got := b.Line("FILTER.HAS secret:r x y"); got != "[true false]" {
			t.Errorf("FILTER.HAS: %s", got)
		}
	}
}

// TestAdvisedKeysAreForTheName asks for the cure of filters whose keys are aimed at one
// place: it names a secret key that the user can give to a filter of this name.
func TestAdvisedKeysAreForTheName(t *testing.T) {
	b := secretBench(t)
	b.Engine.SetSecretNames(map[string][]string{"old": {"secret:*"}, "shared": {"bob:*"}})
	for _, name := range []string{"secret:f", "bob:f", "other:f"} {
		b.OK(t, "FILTER.CREATE "+name+" bloom CAPACITY 8000 ERROR 0.01")
		words := []string{"FILTER.ADDHASH", name}
		for i := range 60 { // all of them in the first block
			words = append(words, fmt.Sprint(uint64(i)*0x9e3779b97f4a7c15>>12))
		}
		b.Do(words...)
	}
	b.OK(t, "ACL SETUSER carol on >pw +@all ~other:*")
	for _, tt := range []struct{ user, name, want string }{
		{"bob", "bob:f", "shared"}, {"eve", "secret:f", "old"}, {"carol", "other:f", "<id>, with a line"},
		{"default", "other:f", "new"}, {"default", "bob:f", "new"}, {"default", "secret:f", "new"},
	} {
		want := "FILTER.REBUILD " + tt.name + " BEGIN NEWKEY " + tt.want
		for _, line := range []string{"FILTER.HEALTH MATCH " + tt.name, "FILTER.INFO " + tt.name, "FILTER.LIST MATCH " + tt.name} {
			if got := b.As(t, tt.user, strings.Fields(line)...); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s\nwant %s", tt.user, line, got, want)
			}
		}
	}
}

// TestDryRunOfStableAdds asks for adds to filters that forget, which need the right to
// delete; nothing is noted in ACL LOG.
func TestDryRunOfStableAdds(t *testing.T) {
	b := secretBench(t)
	b.OK(t, "ACL LOG RESET")
	b.OK(t, "ACL SETUSER careful on >pw ~* +@all -@delete (~c +filter.del)")
	b.OK(t, "FILTER.CREATE s stable CAPACITY 100")
	b.OK(t, "FILTER.CREATE c stable CAPACITY 100")
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 100")
	for line, ok := range map[string]bool{
		"FILTER.ADD s x": false, "FILTER.ADDHASH s 1": false, "FILTER.ADD c x": true, "FILTER.ADD f x": true, "FILTER.ADD none x": true,
	} {
		got := b.Line("ACL DRYRUN careful " + line)
		if got == "+OK" != ok || !ok && !strings.HasPrefix(got, `"a filter of kind stable forgets items`) {
			t.Errorf("ACL DRYRUN of %s: %s", line, got)
		}
		if log := b.Line("ACL LOG"); log != "[]" {
			t.Errorf("ACL LOG after the DRYRUN of %s: %s", line, log)
		}
		if real := b.As(t, "careful", strings.Fields(line)...); strings.HasPrefix(real, "-NOPERM") == ok {
			t.Errorf("%s: %s", line, real)
		}
		b.OK(t, "ACL LOG RESET")
	}
}
