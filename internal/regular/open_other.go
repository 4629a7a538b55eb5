//go:build !unix

package regular

// atOnce is nothing: this system has no named pipes among its files.
const atOnce = 0
