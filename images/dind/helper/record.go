package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The target of a link needs a block, and a full disk has none; up to 59 characters are stored in the inode of the link itself.
const factsOfFullDisk = "kb_total=1/kb_used=1/kb_free=0"

// Settings of the cleaner, which the engine reads from the facts.
var variables = []string{
	"CLEAN_DOCKER", "CLEAN_PERIOD_SECONDS", "CLEAN_PERIOD_BUILDS", "IMAGE_RETAIN_PERIOD", "VOLUMES_RETAIN_PERIOD", "DISK_USAGE_THRESHOLD",
	"INODES_USAGE_THRESHOLD", "CLEANER_AGENT_DISK_USAGE_THRESHOLD", "CLEANER_AGENT_INODES_USAGE_THRESHOLD", "BUILD_CACHE_SHARE",
	"CLEANER_DRY_RUN", "DISABLE_CLEANER_AGENT",
}

// begin records that this pod uses the disk.
func begin(now time.Time) error {
	// A full disk may have no room for any of it; the build may run nevertheless.
	seconds := fmt.Sprintf("%d\n", now.Unix())
	ignore(makeNotes())
	if stamp("created") == "0" {
		ignore(write("created", seconds))
	}
	ignore(write("last_used", seconds))
	// Only the latest uses of a disk matter, which may be in use for years.
	users := append(readUsers(), pod+" "+strings.TrimSpace(seconds))
	if len(users) > 1000 {
		users = users[len(users)-500:]
	}
	ignore(replace("pods", strings.Join(users, "\n")+"\n"))
	if stamp("last_cleaned_ts") == "0" {
		ignore(write("last_cleaned_ts", seconds))
		ignore(write("last_cleaned_pod", pod+"\n"))
	}
	removeEmptyVolumes()
	// The previous build had no time for it, or was killed.
	if hasContent("to-remove") {
		ignore(os.Rename(filepath.Join(notes, "to-remove"), filepath.Join(notes, "left-over")))
	}
	use, err := measure()
	if err != nil {
		return err
	}
	return writeFacts(use)
}

// removeEmptyVolumes removes folders of volumes for whose data a full disk had no room. The daemon would take the folder for the whole volume.
func removeEmptyVolumes() {
	volumes, _ := os.ReadDir(filepath.Join(root, "volumes"))
	for _, volume := range volumes {
		if volume.IsDir() {
			// Fails for a folder with content.
			_ = os.Remove(filepath.Join(root, "volumes", volume.Name()))
		}
	}
}

// end reports the free space to Kubernetes unless WRITE_TERMINATION_MESSAGE is false.
func end() error {
	if os.Getenv("WRITE_TERMINATION_MESSAGE") == "false" {
		return nil
	}
	now, err := measure()
	if err != nil {
		return err
	}
	log, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = fmt.Fprintf(log, `{"availableDiskSpaceKb": %d}`, now.kbFree)
	return err
}

// writeFacts publishes the facts as the target of a link: the engine can read that through the Docker API in 2 ms, and a file in 40. They have the
// form of a path, because the daemon follows links.
func writeFacts(now usage) error {
	facts := fmt.Sprintf("kb_total=%d/kb_used=%d/kb_free=%d/inodes_used=%d/inodes_free=%d/pod=%s/cleaned_at=%s/builds_since=%d",
		now.kbTotal, now.kbUsed, now.kbFree, now.inodesUsed, now.inodesFree, pod, stamp("last_cleaned_ts"), buildsSinceClean())
	if hasContent("left-over") {
		facts += "/left_over=1"
	}
	for _, name := range variables {
		if value := os.Getenv(name); value != "" && !strings.Contains(value, "/") {
			facts += "/" + name + "=" + first(value, 100)
		}
	}
	fresh := filepath.Join(notes, "facts.new")
	_ = os.Remove(fresh)
	if os.Symlink(first(facts, 4000), fresh) != nil {
		if err := os.Symlink(factsOfFullDisk, fresh); err != nil {
			return err
		}
	}
	return os.Rename(fresh, filepath.Join(notes, "facts"))
}

// readUsers returns a line `POD SECONDS` for each use of the disk.
func readUsers() []string {
	text := readTrimmed(filepath.Join(notes, "pods"))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// buildsSinceClean counts the uses of the disk after the pod that cleaned it.
func buildsSinceClean() int {
	cleaner := readTrimmed(filepath.Join(notes, "last_cleaned_pod"))
	users := readUsers()
	for n := len(users) - 1; n >= 0; n-- {
		if name, _, _ := strings.Cut(users[n], " "); name == cleaner {
			return len(users) - 1 - n
		}
	}
	return len(users)
}

// beganAt returns when this pod began to use the disk; epoch seconds, 0 if unknown.
func beganAt() int64 {
	at := int64(0)
	for _, user := range readUsers() {
		if name, seconds, _ := strings.Cut(user, " "); name == pod {
			at, _ = strconv.ParseInt(seconds, 10, 64)
		}
	}
	return at
}

// stamp returns a number that is kept on the disk, "0" if there is none.
func stamp(name string) string { return orDefault(readTrimmed(filepath.Join(notes, name)), "0") }

// setStamp records that this pod did something.
func setStamp(name string) {
	if isOn("CLEANER_DRY_RUN") {
		return
	}
	ignore(write("last_"+name+"_ts", fmt.Sprintf("%d\n", time.Now().Unix())))
	ignore(write("last_"+name+"_pod", pod+"\n"))
}

// replace writes a file as a whole, or leaves the previous one.
func replace(name, text string) error {
	if err := write(name+".new", text); err != nil {
		return err
	}
	return os.Rename(filepath.Join(notes, name+".new"), filepath.Join(notes, name))
}

func hasContent(name string) bool {
	info, err := os.Stat(filepath.Join(notes, name))
	return err == nil && info.Size() > 0
}

func first(text string, bytes int) string { return text[:min(len(text), bytes)] }

func ignore(err error) {
	if err != nil {
		note("the record of the disk is incomplete: %v", err)
	}
}
