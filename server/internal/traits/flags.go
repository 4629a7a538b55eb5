// Package traits is the words that commands are described in: flags, groups, where keys are
// and what is done to them, and which arguments are secret. It knows no command.
package traits

// Flags describe a command; their names are those of COMMAND INFO.
type Flags uint32

// The flags. Those from Heavy on are not shown: they say how the engine runs a
// command.
const (
	Write      Flags = 1 << iota // changes data
	ReadOnly                     // looks at data
	DenyOOM                      // refused when memory is used up
	Admin                        // for operators
	NoAuth                       // allowed without a password
	Fast                         // its time does not grow with the data
	Module                       // one of RedisBloom's
	NoMulti                      // not allowed between MULTI and EXEC
	Loading                      // works while data is loaded
	Stale                        // works on a replica that lost its master
	NoScript                     // not for scripts
	Movable                      // the number of keys is an argument
	Heavy                        // its reply may be large: nothing is run behind it before that is sent
	Immediate                    // run at once inside MULTI instead of queued
	Outside                      // Run may take long: it is called outside the gate
	Alone                        // nothing else runs meanwhile, and recovery takes all of it or nothing
	Wrote                        // writes, although COMMAND INFO says otherwise, as RedisBloom does
	Everything                   // works on every key: only for users who may do so
	Derived                      // its record holds what Prepare has read of another key
	Contents                     // looks at what is in filters, though its group or its lack of keys does not say so
	Steps                        // goes on with what an earlier call of the client has begun
	Apart                        // is run where the client is if no single machine holds all that it is about
	Fetches                      // is run where what it changes lies; what it reads is fetched if no single machine holds all
	Undivided                    // refuses to run where contents are spread: no other machine is asked for them
)

var flagNames = []struct {
	flag Flags
	name string
}{
	{Write, "write"},
	{ReadOnly, "readonly"},
	{DenyOOM, "denyoom"},
	{Module, "module"},
	{Admin, "admin"},
	{NoScript, "noscript"},
	{Loading, "loading"},
	{Stale, "stale"},
	{Fast, "fast"},
	{NoAuth, "no_auth"},
	{NoMulti, "no_multi"},
	{Movable, "movablekeys"},
}

// Names returns the names of the flags.
func (f Flags) Names() []string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// Writes reports whether a command of these flags may change data.
func (f Flags) Writes() bool { return f&(Write|Wrote) != 0 }

// Groups of commands, as COMMAND DOCS and docs/commands.md name them.
const (
	GroupBloom      = "bf"
	GroupCuckoo     = "cf"
	GroupFilter     = "filter"
	GroupCountMin   = "cms"
	GroupTopK       = "topk"
	GroupTDigest    = "tdigest"
	GroupConnection = "connection"
	GroupGeneric    = "generic"
	GroupServer     = "server"
	GroupString     = "string"
	GroupMulti      = "transactions"
	GroupCluster    = "cluster"
	GroupScripting  = "scripting"
	GroupPubSub     = "pubsub"
)
