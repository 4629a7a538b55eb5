package command

import (
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/rdb"
)

// AppendFooter lets tests make payloads for RESTORE.
var AppendFooter = rdb.AppendFooter

// What tests of small functions need.
var (
	ParseFloat = engine.ParseFloat
	ParseInt   = engine.ParseInt
	FormatG    = engine.FormatG
	Match      = engine.Match
	Checksum   = rdb.Checksum
	UnpackLZF  = rdb.UnpackLZF
)

// What tests of the table need.
type Command = engine.Command

// NewTable returns the table of all commands.
func NewTable() *engine.Table { return engine.NewTable(All()) }

// Write is the flag of commands that write.
const Write = engine.Write
