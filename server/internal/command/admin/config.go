package admin

// CONFIG GET, SET, RESETSTAT and REWRITE.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/glob"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// config is CONFIG, with its subcommands.
var config = engine.Command{
	Name: "config", Arity: -2, Group: traits.GroupServer, Since: "2.0.0", Syntax: "subcommand", Summary: "Shows and changes settings.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{
		{
			Name: "get", Arity: -3, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Syntax: "parameter [parameter ...]", Complexity: "O(n · m), n settings and m patterns", Summary: "Returns settings by pattern.",
			Cost: func(x *engine.Costs, c *engine.Call) {
				x.Slow()
				x.Match(c.Args[2:], len(parameterNames(x.Context())))
			},
			Run: runConfigGet,
		},
		{
			Name: "resetstat", Arity: 2, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Resets the counters of INFO.",
			Cost: func(x *engine.Costs, _ *engine.Call) { x.Slow(); x.Slow() },
			Run: func(x *engine.Context, c *engine.Call) {
				x.Server().Notes().ResetUsage()
				x.Users().ResetRefusals()
				c.Answer(answer.OK())
			},
		},
		{
			Name: "rewrite", Arity: 2, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Loading | traits.Stale | traits.Outside, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(n), n being the length of the file", Summary: "Writes the settings that CONFIG SET has changed into the configuration file.",
			Run: func(x *engine.Context, c *engine.Call) {
				if x.Server().Facts().ConfigFile == "" {
					c.Fail("ERR The server is running without a config file")
					return
				}
				if err := x.Server().RewriteConfig(); err != nil {
					c.Fail("ERR Rewriting config file: " + answer.OneLine(err))
					return
				}
				c.Answer(answer.OK())
			},
		},
		{
			Name: "set", Arity: -4, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Syntax: "parameter value [parameter value ...]", Complexity: "O(n), n being the number of settings", Summary: "Changes settings, all or none.",
			Cost: func(x *engine.Costs, _ *engine.Call) { x.Slow(); x.Rights() }, // requirepass changes the default user
			Run:  runConfigSet, Secret: secretConfig,
		},
	},
}

// parameter is a setting that CONFIG knows.
type parameter struct {
	name string
	get  func(*engine.Context) string
	// set checks a value and returns what puts it in force, or an error text.
	// nil means that the setting cannot be changed.
	set func(*engine.Context, *session.Defaults, string) (apply func(), text string)
}

