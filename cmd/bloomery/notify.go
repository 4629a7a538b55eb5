// Messages to systemd: ready, reloading, stopping.

package main

import "net"

// notifySocket is the environment variable with which systemd names the socket that
// services of Type=notify report to.
const notifySocket = "NOTIFY_SOCKET"

// What a service reports to systemd.
const (
	notifyReady    = "READY=1"
	notifyStopping = "STOPPING=1"
)

// notify reports the state of this process to the service manager, if there is one:
// a datagram to the socket that the environment names.
func notify(lookup func(string) (string, bool), state string) error {
	name, ok := lookup(notifySocket)
	if !ok || name == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte(state)); err != nil {
		_ = c.Close()
		return err
	}
	return c.Close()
}
