// The command page: the calculator in a browser, without a server.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/page/export"
	"github.com/bloomery/bloomery/server"
)

func newPage() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Serve the calculator and the lessons of the page, without a server",
		Long: `page serves the page of bloomery on this machine and prints its address: the
calculator, which sizes filters, and the lessons on how they work. The tabs that
show data need a server: bloomery serve, whose --http address has the same page.

Ctrl-C ends it. page export writes the same as files for any web server.`,
		Example: `  bloomery page
  bloomery page --http 127.0.0.1:9000
  bloomery page export site`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPage(cmd.Context(), addr, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&addr, "http", "127.0.0.1:0", "`HOST:PORT` of the page; port 0 takes a free one; --addr means the same")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "addr" {
			name = "http" // as serve calls it
		}
		return pflag.NormalizedName(name)
	})
	cmd.AddCommand(newPageExport())
	return cmd
}

func newPageExport() *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR",
		Short: "Write the calculator and the lessons as files, for any web server",
		Long: `page export writes the page without a server as static files into the folder
DIR, which must be empty or not there. The page asks no other host: its answers
come from code that runs in the browser and is compiled by Go. Where Go is not
installed, take bloomery_VERSION_page.tar.gz of a release: it has these files.`,
		Example: `  bloomery page export site`,
		Args:    between(1, 1, "the folder to fill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := export.Write(cmd.Context(), args[0], thisBuild().Version)
			switch {
			case errors.Is(err, export.ErrNoGo):
				return hinted{fmt.Errorf("page export: %w", err), "take bloomery_VERSION_page.tar.gz of a release, or install Go"}
			case err != nil:
				return fmt.Errorf("page export: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: serve this folder with a web server\n", args[0])
			return err
		},
	}
}

// pageGrace is how long requests may take when the page ends.
const pageGrace = time.Second

func runPage(ctx context.Context, addr string, out io.Writer) error {
	l, err := listenPage(ctx, addr)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: server.Page(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	if _, err := fmt.Fprintf(out, "http://%s/how\n", l.Addr()); err != nil {
		return errors.Join(err, s.Close())
	}
	select {
	case err := <-ended:
		return fmt.Errorf("page: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageGrace)
	defer cancel()
	if s.Shutdown(end) != nil { // a browser that keeps a request open
		_ = s.Close()
	}
	return nil
}

func listenPage(ctx context.Context, addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("page: --http %q: want HOST:PORT", addr)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, hinted{
			fmt.Errorf("page: --http %s: the port is taken by another program", addr),
			"choose another port, or leave --http out to get a free one",
		}
	}
	if err != nil {
		return nil, fmt.Errorf("page: --http %s: %w", addr, err)
	}
	return l, nil
}
