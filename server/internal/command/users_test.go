package command_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

const hashOfPw = "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4"

// TestUserCommands asks for the replies of Redis 7.4.
func TestUserCommands(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for line := range strings.Lines(strings.TrimSpace(`
		ACL WHOAMI -> "default"
		ACL LIST -> ["user default on nopass sanitize-payload ~* &* +@all"]
		ACL USERS -> ["default"]
		ACL GETUSER nobody -> nil
		ACL GETUSER default -> ["flags" ["on" "nopass" "sanitize-payload"] "passwords" [] "commands" "+@all" "keys" "~*" "channels" "&*" "selectors" []]
		ACL SETUSER bob -> +OK
		ACL GETUSER bob -> ["flags" ["off" "sanitize-payload"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "selectors" []]
		ACL SETUSER bob on >pw ~a* %R~b* %W~c* %RW~d +@read -get +config -config|set +acl|whoami addrate=1000 -> +OK
		ACL GETUSER bob -> ["flags" ["on" "sanitize-payload"] "passwords" ["HASH"] "commands" "-@all +@read -get +config -config|set +acl|whoami" "keys" "~a* %R~b* %W~c* ~d" "channels" "" "selectors" [] "addrate" :1000]
		ACL SETUSER bob (~x* +get) (~y +@string -set &news) -> +OK
		ACL LIST -> ["user bob on sanitize-payload #HASH addrate=1000 ~a* %R~b* %W~c* ~d resetchannels -@all +@read -get +config -config|set +acl|whoami (~x* resetchannels -@all +get) (~y resetchannels &news -@all +@string -set)" "user default on nopass sanitize-payload ~* &* +@all"]
		ACL SETUSER bob clearselectors addrate=0 +@all -@dangerous -> +OK
		ACL LIST -> ["user bob on sanitize-payload #HASH ~a* %R~b* %W~c* ~d resetchannels +@all -@dangerous" "user default on nopass sanitize-payload ~* &* +@all"]
		ACL SETUSER bob +nothing -> -ERR Error in ACL SETUSER modifier '+nothing': Unknown command or category name in ACL
		ACL SETUSER bob +@nothing -> -ERR Error in ACL SETUSER modifier '+@nothing': Unknown command or category name in ACL
		ACL SETUSER bob +config|nothing -> -ERR Error in ACL SETUSER modifier '+config|nothing': Unknown command or category name in ACL
		ACL SETUSER bob -select|0 -> -ERR Error in ACL SETUSER modifier '-select|0': Unknown command or category name in ACL
		ACL SETUSER bob +config|get|x -> -ERR Error in ACL SETUSER modifier '+config|get|x': Allowing first-arg of a subcommand is not supported
		ACL SETUSER bob +select|0 -> -ERR Error in ACL SETUSER modifier '+select|0': Rules on the first argument of a command are not supported
		ACL SETUSER bob +get| -> -ERR Error in ACL SETUSER modifier '+get|': Syntax error
		ACL SETUSER bob foo -> -ERR Error in ACL SETUSER modifier 'foo': Syntax error
		ACL SETUSER bob %X~a -> -ERR Error in ACL SETUSER modifier '%X~a': Syntax error
		ACL SETUSER bob %~a -> -ERR Error in ACL SETUSER modifier '%~a': Syntax error
		ACL SETUSER bob %R -> -ERR Error in ACL SETUSER modifier '%R': Syntax error
		ACL SETUSER bob #12 -> -ERR Error in ACL SETUSER modifier '#(redacted)': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters
		ACL SETUSER bob <none -> -ERR Error in ACL SETUSER modifier '<(redacted)': The password you are trying to remove from the user does not exist
		ACL SETUSER bob addrate=-1 -> -ERR Error in ACL SETUSER modifier 'addrate=-1': addrate must be a whole number of items a second from 0 to 1000000000, 0 for no limit
		ACL SETUSER bob allkeys ~x -> -ERR Error in ACL SETUSER modifier '~x': Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns
		ACL SETUSER bob allchannels &x -> -ERR Error in ACL SETUSER modifier '&x': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels
		ACL SETUSER bob (~x +get -> -ERR Unmatched parenthesis in acl selector starting at '(~x'.
		ACL LIST -> ["user bob on sanitize-payload #HASH ~a* %R~b* %W~c* ~d resetchannels +@all -@dangerous" "user default on nopass sanitize-payload ~* &* +@all"]
		ACL SETUSER bob >pw2 <pw #HASH <pw2 -> +OK
		ACL SETUSER bob !HASH -> +OK
		ACL SETUSER bob !HASH -> -ERR Error in ACL SETUSER modifier '!(redacted)': The password you are trying to remove from the user does not exist
		ACL SETUSER bob nopass >pw -> +OK
		ACL SETUSER bob resetkeys resetchannels nocommands &c -> +OK
		ACL LIST -> ["user bob on sanitize-payload #HASH resetchannels &c -@all" "user default on nopass sanitize-payload ~* &* +@all"]
		ACL SETUSER bob reset -> +OK
		ACL LIST -> ["user bob off sanitize-payload resetchannels -@all" "user default on nopass sanitize-payload ~* &* +@all"]
		ACL DELUSER default -> -ERR The 'default' user cannot be removed
		ACL DELUSER bob default -> -ERR The 'default' user cannot be removed
		ACL DELUSER bob nobody bob -> :1
		ACL USERS -> ["default"]
		ACL GENPASS 0 -> -ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096
		ACL GENPASS 4097 -> -ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096
		ACL GENPASS x -> -ERR value is not an integer or out of range
		ACL LOG x -> -ERR value is not an integer or out of range
		ACL CAT delete cuckoo -> -ERR wrong number of arguments for 'acl|cat' command
		ACL SAVE -> -ERR This Redis instance is not configured to use an ACL file. Start the server with --acl-file FILE to keep users in one.
		ACL LOAD -> -ERR This Redis instance is not configured to use an ACL file. Start the server with --acl-file FILE to keep users in one.
		CLIENT KILL USER nobody -> -ERR No such user 'nobody'
		CLIENT KILL USER default SKIPME yes -> :0
		AUTH pw -> -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
		AUTH bob pw -> -WRONGPASS invalid username-password pair or user is disabled.
		ACL SETUSER bob on >pw +@connection -> +OK
		AUTH bob wrong -> -WRONGPASS invalid username-password pair or user is disabled.
		ACL SETUSER bob off -> +OK
		AUTH bob pw -> -WRONGPASS invalid username-password pair or user is disabled.
		ACL SETUSER bob on -> +OK
		HELLO 2 AUTH bob wrong -> -WRONGPASS invalid username-password pair or user is disabled.
		ACL DRYRUN nobody get x -> -ERR User 'nobody' not found
		ACL DRYRUN bob nope x -> -ERR Command 'nope' not found
		ACL DRYRUN bob config nope -> -ERR Command 'config' not found
		ACL DRYRUN bob get -> -ERR wrong number of arguments for 'get' command
		ACL DRYRUN bob config set a b -> "User bob has no permissions to run the 'config|set' command"
		ACL SETUSER bob +get ~mine -> +OK
		ACL DRYRUN bob get zz -> "User bob has no permissions to access the 'zz' key"
		ACL DRYRUN bob get mine -> +OK
		ACL DRYRUN bob flushall -> "User bob has no permissions to run the 'flushall' command"
		AUTH bob pw -> +OK
		ACL WHOAMI -> -NOPERM User bob has no permissions to run the 'acl|whoami' command
		GET other -> -NOPERM No permissions to access a key
		GET mine -> nil
		SET mine x -> -NOPERM User bob has no permissions to run the 'set' command
		PING -> +PONG
		RESET -> +RESET
		ACL WHOAMI -> "default"
	`)) {
		line = strings.ReplaceAll(strings.Trim(line, "\t\n"), "HASH", hashOfPw)
		cmd, want, _ := strings.Cut(line, " -> ")
		if got := b.Line(cmd); got != want {
			t.Errorf("%s\n got %s\nwant %s", cmd, got, want)
		}
	}
	if got := b.Line("ACL GENPASS"); len(got) != 66 {
		t.Errorf("ACL GENPASS: %s", got)
	}
	if got := b.Line("ACL GENPASS 5"); len(got) != 4 {
		t.Errorf("ACL GENPASS 5: %s", got)
	}
	if got := b.Do("ACL", "SETUSER", "a b"); got != "-ERR Usernames can't contain spaces or null characters" {
		t.Errorf("ACL SETUSER with a space: %s", got)
	}
	if got := b.Do("ACL", "SETUSER", ""); got != "-ERR Usernames can't be empty" {
		t.Errorf("ACL SETUSER without a name: %s", got)
	}
}

