package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	listTime  = 2 * time.Second
	leastTime = time.Second
	// Events that are older are of no use to the cleaner.
	eventsAge = 10 * 24 * time.Hour
	// Images that were only used to export files.
	carrierLabel = `{"label":["io.codefresh.operationName=Exporting volume data"]}`
)

// cleaner removes objects of a daemon. A dry run only logs them.
type cleaner struct {
	daemon  docker
	timeout func() time.Duration
	removed atomic.Int64
}

// clean cleans the disk when its daemon is asked to end. After `seconds` it stops and leaves the rest to the next build.
//
// It always records what was used, and removes containers, images that only carried files, and networks. The engine has decided what else to remove:
// `to-remove` lists it in order, as `volume NAME`, `image ID` and `cache BYTES`. If the disk is still too full after that, everything goes.
func clean(seconds string) error {
	budget, err := strconv.ParseFloat(orDefault(seconds, "4"), 64)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(time.Duration(budget * float64(time.Second)))
	left := func() time.Duration { return time.Until(deadline) }
	// The lock ends with this process.
	lock, err := openNote(filepath.Join(notes, ".clean.lock"), os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		note("clean: another cleaner is at work")
		return nil
	}
	c := &cleaner{daemon: openDocker(dockerSocket), timeout: func() time.Duration { return max(left(), leastTime) }}
	c.record()
	if isOff("CLEAN_DOCKER") {
		note("clean: CLEAN_DOCKER is off")
		return nil
	}
	c.removeLeftovers()
	if !hasContent("to-remove") {
		note("clean: nothing else is due")
		return nil
	}
	list, rest := filepath.Join(notes, "to-remove"), filepath.Join(notes, "left-over")
	if !c.removeListed(list, left) {
		note("clean: stopped after %d removals because the time is over; the next build continues", c.removed.Load())
		return os.Rename(list, rest)
	}
	_, _ = os.Remove(list), os.Remove(rest)
	setStamp("cleaned")
	note("clean: cleaned with %d removals", c.removed.Load())
	c.purge(left)
	return nil
}

// record stores what was used. The engine writes its own record at the end of a build, which is longer than what the daemon remembers.
func (c *cleaner) record() {
	ignore(write("last_used", fmt.Sprintf("%d\n", time.Now().Unix())))
	folder := filepath.Join(notes, "events")
	ignore(os.MkdirAll(folder, 0o755))
	files, _ := os.ReadDir(folder)
	users, _ := os.Stat(filepath.Join(notes, "pods"))
	isRecorded := false
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			continue
		}
		isRecorded = isRecorded || users == nil || info.ModTime().After(users.ModTime())
		if time.Since(info.ModTime()) > eventsAge {
			ignore(os.Remove(filepath.Join(folder, file.Name())))
		}
	}
	if !isRecorded {
		ignore(c.recordEvents(folder))
	}
}

func (c *cleaner) recordEvents(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	now := fmt.Sprint(time.Now().Unix())
	events, err := c.daemon.stream(ctx, "GET", "/events", url.Values{"since": {fmt.Sprint(beganAt())}, "until": {now}}, nil)
	if err != nil {
		return err
	}
	defer events.Close()
	text, err := io.ReadAll(events)
	if err != nil {
		return err
	}
	return writeNote(filepath.Join(folder, now), text)
}

func (c *cleaner) removeLeftovers() {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	containers := c.removeContainers(ctx)
	carriers, err := c.daemon.images(ctx, url.Values{"filters": {carrierLabel}})
	if err != nil {
		note("clean: the images cannot be listed: %v", err)
	}
	images := 0
	for _, each := range carriers {
		if c.remove(removeImage(each.ID)) {
			images++
		}
	}
	c.remove(pruneNetworks())
	note("clean: removed %d containers and %d images that carried files", containers, images)
}

// removeContainers removes all containers. Returns how many the daemon removed.
func (c *cleaner) removeContainers(ctx context.Context) int {
	containers, err := c.daemon.containers(ctx)
	if err != nil {
		note("clean: the containers cannot be listed: %v", err)
	}
	// Each takes as long as its processes need to end.
	var all sync.WaitGroup
	var removed atomic.Int64
	for _, id := range containers {
		all.Add(1)
		go func() {
			defer all.Done()
			if c.remove(removeContainer(id)) {
				removed.Add(1)
			}
		}()
	}
	all.Wait()
	return int(removed.Load())
}

// removeListed removes what the list of the engine names. Returns false if the time was over first.
func (c *cleaner) removeListed(path string, left func() time.Duration) bool {
	file, err := openNote(path, os.O_RDONLY)
	if err != nil {
		return true
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for left() > 0 && lines.Scan() {
		kind, name, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "volume":
			c.remove(removeVolume(name))
		case "image":
			c.remove(removeImageOnly(name))
		case "cache":
			c.remove(shrinkCache(name))
		}
	}
	return left() > 0
}

// purge removes everything but the tools image from a disk that is still too full.
func (c *cleaner) purge(left func() time.Duration) {
	now, err := measure()
	if err != nil || !now.exceeds(fraction("DISK_USAGE_THRESHOLD"), fraction("INODES_USAGE_THRESHOLD")) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout())
	defer cancel()
	for _, each := range c.oldImages(ctx) {
		c.remove(each)
	}
	c.remove(pruneCache())
	c.remove(pruneVolumes())
	if left() > 0 && !isOn("CLEANER_DRY_RUN") {
		setStamp("pruned")
		note("clean: still too full: removed everything that is not in use")
	}
}

// fraction returns a threshold of the cleaner, 0.8 unless it is set.
func fraction(name string) float64 {
	value, err := strconv.ParseFloat(os.Getenv(name), 64)
	// Also false for NaN, which no use of a disk exceeds.
	if isShare := value >= 0 && value <= 1; err != nil || !isShare {
		return 0.8
	}
	return value
}

// remove returns true if the daemon removed it. A refusal, for example of an image with children, is not an error.
func (c *cleaner) remove(what removal) bool {
	if isOn("CLEANER_DRY_RUN") {
		note("clean: dry run: would remove %s", what.what)
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout())
	defer cancel()
	if c.daemon.remove(ctx, what) != nil {
		return false
	}
	c.removed.Add(1)
	return true
}
