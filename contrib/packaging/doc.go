// Command packaging makes what a release consists of, in one folder: archives for
// Linux, macOS and Windows, packages for Debian and Red Hat, a bill of materials
// for each binary, an image for containers, a Helm chart, a formula for Homebrew, the
// page as static files, and signed checksums of all files.
//
//	go run ./contrib/packaging -version 0.1.0
//
// One commit gives one set of bytes: times are that of the commit, names are sorted,
// owners and modes are fixed, and nothing of the machine gets into a file.
package main