// TestCategoriesAreSane asks that the categories of every command follow from what it
// does.
func TestCategoriesAreSane(t *testing.T) {
	known := acl.Categories()
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		has := func(name string) bool { return slices.Contains(c.Categories, name) }
		for _, name := range c.Categories {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no category %s", c.FullName(), name)
			}
		}
		if got, want := has("write"), c.Flags&traits.Write != 0; got != want {
			t.Errorf("%s: category write is %t, the flag %t", c.FullName(), got, want)
		}
		if got, want := has("read"), c.Flags&traits.ReadOnly != 0; got != want {
			t.Errorf("%s: category read is %t, the flag %t", c.FullName(), got, want)
		}
		if c.Flags&traits.Admin != 0 && !(has("admin") && has("dangerous")) {
			t.Errorf("%s is for operators and not in @admin and @dangerous", c.FullName())
		}
		if c.Flags&traits.Module == 0 && has("fast") == has("slow") { // RedisBloom has no slow
			t.Errorf("%s: not one of fast and slow", c.FullName())
		}
		if has("delete") && !has("write") {
			t.Errorf("%s deletes and does not write", c.FullName())
		}
		for prefix, name := range map[string]string{
			"bf.": "bloom", "cf.": "cuckoo", "cms.": "cms", "topk.": "topk", "tdigest.": "tdigest", "filter.": "filter",
		} {
			if strings.HasPrefix(c.Name, prefix) != has(name) {
				t.Errorf("%s: category %s", c.FullName(), name)
			}
		}
		for i := range c.Subcommands {
			for _, name := range c.Categories {
				if !slices.Contains(c.Subcommands[i].Categories, name) {
					t.Errorf("%s is in @%s, and %s is not", c.FullName(), name, c.Subcommands[i].FullName())
				}
			}
		}
	})
	b := commandtest.New(t, 1<<30)
	want := `["bf.loadchunk" "cf.del" "cf.loadchunk" "cms.merge" "copy" "del" "expire" "expireat" "filter.clear" "filter.del" "filter.intersect" ` +
		`"filter.load" "filter.rebuild" "flushall" "flushdb" "getdel" "getex" "getset" "mset" "pexpire" "pexpireat" "psetex" "rename" "renamenx" ` +
		`"restore" "set" "setex" "tdigest.merge" "tdigest.reset" "unlink"]`
	if got := b.Line("ACL CAT delete"); got != want {
		t.Errorf("ACL CAT delete\n got %s\nwant %s", got, want)
	}
}

