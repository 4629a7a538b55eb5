// Package formats holds the packages of bloomery/foreign to the programs whose files they
// read and write: bytes that one side writes are read by the other. It has tests only.
package formats
