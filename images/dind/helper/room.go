package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

const (
	// A disk that is fuller than this at the beginning of a build would fail it.
	full = 0.97
	// Cleaning stops when less than this is used: the default threshold of the cleaner during builds.
	roomy = 0.9
	// Time to make room, and then again to load the tools image.
	roomTime = 2 * time.Minute
)

// needsRoom reports whether the disk is too full for a build, or for the tools image that it lacks.
func needsRoom() bool {
	now, err := measure()
	if err != nil {
		note("needs-room: %v", err)
		return false
	}
	return now.exceeds(full, full) || (!hasTools() && !fitsTools(now))
}

// makeRoom removes containers, images, build cache and volumes of earlier builds, the least recently used first, until the disk is roomy. Then it
// loads the tools image. Nothing on the disk is in use: the daemon has only this socket, of which no engine knows.
func makeRoom(socket string) error {
	daemon, err := awaitDaemon(socket)
	if err != nil {
		return giveReason("the Docker daemon does not answer while room is made on its disk: %v", err)
	}
	note("make-room: the disk is too full for a build")
	ctx, cancel := context.WithTimeout(context.Background(), roomTime)
	defer cancel()
	until := time.Now().Add(roomTime)
	cleaner := &cleaner{daemon: daemon, timeout: func() time.Duration { return max(time.Until(until), leastTime) }}
	cleaner.makeRoom(ctx)
	setStamp("pruned")
	now, _ := measure()
	note("make-room: %d removals; %d of %d MiB are free", cleaner.removed.Load(), now.kbFree/1024, now.kbTotal/1024)
	// The engine waits for a daemon meanwhile. After a slow load, `load` tries again and the engine can pull the image.
	if err := loadTools(daemon, roomTime); !errors.Is(err, errSlow) {
		return err
	}
	note("make-room: %v", errSlow)
	return nil
}

func (c *cleaner) makeRoom(ctx context.Context) {
	c.removeContainers(ctx)
	for _, removals := range []func(context.Context) []removal{c.oldImages, justCache, c.oldVolumes} {
		list := removals(ctx)
		// An image with children can be removed only after them.
		for progress := true; progress; {
			progress = false
			for n, each := range list {
				if isRoomy() || ctx.Err() != nil {
					return
				}
				if each.what != "" && c.remove(each) {
					list[n], progress = removal{}, true
				}
			}
		}
	}
}

func isRoomy() bool {
	now, err := measure()
	return err == nil && !now.exceeds(roomy, roomy) && (hasTools() || fitsTools(now))
}

func justCache(context.Context) []removal { return []removal{pruneCache()} }

// oldImages returns the removals of all images but the tools image, the least recently used first.
func (c *cleaner) oldImages(ctx context.Context) []removal {
	uses := readUses(noteFolder(notes))
	images, err := c.daemon.images(ctx, nil)
	if err != nil {
		note("the images cannot be listed: %v", err)
	}
	sortByUse(images, func(each image) int64 { return uses.ofImage(each) })
	removals := []removal{}
	for _, each := range images {
		if each.ID != readTrimmed(toolsId) {
			removals = append(removals, removeImage(each.ID))
		}
	}
	return removals
}

// oldVolumes returns the removals of all volumes, the least recently used first.
func (c *cleaner) oldVolumes(ctx context.Context) []removal {
	uses := readUses(noteFolder(notes))
	volumes, err := c.daemon.volumes(ctx)
	if err != nil {
		note("the volumes cannot be listed: %v", err)
	}
	sortByUse(volumes, func(each volume) int64 { return uses.ofVolume(each) })
	removals := []removal{}
	for _, each := range volumes {
		removals = append(removals, removeVolume(each.Name))
	}
	return removals
}

// withoutHosts copies the settings of a daemon without the addresses on which it listens.
func withoutHosts(from io.Reader, to io.Writer) error {
	var settings map[string]json.RawMessage
	if err := json.NewDecoder(from).Decode(&settings); err != nil {
		return err
	}
	delete(settings, "hosts")
	return json.NewEncoder(to).Encode(settings)
}