// TestEveryCommandCanBeAllowedAlone asks that a user who has one command has that and no
// other, but for those that need no login.
func TestEveryCommandCanBeAllowedAlone(t *testing.T) {
	table := engine.NewTable(command.All())
	var all []*engine.Command
	table.Walk(func(c *engine.Command) { all = append(all, c) })
	b := commandtest.New(t, 1<<30)
	calls := callsOf(samples)
	for _, c := range all {
		if got := b.Do("ACL", "SETUSER", "one", "reset", "on", "nopass", "allkeys", "+"+c.FullName()); got != "+OK" {
			t.Fatalf("+%s: %s", c.FullName(), got)
		}
		for _, words := range calls {
			cmd := commandOf(t, table, words)
			want := cmd == c || cmd.Flags&traits.NoAuth != 0 || strings.HasPrefix(cmd.FullName(), c.FullName()+"|")
			if got := b.Do(append([]string{"ACL", "DRYRUN", "one"}, words...)...); (got == "+OK") != want {
				t.Fatalf("+%s: %q: %s", c.FullName(), words, got)
			}
		}
	}
}

// TestGroupsAreChecked asks that commands which are run together are asked for one by
// one.
func TestGroupsAreChecked(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on >pw ~k +bf.add +bf.exists +topk.query +get")
	b.Login(t, "bob")
	var pipeline [][][]byte
	for _, line := range []string{
		"BF.ADD k a", "BF.MADD k b", "BF.ADD k c", "BF.EXISTS k a", "BF.MEXISTS k a", "BF.EXISTS k c", "BF.EXISTS l a", "BF.EXISTS k b", "GET k", "GET l", "GET k",
	} {
		pipeline = append(pipeline, commandtest.Bytes(strings.Fields(line)))
	}
	var got []string
	for _, r := range b.Exec(pipeline...) {
		got = append(got, strings.Fields(commandtest.Show(r))[0])
	}
	if want := strings.Fields(":1 -NOPERM :1 :1 -NOPERM :1 -NOPERM :0 -WRONGTYPE -NOPERM -WRONGTYPE"); !slices.Equal(got, want) {
		t.Errorf("a pipeline\n got %q\nwant %q", got, want)
	}
}

