// Package clienttest tries the server with the clients that people use. It is a
// module of its own, so that the clients are no requirements of bloomery.
package clienttest
