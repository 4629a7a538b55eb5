// Package command is the table of commands: the slices that the packages of
// commands export, put together. Package engine runs them.
//
// The table has name, arity, flags, keys, categories, syntax and summary of
// every command. Dispatch, arity errors, COMMAND INFO, DOCS and GETKEYS, the rights
// of users, redaction, statistics and docs/commands.md all come from it.
package command

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/command/acl"
	"github.com/bloomery/bloomery/server/internal/command/admin"
	"github.com/bloomery/bloomery/server/internal/command/bf"
	"github.com/bloomery/bloomery/server/internal/command/cf"
	"github.com/bloomery/bloomery/server/internal/command/cms"
	"github.com/bloomery/bloomery/server/internal/command/connection"
	"github.com/bloomery/bloomery/server/internal/command/filter"
	"github.com/bloomery/bloomery/server/internal/command/keys"
	"github.com/bloomery/bloomery/server/internal/command/tdigest"
	"github.com/bloomery/bloomery/server/internal/command/text"
	"github.com/bloomery/bloomery/server/internal/command/topk"
	"github.com/bloomery/bloomery/server/internal/engine"
)

//go:generate go run ./gendocs ../../../docs/commands.md

// All returns every command.
func All() []engine.Command {
	return slices.Concat(
		bf.Commands(), cf.Commands(), cms.Commands(), topk.Commands(), tdigest.Commands(),
		filter.Commands(), keys.Commands(), text.Commands(), connection.Commands(), admin.Commands(), acl.Commands(),
	)
}