// TestRequirePass asks that the old setting is the password of the user default.
func TestRequirePass(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Session.Authenticated = true
	for _, tt := range [][2]string{
		{"CONFIG SET requirepass pw", "+OK"},
		{"ACL LIST", `["user default on sanitize-payload #` + hashOfPw + ` ~* &* +@all"]`},
		{"AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled."},
		{"AUTH pw", "+OK"},
		{"ACL SETUSER default >other", "+OK"},
		{"AUTH other", "+OK"},
		{"AUTH default pw", "+OK"},
		{"CONFIG GET requirepass", `["requirepass" "(redacted)"]`},
		{"RESET", "+RESET"},
		{"PING", "-NOAUTH Authentication required."},
		{"AUTH other", "+OK"},
		{`CONFIG SET requirepass new`, "+OK"},
		{"AUTH other", "-WRONGPASS invalid username-password pair or user is disabled."},
		{"AUTH new", "+OK"},
		{"ACL SETUSER default nopass", "+OK"},
		{"RESET", "+RESET"},
		{"PING", "+PONG"},
		{"ACL SETUSER default off", "+OK"},
		{"RESET", "+RESET"},
		{"PING", "-NOAUTH Authentication required."},
	} {
		if got := b.Line(tt[0]); got != tt[1] {
			t.Errorf("%s\n got %s\nwant %s", tt[0], got, tt[1])
		}
	}
}

