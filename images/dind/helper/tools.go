package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The saved tools image, its id and its name.
const (
	toolsTar = "/usr/share/windlass/tools.tar"
	toolsId  = "/usr/share/windlass/tools.id"
	toolsRef = "/usr/share/windlass/tools.ref"
)

const (
	// Longer than an engine waits before it pulls the image (WINDLASS_ENGINE_TOOLS_WAIT_MS): the pull may fail.
	loadTime = 10 * time.Minute
	// Room for the records of the daemon beside the tools image.
	spareKb = 16 * 1024
	// More than the files of the tools image.
	toolsInodes = 10_000
	// Start of the reasons that the agent reads as a full disk.
	diskFull = "No space left on device"
)

var errSlow = errors.New("the tools image was not loaded in time")

// hasTools reports whether the tools image is on the disk, without a daemon.
func hasTools() bool {
	id := strings.TrimPrefix(readTrimmed(toolsId), "sha256:")
	found, _ := filepath.Glob(filepath.Join(root, "image", "*", "imagedb", "content", "sha256", id))
	return len(found) > 0
}

// toolsKb returns the room that it takes to load the tools image: the daemon unpacks the file beside the layers that it makes of it.
func toolsKb() uint64 {
	info, err := os.Stat(toolsTar)
	if err != nil {
		return 0
	}
	return 2*uint64(info.Size())/1024 + spareKb
}

func fitsTools(now usage) bool {
	return now.kbFree >= toolsKb() && (now.inodesTotal == 0 || now.inodesFree >= toolsInodes)
}

// load loads the tools image and marks it as loaded. The daemon serves the engine meanwhile, which waits for the image and then pulls it. A load that
// takes too long is not an error, because the pull may be faster.
func load() error {
	daemon, err := awaitDaemon(dockerSocket)
	if err != nil {
		return giveReason("the Docker daemon does not answer: %v", err)
	}
	if err := loadTools(daemon, loadTime); err != nil {
		if !errors.Is(err, errSlow) {
			return err
		}
		note("load: %v", err)
		return nil
	}
	return os.WriteFile(loadedFile, nil, 0o644)
}

// loadTools loads the tools image unless the daemon has it. Returns errSlow after the time limit.
func loadTools(daemon docker, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	id, name := readTrimmed(toolsId), readTrimmed(toolsRef)
	err := daemon.do(ctx, "GET", "/images/"+id+"/json", nil, nil)
	if err == nil {
		repository, tag := splitTag(name)
		if err := daemon.do(ctx, "POST", "/images/"+id+"/tag", url.Values{"repo": {repository}, "tag": {tag}}, nil); err != nil {
			return giveReason("the tools image cannot be tagged: %v", err)
		}
		return nil
	}
	if !isNotFound(err) {
		return giveReason("the Docker daemon cannot be asked for the tools image: %v", err)
	}
	before, _ := measure()
	tar, err := os.Open(toolsTar)
	if err != nil {
		return giveReason("the tools image cannot be read: %v", err)
	}
	defer tar.Close()
	if err := daemon.loadImage(ctx, tar); err != nil {
		if ctx.Err() != nil {
			return errSlow
		}
		return giveReason("%s", loadFailure(before, err))
	}
	return nil
}

// loadFailure describes why the tools image cannot be loaded. Its start tells the agent that the disk is full.
func loadFailure(before usage, err error) string {
	if !strings.Contains(err.Error(), "no space left on device") {
		return fmt.Sprintf("the tools image cannot be loaded: %v", err)
	}
	return fmt.Sprintf(diskFull+": the tools image needs %d MiB on the disk of the build, which has %d MiB, of which %d MiB "+
		"and %d inodes were free before the load. Increase the size of the disk (volumeSize). "+
		"The Docker daemon reports: %v", toolsKb()/1024, before.kbTotal/1024, before.kbFree/1024, before.inodesFree, err)
}

// ready fails until the tools image is loaded and the daemon answers.
func ready() error {
	if _, err := os.Stat(loadedFile); err != nil {
		return fmt.Errorf("the tools image is not loaded")
	}
	return ping(openDocker(dockerSocket))
}

func ping(daemon docker) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return daemon.do(ctx, "GET", "/_ping", nil, nil)
}

func splitTag(name string) (repository, tag string) {
	colon := strings.LastIndex(name, ":")
	if colon < strings.LastIndex(name, "/") || colon < 0 {
		return name, "latest"
	}
	return name[:colon], name[colon+1:]
}
