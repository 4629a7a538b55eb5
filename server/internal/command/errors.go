package command

import "strings"

// Everything that Redis and RedisBloom say when they refuse, byte for byte.
// Many texts of RedisBloom have no code in front.
const (
	textSyntax      = "ERR syntax error"
	textInteger     = "ERR value is not an integer or out of range"
	textNoSuchKey   = "ERR no such key"
	textWrongType   = "WRONGTYPE Operation against a key holding the wrong kind of value"
	textOOM         = "OOM command not allowed when used memory > 'maxmemory'."
	textNoAuth      = "NOAUTH Authentication required."
	textOverflow    = "ERR increment or decrement would overflow"
	textOffset      = "ERR offset is out of range"
	textLength      = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	textCursor      = "ERR invalid cursor"
	textExpire      = "ERR invalid expire time in '"
	textExecAbort   = "EXECABORT Transaction discarded because of previous errors."
	textCluster     = "ERR This instance has cluster support disabled"
	textModuleCopy  = "ERR not supported for this module key"
	textBadDump     = "ERR Bad data format"
	textDumpFooter  = "ERR DUMP payload version or checksum are wrong"
	textBusyKey     = "BUSYKEY Target key name already exists."
	textDB          = "ERR DB index is out of range"
	textWrongPass   = "WRONGPASS invalid username-password pair or user is disabled."
	textNoPassword  = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	textNoProto     = "NOPROTO unsupported protocol version"
	textPersistence = "ERR persistence is not available: this server keeps its data in memory only"

	textItemExists = "ERR item exists"
	textNotFound   = "ERR not found"

	textErrorRate       = "ERR bad error rate"
	textErrorRange      = "ERR error rate must be in the range (0.000000, 1.000000)"
	textCapacity        = "ERR bad capacity"
	textCapacityRange   = "ERR capacity must be in the range [1, 1073741824]"
	textNoExpansion     = "ERR no expansion"
	textExpansion       = "ERR bad expansion"
	textExpansionRange  = "ERR expansion must be in the range [0, 32768]"
	textNonScaling      = "Nonscaling filters cannot expand"
	textFull            = "ERR non scaling filter is full"
	textInsertError     = "Bad error rate"
	textInsertCapacity  = "Bad capacity"
	textInsertExpansion = "Bad expansion"
	textUnknownArgument = "Unknown argument received"
	textInfoValue       = "Invalid information value"
	textScanNumber      = "Second argument must be numeric"
	textLoadNumber      = "ERR Second argument must be numeric"
	textBadData         = "ERR received bad data"
	textBadOffset       = "ERR invalid offset - no link found"
	textBadChunk        = "ERR invalid chunk - Too big for current filter"
	textGrowth          = "ERR problem inserting into filter"
	textNoMemory        = "ERR Insufficient memory to create filter"

	textCuckooRange     = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
	textCuckooInsert    = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
	textCuckooFull      = "Filter is full"
	textCuckooMost      = "Maximum expansions reached"
	textCuckooMissing   = "Not found"
	textCompactMissing  = "Cuckoo filter was not found"
	textPosition        = "Invalid position"
	textHeader          = "Invalid header"
	textCuckooCreate    = "Couldn't create filter!"
	textCuckooChunk     = "Couldn't load chunk!"
	textCuckooNoMemory  = "ERR Insufficient memory"
	textIterations      = "Couldn't parse MAXITERATIONS"
	textIterationsRange = "MAXITERATIONS: value must be in the range [1, 65535]"
	textBucket          = "Couldn't parse BUCKETSIZE"
	textBucketRange     = "BUCKETSIZE: value must be in the range [1, 255]"
	textGrow            = "Couldn't parse EXPANSION"
	textGrowRange       = "EXPANSION: value must be in the range [0, 32768]"
)

// refused is the error for a write that could not be kept. Its code is the one
// that clients of Redis know for a server that cannot save.
func refused(err error) Reply {
	return fail("MISCONF Writes are refused, reads go on: the log cannot be written (" + oneLine(err) + ").")
}

// oneLine returns the text of an error as an error reply can hold it.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// unkept answers writes that were done but may not be on disk as they should be.
func unkept(calls []Call, err error) {
	for i := range calls {
		if c := &calls[i]; c.cmd != nil && c.cmd.Flags&Write != 0 || c.cmd != nil && c.cmd.Name == "exec" {
			c.Reply = fail("MISCONF The write was done in memory, but it is not on disk and may be lost (" + oneLine(err) + ").")
		}
	}
}

// wrongArity is the error for a wrong number of arguments.
func wrongArity(name string) Reply {
	return fail("ERR wrong number of arguments for '" + name + "' command")
}

// unknownSubcommand is the error of a container command such as CLIENT.
func unknownSubcommand(container string, arg []byte) Reply {
	return fail("ERR unknown subcommand '" + clip(arg) + "'. Try " + container + " HELP.")
}

// unknownCommand is the error for a name that is no command. As Redis does, it
// quotes the first arguments until they are 128 bytes.
func unknownCommand(args [][]byte) Reply {
	var text strings.Builder
	text.WriteString("ERR unknown command '" + clip(args[0]) + "', with args beginning with: ")
	quoted := 0
	for _, a := range args[1:] {
		if quoted >= 128 {
			break
		}
		s := string(a[:min(len(a), 128-quoted)])
		text.WriteString("'" + s + "' ")
		quoted += len(s) + 3
	}
	return fail(text.String())
}

func clip(arg []byte) string { return string(arg[:min(len(arg), 128)]) }