// TestACLLog asks for what ACL LOG and INFO show of refusals.
func TestACLLog(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on >pw +get +multi +exec ~mine")
	b.Line("AUTH bob wrong")
	b.Line("HELLO 3 AUTH bob wrong")
	b.Line("AUTH bob wrong")
	b.Login(t, "bob")
	b.Line("GET other")
	b.Line("DEL mine")
	b.Line("MULTI")
	b.Line("GET other")
	b.Line("EXEC")
	b.Login(t, "default")
	r := b.Exec(commandtest.Bytes([]string{"ACL", "LOG"}))[0]
	var got []string
	for _, e := range r.Elems {
		var fields []string
		for i := 0; i < 10; i += 2 {
			fields = append(fields, strings.Trim(commandtest.Show(e.Elems[i+1]), `"`))
		}
		if info := commandtest.Show(e.Elems[13]); !strings.Contains(info, "addr=127.0.0.1:1") {
			t.Errorf("client-info: %s", info)
		}
		got = append(got, strings.Join(fields, " "))
	}
	want := []string{
		":1 key multi other bob",
		":1 command toplevel del bob",
		":1 key toplevel other bob",
		":2 auth toplevel AUTH bob",
		":1 auth toplevel HELLO bob",
	}
	if !slices.Equal(got, want) {
		t.Errorf("ACL LOG\n got %q\nwant %q", got, want)
	}
	info := b.Line("INFO stats")
	for _, line := range []string{"acl_access_denied_auth:3", "acl_access_denied_cmd:1", "acl_access_denied_key:2", "acl_access_denied_channel:0", "acl_addrate_refused:0"} {
		if !strings.Contains(info, line+`\r\n`) {
			t.Errorf("INFO has no %s: %s", line, info)
		}
	}
	if got := b.Line("ACL LOG 2"); strings.Count(got, "count") != 2 {
		t.Errorf("ACL LOG 2: %s", got)
	}
	b.Line("CONFIG SET acllog-max-len 1")
	b.Line("AUTH eve wrong")
	if got := b.Line("ACL LOG"); strings.Count(got, "count") != 1 || !strings.Contains(got, "eve") {
		t.Errorf("a log of one: %s", got)
	}
	b.Line("ACL LOG RESET")
	b.Line("CONFIG RESETSTAT")
	if got := b.Line("ACL LOG"); got != "[]" {
		t.Errorf("ACL LOG behind RESET: %s", got)
	}
	if info := b.Line("INFO stats"); !strings.Contains(info, "acl_access_denied_auth:0") {
		t.Errorf("INFO behind RESETSTAT: %s", info)
	}
}

// TestManyRulesAtOnce asks that a command with very many rules is refused: others log in
// meanwhile.
func TestManyRulesAtOnce(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, rules := range []string{strings.Repeat(" ~a", 4097), " (" + strings.Repeat("~a ", 4097) + "+get)", " ~" + strings.Repeat("a", 1<<20)} {
		if got := b.Line("ACL SETUSER bob" + rules); got != "-ERR more than 4096 rules, or 1 MiB of them: send them in several commands" {
			t.Errorf("many rules: %q", got)
		}
	}
	if got := b.Line("ACL GETUSER bob"); strings.Contains(got, "flags") {
		t.Errorf("the user is there: %q", got)
	}
	if got := b.Line("ACL SETUSER bob on nopass (" + strings.Repeat("~a ", 4000) + "+get)"); got != "+OK" {
		t.Errorf("4000 rules: %q", got)
	}
}

// TestPasswordsAreNowhere asks that no log, reply or listing shows a password.
func TestPasswordsAreNowhere(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Tick = time.Millisecond
	b.Line("CONFIG SET slowlog-log-slower-than 0")
	var replies []string
	for _, line := range []string{
		"ACL SETUSER bob on >s3cret ~* +@all", "AUTH bob s3cret", "HELLO 2 AUTH bob s3cret", "ACL SETUSER bob <s3cret2", "ACL SETUSER bob !s3cret",
		"ACL SETUSER bob #s3cret", "ACL DRYRUN bob AUTH bob s3cret", "AUTH bob s3cret2", "HELLO 3 AUTH bob s3cret2", "ACL LIST", "ACL GETUSER bob", "ACL LOG",
		"CLIENT LIST", "INFO all",
	} {
		replies = append(replies, b.Line(line))
	}
	replies = append(replies, b.Line("SLOWLOG GET -1"))
	for _, r := range replies {
		if strings.Contains(r, "s3cret") {
			t.Errorf("a password is shown: %s", r)
		}
	}
	if !strings.Contains(replies[len(replies)-1], `"ACL" "SETUSER" "(redacted)"`) {
		t.Errorf("SLOWLOG: %s", replies[len(replies)-1])
	}
}

