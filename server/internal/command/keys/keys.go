// Package keys is the commands on keys of every kind: names, deadlines, DUMP and
// RESTORE.
package keys

import "github.com/bloomery/bloomery/server/internal/engine"

// Commands returns the commands on keys.
func Commands() []engine.Command {
	return []engine.Command{
		copyCmd, dbSize, del, dump, exists, expire, expireAt, expireTime, flushAll, flushDB, keys, memory, object, persist,
		pexpire, pexpireAt, pexpireTime, pttl, randomKey, rename, renameNX, restore, scan, touch, ttl, typeCmd, unlink,
	}
}

const (
	textCursor     = "ERR invalid cursor"
	textModuleCopy = "ERR not supported for this module key"
	textBadDump    = "ERR Bad data format"
	textDumpFooter = "ERR DUMP payload version or checksum are wrong"
	textBusyKey    = "BUSYKEY Target key name already exists."
	textTTL        = "ERR Invalid TTL value, must be >= 0"
)
