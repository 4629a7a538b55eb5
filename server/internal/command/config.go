package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/foreign/redisbloom"
)

// configCmd is CONFIG, with its subcommands.
var configCmd = Command{
	Name: "config", Arity: -2, Group: groupServer, Since: "2.0.0", Syntax: "subcommand", Summary: "Shows and changes settings.",
	Categories: []string{"slow"},
	Subcommands: []Command{
		{
			Name: "get", Arity: -3, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Syntax: "parameter [parameter ...]", Complexity: "O(n · m), n settings and m patterns", Summary: "Returns settings by pattern.",
			run: runConfigGet,
		},
		{
			Name: "resetstat", Arity: 2, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Resets the counters of INFO.",
			run: func(e *Engine, _ *Session, c *Call) {
				e.table.walk(func(cmd *Command) { cmd.stats.reset() })
				e.Settings.expired.Store(0)
				c.answer(okReply)
			},
		},
		{
			Name: "rewrite", Arity: 2, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Refused: the configuration file is written by hand.",
			run: func(_ *Engine, _ *Session, c *Call) {
				c.answer(fail("ERR The server is running without a config file"))
			},
		},
		{
			Name: "set", Arity: -4, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Syntax: "parameter value [parameter value ...]", Complexity: "O(n), n being the number of settings", Summary: "Changes settings, all or none.",
			run: runConfigSet,
		},
	},
}

func (s *stats) reset() {
	s.calls.Store(0)
	s.nanos.Store(0)
	s.rejected.Store(0)
	s.failed.Store(0)
}

// parameter is a setting that CONFIG knows.
type parameter struct {
	name string
	get  func(*Engine) string
	// set checks a value and returns what puts it in force, or an error text.
	// nil means that the setting cannot be changed.
	set func(*Engine, *Defaults, string) (apply func(), text string)
}

// parameters are the settings that can be changed, or computed. Those that a
// server was started with come from Settings.Server.
var parameters = []parameter{
	{
		name: "bf-error-rate",
		get:  func(e *Engine) string { return strconv.FormatFloat(e.Settings.defaults.Load().BloomError, 'g', -1, 64) },
		set: func(_ *Engine, d *Defaults, v string) (func(), string) {
			rate, ok := parseFloat([]byte(v))
			if !ok {
				return nil, invalidValue("bf-error-rate")
			}
			if rate <= 0 || rate >= 1 {
				return nil, "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"
			}
			d.BloomError = min(rate, redisbloom.MaxError)
			return nil, ""
		},
	},
	integerParameter("bf-initial-size", func(d *Defaults) *int64 { return &d.BloomCapacity }, fixed(1, redisbloom.MaxCapacity)),
	integerParameter("bf-expansion-factor", func(d *Defaults) *int64 { return &d.BloomExpansion }, fixed(0, redisbloom.MaxExpansion)),
	integerParameter("cf-bucket-size", func(d *Defaults) *int64 { return &d.CuckooBucket }, func(d *Defaults) (int64, int64) {
		return 1, min(255, d.CuckooCapacity/2)
	}),
	integerParameter("cf-initial-size", func(d *Defaults) *int64 { return &d.CuckooCapacity }, func(d *Defaults) (int64, int64) {
		return 2 * d.CuckooBucket, redisbloom.MaxCapacity
	}),
	integerParameter("cf-max-iterations", func(d *Defaults) *int64 { return &d.CuckooKicks }, fixed(1, 65535)),
	integerParameter("cf-expansion-factor", func(d *Defaults) *int64 { return &d.CuckooExpansion }, fixed(0, redisbloom.MaxExpansion)),
	integerParameter("cf-max-expansions", func(d *Defaults) *int64 { return &d.CuckooMost }, fixed(1, 65536)),
	{
		name: "maxmemory",
		get:  func(e *Engine) string { return strconv.FormatInt(e.Budget.max.Load(), 10) },
		set: func(e *Engine, _ *Defaults, v string) (func(), string) {
			n, ok := ParseBytes(v)
			if !ok || n <= 0 {
				return nil, "argument must be a memory value above 0"
			}
			return func() { e.Budget.max.Store(n) }, ""
		},
	},
	{
		name: "requirepass",
		get:  func(e *Engine) string { return e.Settings.Password() },
		set: func(e *Engine, _ *Defaults, v string) (func(), string) {
			return func() { e.Settings.password.Store(&v) }, ""
		},
	},
	serverParameter("timeout", 0, 1<<31-1,
		func(e *Engine) int64 { return e.Settings.Timeout.Load() }, func(e *Engine, n int64) { e.Settings.Timeout.Store(n) }),
	serverParameter("maxclients", 1, 1<<32-1,
		func(e *Engine) int64 { return e.Settings.MaxClients.Load() }, func(e *Engine, n int64) { e.Settings.MaxClients.Store(n) }),
	serverParameter("slowlog-log-slower-than", -1, 1<<62,
		func(e *Engine) int64 { return e.slow.slowerThan() }, func(e *Engine, n int64) { e.slow.setSlowerThan(n) }),
	serverParameter("slowlog-max-len", 1, 1<<20,
		func(e *Engine) int64 { return e.slow.maxLen() }, func(e *Engine, n int64) { e.slow.most.Store(n) }),
	constant("maxmemory-policy", "noeviction"),
	{name: "appendonly", get: func(e *Engine) string {
		if e.kept() {
			return "yes"
		}
		return "no"
	}},
	constant("save", ""),
	constant("databases", "1"),
	constant("cluster-enabled", "no"),
}