// TestAddRate asks that items above the rate of a user are refused, whatever command
// adds them, and counted.
func TestAddRate(t *testing.T) {
	for _, tt := range []struct{ setup, add, more string }{
		{"PING", "BF.MADD k a b", "BF.ADD k c"},
		{"PING", "BF.INSERT k CAPACITY 10 ITEMS a b", "BF.INSERT k ITEMS c"},
		{"PING", "CF.ADD k a", "CF.INSERT k ITEMS b c"},
		{"FILTER.CREATE k bloom", "FILTER.ADD k a b", "FILTER.ADD k c"},
		{"FILTER.CREATE k bloom", "FILTER.ADDHASH k 1 2", "FILTER.ADDHASH k 3"},
		{"FILTER.CREATE k bloom", "FILTER.REPAIR k a b", "FILTER.ADD k c"},
		{"CMS.INITBYDIM k 10 3", "CMS.INCRBY k a 1 b 1", "CMS.INCRBY k a 1"},
		{"TOPK.RESERVE k 3", "TOPK.ADD k a b", "TOPK.INCRBY k a 1"},
		{"TDIGEST.CREATE k", "TDIGEST.ADD k 1 2", "TDIGEST.ADD k 3"},
	} {
		b := commandtest.New(t, 1<<30)
		b.Line(tt.setup)
		b.Line("ACL SETUSER bob on >pw +@all ~* addrate=2")
		b.Login(t, "bob")
		if got := b.Line(tt.add); strings.HasPrefix(got, "-") {
			t.Errorf("%s: %s", tt.add, got)
		}
		got := b.Line(tt.more)
		if !strings.HasPrefix(got, "-LIMIT user 'bob' may add 2 items a second (addrate): try again in ") || !strings.HasSuffix(got, " ms") {
			t.Errorf("%s: %s", tt.more, got)
		}
		if got := b.Line("EXISTS k"); got != ":1" {
			t.Errorf("a read: %s", got)
		}
		if got := b.As(t, "default", strings.Fields(tt.more)...); strings.HasPrefix(got, "-") {
			t.Errorf("%s by another user: %s", tt.more, got)
		}
		if got := b.Line("INFO stats"); !strings.Contains(got, `acl_addrate_refused:1\r\n`) {
			t.Errorf("INFO: %s", got)
		}
		n := int64(0)
		b.Engine.Users.Limited(func(user string, refused int64) {
			if n = refused; user != "bob" {
				t.Errorf("Limited: %s", user)
			}
		})
		if n != 1 || b.Engine.Users.Refusals().AddRate != 1 {
			t.Errorf("refused: %d and %d, want 1", n, b.Engine.Users.Refusals().AddRate)
		}
	}
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on >pw +@all ~* addrate=2")
	b.Login(t, "bob")
	if got := b.Line("BF.MADD k a b c"); got != "-LIMIT user 'bob' may add 2 items a second (addrate): this command has 3; send them in several" {
		t.Errorf("more than the bucket holds: %s", got)
	}
	if got := b.Line("EXISTS k"); got != ":0" {
		t.Errorf("a refused command has made the key: %s", got)
	}
	// The rest of a pipeline is refused one by one, and each that was counted is done.
	replies := b.Exec(commandtest.Bytes([]string{"BF.ADD", "k", "a"}), commandtest.Bytes([]string{"BF.ADD", "k", "b"}), commandtest.Bytes([]string{"BF.ADD", "k", "c"}))
	if commandtest.Show(replies[0]) != ":1" || commandtest.Show(replies[1]) != ":1" || !strings.HasPrefix(commandtest.Show(replies[2]), "-LIMIT") {
		t.Errorf("a pipeline: %s %s %s", commandtest.Show(replies[0]), commandtest.Show(replies[1]), commandtest.Show(replies[2]))
	}
	if got := b.Line("BF.CARD k"); got != ":2" {
		t.Errorf("BF.CARD: %s", got)
	}
}