// parameters are the settings that can be changed, or computed. Those that a
// server was started with come from Settings.Server.
var parameters = []parameter{
	{
		name: "bf-error-rate",
		get: func(x *engine.Context) string {
			return strconv.FormatFloat(x.Settings().Defaults().BloomError, 'g', -1, 64)
		},
		set: func(_ *engine.Context, d *session.Defaults, v string) (func(), string) {
			rate, ok := answer.ParseFloat([]byte(v))
			if !ok {
				return nil, invalidValue("bf-error-rate")
			}
			if rate <= 0 || rate >= 1 {
				return nil, "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"
			}
			d.BloomError = min(rate, redisbloom.MaxErrorRate)
			return nil, ""
		},
	},
	integerParameter("bf-initial-size", func(d *session.Defaults) *int64 { return &d.BloomCapacity }, fixed(1, redisbloom.MaxCapacity)),
	integerParameter("bf-expansion-factor", func(d *session.Defaults) *int64 { return &d.BloomExpansion }, fixed(0, redisbloom.MaxExpansion)),
	integerParameter("cf-bucket-size", func(d *session.Defaults) *int64 { return &d.CuckooBucket }, func(d *session.Defaults) (int64, int64) {
		return 1, min(255, d.CuckooCapacity/2)
	}),
	integerParameter("cf-initial-size", func(d *session.Defaults) *int64 { return &d.CuckooCapacity }, func(d *session.Defaults) (int64, int64) {
		return 2 * d.CuckooBucket, redisbloom.MaxCapacity
	}),
	integerParameter("cf-max-iterations", func(d *session.Defaults) *int64 { return &d.CuckooKicks }, fixed(1, 65535)),
	integerParameter("cf-expansion-factor", func(d *session.Defaults) *int64 { return &d.CuckooExpansion }, fixed(0, redisbloom.MaxExpansion)),
	integerParameter("cf-max-expansions", func(d *session.Defaults) *int64 { return &d.CuckooMost }, fixed(1, 65536)),
	{
		name: "maxmemory",
		get:  func(x *engine.Context) string { return strconv.FormatInt(x.Budget().Max(), 10) },
		set: func(x *engine.Context, _ *session.Defaults, v string) (func(), string) {
			n, err := figures.Size(v)
			if err != nil || n <= 0 {
				return nil, "argument must be a memory value above 0"
			}
			return func() { x.Budget().SetMax(n) }, ""
		},
	},
	{
		name: "requirepass",
		get:  func(x *engine.Context) string { return traits.Redacted(x.Settings().Password()) },
		set: func(x *engine.Context, _ *session.Defaults, v string) (func(), string) {
			return func() { x.Users().SetPassword(x.Settings(), v) }, ""
		},
	},
	serverParameter("timeout", 0, 1<<31-1,
		func(x *engine.Context) int64 { return x.Settings().Timeout.Load() }, func(x *engine.Context, n int64) { x.Settings().Timeout.Store(n) }),
	serverParameter("maxclients", 1, 1<<32-1,
		func(x *engine.Context) int64 { return x.Settings().MaxClients.Load() }, func(x *engine.Context, n int64) { x.Settings().MaxClients.Store(n) }),
	serverParameter("max-transaction", 1, 1<<31-1,
		func(x *engine.Context) int64 { return x.Settings().MaxTransaction.Load() }, func(x *engine.Context, n int64) { x.Settings().MaxTransaction.Store(n) }),
	serverParameter("slowlog-log-slower-than", -1, 1<<62,
		func(x *engine.Context) int64 { return x.Server().Notes().Slow.SlowerThan() }, func(x *engine.Context, n int64) { x.Server().Notes().Slow.SetSlowerThan(n) }),
	serverParameter("slowlog-max-len", 1, 1<<20,
		func(x *engine.Context) int64 { return x.Server().Notes().Slow.MaxLen() }, func(x *engine.Context, n int64) { x.Server().Notes().Slow.SetMaxLen(n) }),
	serverParameter("acllog-max-len", 0, 1<<20,
		func(x *engine.Context) int64 { return x.Users().Log.MaxLen() }, func(x *engine.Context, n int64) { x.Users().Log.SetMaxLen(n) }),
	serverParameter("latency-monitor-threshold", 0, 1<<53,
		func(x *engine.Context) int64 { return x.Server().Notes().Late.Threshold() }, func(x *engine.Context, n int64) { x.Server().Notes().Late.SetThreshold(n) }),
	{
		name: "appendfsync",
		get: func(x *engine.Context) string {
			return x.Server().Disk().Status().Mode
		},
		set: setFsync,
	},
	constant("maxmemory-policy", "noeviction"),
	{name: "appendonly", get: func(x *engine.Context) string {
		if x.Can().Disk {
			return "yes"
		}
		return "no"
	}},
	constant("save", ""),
	constant("databases", "1"),
	{name: "cluster-enabled", get: func(x *engine.Context) string {
		if x.Can().Told() {
			return "yes"
		}
		return "no"
	}},
}

// setFsync is CONFIG SET appendfsync.
func setFsync(x *engine.Context, _ *session.Defaults, v string) (func(), string) {
	v = strings.ToLower(v)
	if v != "always" && v != "everysec" && v != "no" {
		return nil, "argument(s) must be one of the following: everysec, always, no"
	}
	if !x.Can().Disk && v != x.Server().Disk().Status().Mode {
		return nil, "this server keeps its data in memory only"
	}
	return func() { _ = x.Server().Disk().SetFsync(v) }, "" // it knows these three
}

func invalidValue(name string) string { return "Invalid value for `" + name + "`" }

func fixed(low, high int64) func(*session.Defaults) (int64, int64) {
	return func(*session.Defaults) (int64, int64) { return low, high }
}

