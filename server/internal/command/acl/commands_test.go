package acl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
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