// TestRightsChangeUnderway has users change while others run commands.
func TestRightsChangeUnderway(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on nopass ~* +@all")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for id := range int64(3) {
		wg.Go(func() {
			s := engine.NewSession(100+id, "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
			var w engine.Workspace
			b.Engine.Login(s, []byte("bob"), nil, "AUTH")
			for {
				select {
				case <-stop:
					return
				default:
				}
				w.Reset()
				for _, line := range []string{"BF.ADD k x", "BF.EXISTS k x", "ACL WHOAMI", "KEYS *"} {
					w.Add(commandtest.Bytes(strings.Fields(line)))
				}
				for done := 0; done < len(w.Calls); {
					done += b.Engine.Exec(s, &w, done)
				}
				for i := range w.Calls {
					if got := commandtest.Show(w.Calls[i].Reply); strings.HasPrefix(got, "-") && !strings.HasPrefix(got, "-NOPERM") && !strings.HasPrefix(got, "-LIMIT") {
						t.Errorf("%s: %s", w.Calls[i].Args[0], got)
					}
				}
			}
		})
	}
	for i := range 300 {
		for _, line := range []string{"ACL SETUSER bob -@write ~*", "ACL SETUSER bob +@write addrate=1000", "ACL SETUSER bob resetkeys %R~k", "ACL LIST", fmt.Sprint("CONFIG SET requirepass ", i)} {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				if b.Session.Authenticated || !strings.HasPrefix(got, "-NOAUTH") {
					t.Errorf("%s: %s", line, got)
				}
				b.Session.Authenticated = true
			}
		}
	}
	b.Line("ACL DELUSER bob")
	close(stop)
	wg.Wait()
}

// TestOldValueNeedsReading has a user set a key that it may not read: GET of the old
// value is refused, though the new value is the name of a key that it may read.
func TestOldValueNeedsReading(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		ACL SETUSER u on nopass %W~k %R~v +set +get -> +OK
		AUTH u x -> +OK
		SET k v -> +OK`)
	if got := b.Line("SET k v GET"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("SET k v GET = %s, want a refusal", got)
	}
	if got := b.Line("COMMAND INFO incr"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("COMMAND INFO = %s, want a refusal", got)
	}
}

// TestLoadUsers reads the file of users: what is in it is in force, and if it cannot be
// read, all stays as it is.
func TestLoadUsers(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	text, failure := "user default on nopass ~* &* +@all\nuser alice on nopass ~* +get\n", error(nil)
	saved := ""
	b.Rewire(func(c *engine.Config) {
		c.Users = session.UserFile{Name: "users.acl", Read: func() ([]byte, error) { return []byte(text), failure }, Write: func(data []byte) error {
			saved = string(data)
			return failure
		}}
	})
	b.Script(t, `
		ACL USERS -> ["default"]
		ACL LOAD -> +OK
		ACL USERS -> ["alice" "default"]
		ACL SAVE -> +OK`)
	if want := "user alice on nopass sanitize-payload ~* resetchannels -@all +get\nuser default on nopass sanitize-payload ~* &* +@all\n"; saved != want {
		t.Errorf("ACL SAVE has written %q, want %q", saved, want)
	}
	text, failure = "user default on nopass ~* &* +@all\n", errors.New("the disk is gone")
	b.Script(t, `
		ACL LOAD -> -ERR the disk is gone. WARNING: ACL errors detected, no change to the previously active ACL rules was performed
		ACL SAVE -> -ERR There was an error trying to save the ACLs: the disk is gone`)
	failure = nil
	b.Script(t, `
		ACL USERS -> ["alice" "default"]
		ACL LOAD -> +OK
		ACL USERS -> ["default"]`)
}
