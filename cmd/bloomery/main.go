// Command bloomery is the server and the command line of bloomery: one binary,
// one file per subcommand.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

//go:generate go test . -count=1 -run TestManual|TestConfiguration -update

func main() {
	// A pipe whose reader went away is an error of the write, so that files are
	// put in order before the program ends.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
