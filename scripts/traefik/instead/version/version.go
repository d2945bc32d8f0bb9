// Package version has the version of Traefik, without the search for later ones.
package version

var Version = "dev"
