//go:build linux

package main

// Network namespaces: each node has one, with a loopback interface for its clients
// and an interface whose packets go through this program.

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// room is the network namespace of a node. It has no name, so it ends with the last
// process that is in it.
type room struct {
	space *os.File // the namespace
	tun   *os.File // where packets for other nodes come out
}

// roomAddr is the address of a node among the others. Nodes count from 0.
func roomAddr(i int) net.IP { return net.IPv4(10, 213, 0, byte(i+1)).To4() }

const roomMTU = 16000 // few packets: each costs a copy in this process

// newRoom makes a namespace for a node.
func newRoom(i int) (r *room, err error) {
	r = &room{}
	err = apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if r.space, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		if err := raise("lo", nil); err != nil {
			return err
		}
		return r.attach(i)
	})
	return r, err
}

// attach makes the interface to the other nodes.
func (r *room) attach(i int) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq("peers")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("tun: %w", err)
	}
	r.tun = os.NewFile(uintptr(fd), "tun")
	return raise("peers", roomAddr(i))
}

// raise gives an interface of this thread's namespace an address and sets it up.
func raise(name string, addr net.IP) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	set := func(code uint, fill func(*unix.Ifreq) error) error {
		request, err := unix.NewIfreq(name)
		if err == nil {
			err = fill(request)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, code, request)
		}
		if err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
		return nil
	}
	if addr != nil {
		if err := set(unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(addr) }); err != nil {
			return err
		}
		if err := set(unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 0}) }); err != nil {
			return err
		}
		if err := set(unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(roomMTU); return nil }); err != nil {
			return err
		}
	}
	return set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })
}

// within runs f in the namespace of a node: what it opens and starts belongs there.
func (r *room) within(f func() error) error {
	if r == nil {
		return f()
	}
	return apart(func() error {
		if err := unix.Setns(int(r.space.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return f()
	})
}

// apart runs f on a thread whose namespace may be changed, and puts it back.
func apart(f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = home.Close() }()
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return back // the thread stays locked, and ends with the goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// dial connects to an address of the node's machine.
func (r *room) dial(ctx context.Context, addr string) (nc net.Conn, err error) {
	err = r.within(func() error {
		nc, err = (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp4", addr)
		return err
	})
	return nc, err
}
