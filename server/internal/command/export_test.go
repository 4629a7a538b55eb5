package command

// AppendFooter lets tests make payloads for RESTORE.
var AppendFooter = appendFooter

// What tests of small functions need.
var (
	ParseFloat = parseFloat
	ParseInt   = parseInt
	FormatG    = formatG
	Match      = match
	Checksum   = checksum
	UnpackLZF  = unpackLZF
)
