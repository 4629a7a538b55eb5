// Command gendocs writes the table of commands as Markdown.
package main

import (
	"fmt"
	"os"

	"github.com/bloomery/bloomery/server/internal/command"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(command.Docs()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(2)
	}
}
