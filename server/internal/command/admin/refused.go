package admin

// Commands of Redis that are refused with a reason.

import (
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

const (
	textNoScripts = "ERR scripts and functions are not supported: this server runs no code of clients. " +
		"Send the commands themselves, between MULTI and EXEC if no other may come in between, with WATCH if they depend on what was read"
	textNoMessages = "ERR publish and subscribe are not supported: this server keeps filters and passes no messages on. " +
		"Use a Redis server, or a message broker, beside it"
)

// refusedCommands are commands of Redis that clients may try and that will never
// be here: the answer says why, and what to do instead. Their arguments are in no
// log, as those of an unknown command.
func refusedCommands() []engine.Command {
	var all []engine.Command
	for _, r := range []struct {
		name, syntax, since string
		arity               int
	}{
		{"eval", "script numkeys [key ...] [arg ...]", "2.6.0", -3},
		{"eval_ro", "script numkeys [key ...] [arg ...]", "7.0.0", -3},
		{"evalsha", "sha1 numkeys [key ...] [arg ...]", "2.6.0", -3},
		{"evalsha_ro", "sha1 numkeys [key ...] [arg ...]", "7.0.0", -3},
		{"fcall", "function numkeys [key ...] [arg ...]", "7.0.0", -3},
		{"fcall_ro", "function numkeys [key ...] [arg ...]", "7.0.0", -3},
		{"function", "subcommand", "7.0.0", -2},
		{"script", "subcommand", "2.6.0", -2},
	} {
		all = append(all, refusedCommand(r.name, r.syntax, r.since, r.arity, traits.GroupScripting,
			"Refused: the server runs no code of clients.", textNoScripts))
	}
	for _, r := range []struct {
		name, syntax, since string
		arity               int
	}{
		{"psubscribe", "pattern [pattern ...]", "2.0.0", -2},
		{"publish", "channel message", "2.0.0", 3},
		{"pubsub", "subcommand", "2.8.0", -2},
		{"punsubscribe", "[pattern [pattern ...]]", "2.0.0", -1},
		{"spublish", "shardchannel message", "7.0.0", 3},
		{"ssubscribe", "shardchannel [shardchannel ...]", "7.0.0", -2},
		{"subscribe", "channel [channel ...]", "2.0.0", -2},
		{"sunsubscribe", "[shardchannel [shardchannel ...]]", "7.0.0", -1},
		{"unsubscribe", "[channel [channel ...]]", "2.0.0", -1},
	} {
		all = append(all, refusedCommand(r.name, r.syntax, r.since, r.arity, traits.GroupPubSub,
			"Refused: the server passes no messages on.", textNoMessages))
	}
	return all
}

func refusedCommand(name, syntax, since string, arity int, group, summary, text string) engine.Command {
	return engine.Command{
		Name: name, Arity: arity, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{group, "slow"}, Group: group,
		Since: since, Syntax: syntax, Complexity: "O(1)", Summary: summary, Secret: traits.Behind(1),
		Run: func(_ *engine.Context, c *engine.Call) { c.Fail(text) },
	}
}
