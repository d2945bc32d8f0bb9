// Package ext has the fields that editions of Traefik add to its configuration: none. The module of Traefik has it as a module beside it.
package ext

type HTTP struct{}

type Router struct{}
