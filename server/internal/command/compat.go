package command

import "github.com/bloomery/bloomery/server/internal/engine"

// The names of the engine that package server uses.
type (
	Engine    = engine.Engine
	Session   = engine.Session
	Workspace = engine.Workspace
	Call      = engine.Call
	Reply     = engine.Reply
	Settings  = engine.Settings
	Budget    = engine.Budget
	Host      = engine.Host
	Facts     = engine.Facts
	Config    = engine.Config
	Defaults  = engine.Defaults
)

// The kinds of replies.
const (
	None      = engine.None
	Status    = engine.Status
	Error     = engine.Error
	Int       = engine.Int
	Bulk      = engine.Bulk
	Verbatim  = engine.Verbatim
	Null      = engine.Null
	NullArray = engine.NullArray
	Bool      = engine.Bool
	Double    = engine.Double
	Array     = engine.Array
	Map       = engine.Map
	Set       = engine.Set
	Fields    = engine.Fields
	Bools     = engine.Bools
	Codes     = engine.Codes
	CodeInts  = engine.CodeInts
)

// New returns an engine with all commands.
func New(c Config) *Engine {
	c.Commands = All()
	return engine.New(c)
}

// Functions of the engine that package server uses.
var (
	NewSession         = engine.NewSession
	NewSettings        = engine.NewSettings
	RedisBloomDefaults = engine.RedisBloomDefaults
	ParseBytes         = engine.ParseBytes
)
