// Package admin is the commands for operators and client libraries: CONFIG, INFO,
// COMMAND, SAVE and their kin.
package admin

import "github.com/bloomery/bloomery/server/internal/engine"

// Commands returns the commands for operators and client libraries.
func Commands() []engine.Command {
	return append(refusedCommands(),
		asking, bgsave, cluster, commandCommand, config, debug, info, lastSave, latency, module, monitor, readOnly, readWrite, save, shutdown, slowLog, timeCommand,
		wait,
	)
}

const (
	textPersistence = "ERR persistence is not available: this server keeps its data in memory only"
)
