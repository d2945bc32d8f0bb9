package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// uses are the last uses of images, by id and name, and of volumes. Epoch seconds.
type uses struct{ images, volumes map[string]int64 }

// Actions of events that count as uses. A test of packages/volumes/src/clean/history.ts compares them with its own.
var useActions = []string{"create", "mount", "pull", "tag", "load", "import"}

// readUses reads the events that the engines of earlier builds recorded in the folder `events`.
func readUses(folder fs.FS) uses {
	found := uses{map[string]int64{}, map[string]int64{}}
	files, _ := fs.Glob(folder, "events/*")
	for _, name := range files {
		if file, err := folder.Open(name); err == nil {
			lines := bufio.NewScanner(io.LimitReader(file, maxEvents))
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				found.add(lines.Bytes())
			}
			file.Close()
		}
	}
	return found
}

func (u uses) add(line []byte) {
	var event struct {
		Type, Action string
		Actor        struct {
			ID         string
			Attributes map[string]string
		}
		Time int64 `json:"time"`
	}
	if json.Unmarshal(line, &event) != nil || !slices.Contains(useActions, event.Action) {
		return
	}
	last := func(uses map[string]int64, name string) { uses[name] = max(uses[name], event.Time) }
	switch event.Type {
	case "volume":
		last(u.volumes, event.Actor.ID)
	case "container":
		last(u.images, shortName(event.Actor.Attributes["image"]))
	case "image":
		last(u.images, event.Actor.ID)
		last(u.images, shortName(event.Actor.Attributes["name"]))
	}
}

// ofImage returns the last recorded use. The time at which an image was made says nothing about its use, but orders those without a record.
func (u uses) ofImage(each image) int64 {
	last := u.images[each.ID]
	for _, name := range each.RepoTags {
		last = max(last, u.images[shortName(name)])
	}
	if last == 0 {
		last = each.Created
	}
	return last
}

func (u uses) ofVolume(each volume) int64 { return max(u.volumes[each.Name], each.CreatedAt.Unix()) }

// shortName returns the one spelling of names such as `alpine`, `docker.io/library/alpine` and `alpine:latest`.
func shortName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/"), ":latest")
}

func sortByUse[T any](list []T, lastUse func(T) int64) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(lastUse(a), lastUse(b)) })
}
