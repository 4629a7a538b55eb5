package command

// helloCmd is HELLO [protover [AUTH username password] [SETNAME name]].
var helloCmd = Command{
	Name: "hello", Arity: -1, Flags: Fast | NoAuth | NoScript | Loading | Stale | immediate,
	Categories: []string{"fast", "connection"}, Group: groupConnection, Since: "6.0.0",
	Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Complexity: "O(1)",
	Summary: "Chooses the protocol and describes the server.",
	run:     runHello,
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
	version, ok := parseInt(args[1])
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
		case is(args[i], "auth") && left >= 2:
			h.user, h.password = args[i+1], args[i+2]
			i += 2
		case is(args[i], "setname") && left >= 1:
			h.name, h.named = args[i+1], true
			i++
		default:
			return h, "ERR Syntax error in HELLO option '" + string(args[i]) + "'"
		}
	}
	return h, ""
}

func runHello(e *Engine, s *Session, c *Call) {
	h, text := parseHello(c.Args)
	if text != "" {
		c.answer(fail(text))
		return
	}
	if h.user != nil && !e.authenticate(s, h.user, h.password) {
		c.answer(fail(textWrongPass))
		return
	}
	if !s.Authenticated && e.Settings.Password() != "" {
		c.answer(fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"))
		return
	}
	if h.named && !s.setName(h.name) {
		c.answer(fail(textClientName))
		return
	}
	if h.proto != 0 {
		s.setProto(h.proto)
	}
	c.answer(pairs(
		bulk("server"), bulk("redis"),
		bulk("version"), bulk(RedisVersion),
		bulk("proto"), integer(int64(s.Proto)),
		bulk("id"), integer(s.ID),
		bulk("mode"), bulk("standalone"),
		bulk("role"), bulk("master"),
		bulk("modules"), array(moduleBF()),
	))
}