func invalidValue(name string) string { return "Invalid value for `" + name + "`" }

func fixed(low, high int64) func(*Defaults) (int64, int64) {
	return func(*Defaults) (int64, int64) { return low, high }
}

// integerParameter is one of RedisBloom's parameters.
func integerParameter(name string, field func(*Defaults) *int64, limits func(*Defaults) (low, high int64)) parameter {
	return parameter{
		name: name,
		get:  func(e *Engine) string { return strconv.FormatInt(*field(e.Settings.defaults.Load()), 10) },
		set: func(_ *Engine, d *Defaults, v string) (func(), string) {
			n, ok := parseInt([]byte(v))
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
func serverParameter(name string, low, high int64, get func(*Engine) int64, set func(*Engine, int64)) parameter {
	return parameter{
		name: name,
		get:  func(e *Engine) string { return strconv.FormatInt(get(e), 10) },
		set: func(e *Engine, _ *Defaults, v string) (func(), string) {
			n, ok := parseInt([]byte(v))
			if !ok {
				return nil, "argument couldn't be parsed into an integer"
			}
			if n < low || n > high {
				return nil, fmt.Sprintf("argument must be between %d and %d inclusive", low, high)
			}
			return func() { set(e, n) }, ""
		},
	}
}

func constant(name, value string) parameter {
	return parameter{name: name, get: func(*Engine) string { return value }}
}

// findParameter returns the parameter of a name, and false if there is none.
func (e *Engine) findParameter(name string) (parameter, bool) {
	for _, p := range parameters {
		if p.name == name {
			return p, true
		}
	}
	if v, ok := e.Settings.Server[name]; ok {
		return constant(name, v), true
	}
	return parameter{}, false
}

// parameterNames returns the names of all parameters, sorted.
func (e *Engine) parameterNames() []string {
	var names []string
	for _, p := range parameters {
		names = append(names, p.name)
	}
	for name := range e.Settings.Server {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func runConfigGet(e *Engine, _ *Session, c *Call) {
	elems := []Reply{}
	for _, name := range e.parameterNames() {
		if !slices.ContainsFunc(c.Args[2:], func(a []byte) bool { return match(lower(a), name) }) {
			continue
		}
		p, _ := e.findParameter(name)
		elems = append(elems, bulk(name), bulk(p.get(e)))
	}
	c.answer(pairs(elems...))
}

func runConfigSet(e *Engine, _ *Session, c *Call) {
	if len(c.Args)%2 != 0 {
		c.answer(wrongArity(c.cmd.full))
		return
	}
	e.Settings.change.Lock()
	defer e.Settings.change.Unlock()
	next := *e.Settings.defaults.Load()
	var apply []func()
	seen := map[string]bool{}
	for i := 2; i < len(c.Args); i += 2 {
		name := lower(c.Args[i])
		p, ok := e.findParameter(name)
		var text string
		var f func()
		switch {
		case !ok:
			c.answer(fail("ERR Unknown option or number of arguments for CONFIG SET - '" + string(c.Args[i]) + "'"))
			return
		case seen[name]:
			text = "duplicate parameter"
		case p.set == nil:
			text = "can't set immutable config"
		default:
			f, text = p.set(e, &next, string(c.Args[i+1]))
		}
		if text != "" {
			c.answer(fail("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + text))
			return
		}
		seen[name] = true
		if f != nil {
			apply = append(apply, f)
		}
	}
	e.Settings.defaults.Store(&next)
	for _, f := range apply {
		f()
	}
	c.answer(okReply)
}

// ParseBytes reads an amount of memory: digits and maybe a unit, k, kb, kib and
// so on up to t. As in Redis k is 1000 and kb is 1024; so is kib.
func ParseBytes(s string) (int64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	unit := s[len(digits):]
	if unit == "" || unit == "b" {
		return n, true
	}
	power := strings.IndexByte("kmgt", unit[0]) + 1
	base := int64(1024)
	switch {
	case power == 0:
		return 0, false
	case len(unit) == 1:
		base = 1000
	case unit[1:] != "b" && unit[1:] != "ib":
		return 0, false
	}
	for range power {
		if n > (1<<62)/base {
			return 0, false
		}
		n *= base
	}
	return n, true
}
