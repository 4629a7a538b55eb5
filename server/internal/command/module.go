package command

// RedisVersion is the version of Redis that clients see: the one that the
// replies are those of.
const RedisVersion = "7.4.1"

// bloomVersion is the version of RedisBloom that clients see, as a number:
// 8.0.0, the first with the configuration names that CONFIG knows here.
const bloomVersion = 80000

// moduleCmd is MODULE LIST.
var moduleCmd = Command{
	Name: "module", Arity: -2, Group: groupServer, Since: "4.0.0", Syntax: "LIST", Summary: "Lists modules.",
	Categories: []string{"slow"},
	Subcommands: []Command{{
		Name: "list", Arity: 2, Flags: Admin | NoScript, Categories: []string{"admin", "slow", "dangerous"}, Complexity: "O(1)",
		Summary: "Lists the modules: bf, which is built in.",
		run:     func(_ *Engine, _ *Session, c *Call) { c.answer(array(moduleBF())) },
	}},
}

// moduleBF describes the module that RedisBloom would be.
func moduleBF() Reply {
	return pairs(
		bulk("name"), bulk("bf"),
		bulk("ver"), integer(bloomVersion),
		bulk("path"), bulk(""),
		bulk("args"), array(),
	)
}