// integerParameter is one of RedisBloom's parameters.
func integerParameter(name string, field func(*session.Defaults) *int64, limits func(*session.Defaults) (low, high int64)) parameter {
	return parameter{
		name: name,
		get:  func(x *engine.Context) string { return strconv.FormatInt(*field(x.Settings().Defaults()), 10) },
		set: func(_ *engine.Context, d *session.Defaults, v string) (func(), string) {
			n, ok := answer.ParseInt([]byte(v))
			if !ok {
				return nil, invalidValue(name)
			}
			if low, high := limits(d); n < low || n > high {
				return nil, fmt.Sprintf("Value for `%s` must be in the range [%d, %d]", name, low, high)
			}
			*field(d) = n
			return nil, ""
		},
	}
}

// serverParameter is a number of the server's own.
func serverParameter(name string, low, high int64, get func(*engine.Context) int64, set func(*engine.Context, int64)) parameter {
	return parameter{
		name: name,
		get:  func(x *engine.Context) string { return strconv.FormatInt(get(x), 10) },
		set: func(x *engine.Context, _ *session.Defaults, v string) (func(), string) {
			n, ok := answer.ParseInt([]byte(v))
			if !ok {
				return nil, "argument couldn't be parsed into an integer"
			}
			if n < low || n > high {
				return nil, fmt.Sprintf("argument must be between %d and %d inclusive", low, high)
			}
			return func() { set(x, n) }, ""
		},
	}
}

func constant(name, value string) parameter {
	return parameter{name: name, get: func(*engine.Context) string { return value }}
}

// findParameter returns the parameter of a name, and false if there is none.
func findParameter(x *engine.Context, name string) (parameter, bool) {
	for _, p := range parameters {
		if p.name == name {
			return p, true
		}
	}
	if v, ok := x.Settings().Server[name]; ok {
		return constant(name, v), true
	}
	return parameter{}, false
}

// parameterNames returns the names of all parameters, sorted.
func parameterNames(x *engine.Context) []string {
	var names []string
	for _, p := range parameters {
		names = append(names, p.name)
	}
	for name := range x.Settings().Server {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func runConfigGet(x *engine.Context, c *engine.Call) {
	names := parameterNames(x)
	shown := make([]bool, len(names))
	for _, a := range c.Args[2:] {
		if x.GaveUp(c) {
			return
		}
		pattern := glob.New(answer.Lower(a))
		for i, name := range names {
			shown[i] = shown[i] || pattern.Match(name)
		}
	}
	elems := []answer.Reply{}
	for i, name := range names {
		if shown[i] {
			p, _ := findParameter(x, name)
			elems = append(elems, answer.Text(name), answer.Text(p.get(x)))
		}
	}
	c.Answer(answer.Pairs(elems...))
}

func runConfigSet(x *engine.Context, c *engine.Call) {
	if len(c.Args)%2 != 0 {
		c.Answer(answer.WrongArity(c.Command().FullName()))
		return
	}
	var apply []func()
	x.Settings().Change(func(next *session.Defaults) bool {
		var failed answer.Reply
		if apply, failed = checkSettings(x, next, c.Args[2:]); failed.Kind != answer.None {
			c.Answer(failed)
			return false
		}
		for _, f := range apply {
			f()
		}
		c.Answer(answer.OK())
		return true
	})
}

// checkSettings checks pairs of names and values and returns what puts them in
// force: next, and functions to call.
func checkSettings(x *engine.Context, next *session.Defaults, args [][]byte) (apply []func(), failed answer.Reply) {
	seen := map[string]bool{}
	for i := 0; i < len(args); i += 2 {
		name := answer.Lower(args[i])
		p, ok := findParameter(x, name)
		var text string
		var f func()
		switch {
		case !ok:
			return nil, answer.Fail("ERR Unknown option or number of arguments for CONFIG SET - '" + string(args[i]) + "'")
		case seen[name]:
			text = "duplicate parameter"
		case p.set == nil:
			text = "can't set immutable config"
		default:
			f, text = p.set(x, next, string(args[i+1]))
		}
		if text != "" {
			return nil, answer.Fail("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + text)
		}
		seen[name] = true
		if f != nil {
			apply = append(apply, f)
		}
	}
	return apply, answer.Reply{}
}

// secretConfig hides everything behind requirepass.
func secretConfig(args [][]byte) (from, to int) {
	for i := 2; i < len(args); i += 2 {
		if answer.Is(args[i], "requirepass") {
			return i + 1, len(args)
		}
	}
	return 0, 0
}
