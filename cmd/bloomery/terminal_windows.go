// Terminals of Windows: size and single keys.

package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// isTerminal reports whether somebody sits at a stream.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	if !ok {
		return false
	}
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// terminalSize returns how many characters fit in a line, and how many lines on the
// screen: 80 and 24 if nobody knows.
func terminalSize(stream any) (width, height int) {
	var info windows.ConsoleScreenBufferInfo
	if f, ok := fileOf(stream); ok && windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) == nil {
		return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
	}
	return defaultWidth, defaultHeight
}

// rawTerminal makes a terminal pass on every key as it is pressed, Ctrl-C too, and
// show none, and makes standard output obey sequences. It returns what undoes that.
func rawTerminal(stream any) (restore func(), err error) {
	f, ok := fileOf(stream)
	if !ok {
		return func() {}, nil
	}
	in, out := windows.Handle(f.Fd()), windows.Handle(os.Stdout.Fd())
	var inMode, outMode uint32
	if err := windows.GetConsoleMode(in, &inMode); err != nil {
		return nil, err
	}
	if err := windows.GetConsoleMode(out, &outMode); err != nil {
		return nil, err
	}
	const lines = windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(in, inMode&^lines); err != nil {
		return nil, err
	}
	undo := func() {
		_ = windows.SetConsoleMode(in, inMode)
		_ = windows.SetConsoleMode(out, outMode)
	}
	if err := windows.SetConsoleMode(out, outMode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// resizes returns a channel that reports nothing here: the next interval shows the
// new size.
func resizes() (resized <-chan os.Signal, forget func()) { return nil, func() {} }
