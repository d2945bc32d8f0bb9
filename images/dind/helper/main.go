// Command dind-helper looks after the Docker daemon of one build and its disk. It asks the daemon over its socket and starts no process.
//
//	begin             records that this pod uses the disk; must run before the daemon
//	await SOCKET      waits until a process listens on the socket
//	needs-room        succeeds if the disk is too full for a build
//	make-room SOCKET  removes what earlier builds left, then loads the tools image; the daemon must be reachable only on this socket
//	without-hosts     copies a daemon.json from its input to its output, without the addresses
//	load              waits for the daemon and loads the tools image
//	ready             succeeds if the daemon answers and has the tools image
//	serve             measures the disk every 5 s, for the engine and for Prometheus on port 9100
//	clean SECONDS     cleans the disk when its daemon is asked to end
//	end               tells Kubernetes how much room is left
//
// make-room and load write the reason of their failure to reasonFile. The others only log it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

const (
	dockerSocket = "/var/run/docker.sock"
	runFolder    = "/run/windlass"
	// `run` passes it to Kubernetes.
	reasonFile = runFolder + "/reason"
	loadedFile = runFolder + "/tools-loaded"
)

var (
	root  = orDefault(os.Getenv("DOCKERD_DATA_ROOT"), "/var/lib/docker")
	notes = filepath.Join(root, "dind-volume")
	pod   = orDefault(os.Getenv("POD_NAME"), hostname())
)

func main() {
	command, argument := "", ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	if len(os.Args) > 2 {
		argument = os.Args[2]
	}
	var err error
	switch command {
	case "begin":
		err = begin(time.Now())
	case "await":
		err = awaitSocket(argument)
	case "needs-room":
		if !needsRoom() {
			os.Exit(1)
		}
	case "make-room":
		err = makeRoom(argument)
	case "without-hosts":
		err = withoutHosts(os.Stdin, os.Stdout)
	case "load":
		err = load()
	case "ready":
		err = ready()
	case "serve":
		serve()
	case "clean":
		err = clean(argument)
	case "end":
		err = end()
	default:
		err = fmt.Errorf("unknown command %q", command)
	}
	if err != nil {
		note("%s: %v", command, err)
		os.Exit(1)
	}
}

func note(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05Z"), fmt.Sprintf(format, values...))
}

// giveReason writes the reason for `run` and returns it as an error.
func giveReason(format string, values ...any) error {
	err := fmt.Errorf(format, values...)
	if failure := os.WriteFile(reasonFile, []byte(err.Error()), 0o644); failure != nil {
		note("the reason cannot be written: %v", failure)
	}
	return err
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func hostname() string {
	name, _ := os.Hostname()
	return name
}

var off = regexp.MustCompile(`^(?i:false|0|no|off)$`)

// isOn reports whether a variable is set, and not to false, 0, no or off.
func isOn(name string) bool {
	value := os.Getenv(name)
	return value != "" && !off.MatchString(value)
}

func isOff(name string) bool { return off.MatchString(os.Getenv(name)) }
