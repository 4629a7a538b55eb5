package connection

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// helloCommand is HELLO [protover [AUTH username password] [SETNAME name]].
var helloCommand = engine.Command{
	Name: "hello", Arity: -1, Flags: traits.Fast | traits.NoAuth | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Categories: []string{"fast", "connection"}, Group: traits.GroupConnection, Since: "6.0.0",
	Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Complexity: "O(1)",
	Summary: "Chooses the protocol and describes the server.",
	Run:     runHello, Secret: secretHello,
}

// hello is what HELLO asks for.
type hello struct {
	proto          uint8 // 0 to keep what there is
	user, password []byte
	name           []byte
	named          bool
}

// parseHello reads the arguments of HELLO. It returns the error text, or "".
func parseHello(args [][]byte) (h hello, text string) {
	if len(args) == 1 {
		return h, ""
	}
	version, ok := answer.ParseInt(args[1])
	if !ok {
		return h, "ERR Protocol version is not an integer or out of range"
	}
	if version < 2 || version > 3 {
		return h, textNoProto
	}
	h.proto = uint8(version)
	for i := 2; i < len(args); i++ {
		left := len(args) - i - 1
		switch {
		case answer.Is(args[i], "auth") && left >= 2:
			h.user, h.password = args[i+1], args[i+2]
			i += 2
		case answer.Is(args[i], "setname") && left >= 1:
			h.name, h.named = args[i+1], true
			i++
		default:
			return h, "ERR Syntax error in HELLO option '" + string(args[i]) + "'"
		}
	}
	return h, ""
}

func runHello(x *engine.Context, c *engine.Call) {
	s := x.Client()
	h, text := parseHello(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	if h.user != nil && !x.Login(h.user, h.password, "HELLO") {
		c.Fail(textWrongPass)
		return
	}
	if x.Users().Guest(x.Client()) {
		c.Fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if h.named && !s.SetName(h.name) {
		c.Fail(textClientName)
		return
	}
	if h.proto != 0 {
		s.SetProto(h.proto)
	}
	c.Answer(answer.Pairs(
		answer.Text("server"), answer.Text("redis"),
		answer.Text("version"), answer.Text(answer.RedisVersion),
		answer.Text("proto"), answer.Integer(int64(s.Proto)),
		answer.Text("id"), answer.Integer(s.ID),
		answer.Text("mode"), answer.Text(x.Can().Mode()),
		answer.Text("role"), answer.Text("master"),
		answer.Text("modules"), answer.List(answer.BloomModule()),
	))
}

// secretHello finds the password: behind AUTH and a name. What looks like it, and
// is not, is hidden too.
func secretHello(args [][]byte) (from, to int) {
	for i, a := range args {
		if answer.Is(a, "auth") {
			return i + 1, len(args)
		}
	}
	return 0, 0
}
