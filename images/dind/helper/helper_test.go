package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestSplitTag(t *testing.T) {
	for name, want := range map[string][2]string{
		"alpine":                       {"alpine", "latest"},
		"alpine:3.22":                  {"alpine", "3.22"},
		"localhost:5000/windlass/dind": {"localhost:5000/windlass/dind", "latest"},
		"localhost:5000/tools:1.2":     {"localhost:5000/tools", "1.2"},
	} {
		if repository, tag := splitTag(name); repository != want[0] || tag != want[1] {
			t.Errorf("splitTag(%q) = %q, %q", name, repository, tag)
		}
	}
}

func TestFraction(t *testing.T) {
	for text, want := range map[string]float64{"": 0.8, "0.5": 0.5, "0": 0, "1": 1, "1.1": 0.8, "-0.1": 0.8, "NaN": 0.8, "80%": 0.8} {
		t.Setenv("THRESHOLD", text)
		if got := fraction("THRESHOLD"); got != want {
			t.Errorf("fraction of %q = %v, not %v", text, got, want)
		}
	}
}

func TestUsageExceeds(t *testing.T) {
	for _, each := range []struct {
		now  usage
		want bool
	}{
		{usage{kbUsed: 90, kbFree: 10}, false},
		{usage{kbUsed: 91, kbFree: 9}, true},
		{usage{kbUsed: 1, kbFree: 9, inodesUsed: 91, inodesFree: 9}, true},
		// A file system that does not count inodes, and one without blocks.
		{usage{kbUsed: 1, kbFree: 9}, false},
		{usage{}, false},
	} {
		if got := each.now.exceeds(0.9, 0.9); got != each.want {
			t.Errorf("%+v exceeds 0.9: %v", each.now, got)
		}
	}
}

func TestShortName(t *testing.T) {
	for _, name := range []string{"alpine", "alpine:latest", "library/alpine", "docker.io/library/alpine:latest"} {
		if got := shortName(name); got != "alpine" {
			t.Errorf("shortName(%q) = %q", name, got)
		}
	}
	for _, name := range []string{"alpine:3.22", "quay.io/library/alpine", "team/alpine"} {
		if got := shortName(name); got != name {
			t.Errorf("shortName(%q) = %q", name, got)
		}
	}
}

func TestReadUses(t *testing.T) {
	lines := strings.Join([]string{
		`{"Type":"container","Action":"create","Actor":{"ID":"c","Attributes":{"image":"docker.io/library/alpine:latest"}},"time":20}`,
		`{"Type":"container","Action":"create","Actor":{"ID":"c","Attributes":{"image":"alpine"}},"time":10}`,
		`{"Type":"image","Action":"pull","Actor":{"ID":"sha256:1","Attributes":{"name":"node:24"}},"time":30}`,
		`{"Type":"image","Action":"delete","Actor":{"ID":"sha256:2","Attributes":{"name":"gone"}},"time":40}`,
		`{"Type":"volume","Action":"mount","Actor":{"ID":"cache"},"time":50}`,
		`not JSON`,
	}, "\n")
	uses := readUses(fstest.MapFS{"events/1": {Data: []byte(lines)}, "events/2": {}})
	for _, each := range []struct {
		what      string
		got, want int64
	}{
		{"an image by another spelling of its name", uses.ofImage(image{RepoTags: []string{"alpine:latest"}, Created: 90}), 20},
		{"an image by its id", uses.ofImage(image{ID: "sha256:1"}), 30},
		{"a removed image", uses.ofImage(image{ID: "sha256:2", RepoTags: []string{"gone"}}), 0},
		{"an image without a record", uses.ofImage(image{ID: "sha256:3", Created: 5}), 5},
		{"a volume", uses.ofVolume(volume{Name: "cache"}), 50},
		{"a volume that was created after its use", uses.ofVolume(volume{Name: "cache", CreatedAt: time.Unix(60, 0)}), 60},
	} {
		if each.got != each.want {
			t.Errorf("%s: %d, not %d", each.what, each.got, each.want)
		}
	}
}

func TestSortByUse(t *testing.T) {
	images := []image{{ID: "late", Created: 3}, {ID: "early", Created: 1}, {ID: "middle", Created: 2}}
	sortByUse(images, func(each image) int64 { return each.Created })
	if got := images[0].ID + images[1].ID + images[2].ID; got != "earlymiddlelate" {
		t.Errorf("the order is %s", got)
	}
}

func TestBuildsSinceClean(t *testing.T) {
	for _, each := range []struct {
		cleaner, pods string
		want          int
	}{
		{"b", "a 1\nb 2\nc 3\nd 4\n", 2},
		{"b", "b 1\na 2\nb 3\nc 4\n", 1},
		{"d", "a 1\nd 2\n", 0},
		{"unknown", "a 1\nb 2\n", 2},
		{"", "", 0},
	} {
		notes = t.TempDir()
		for name, text := range map[string]string{"last_cleaned_pod": each.cleaner, "pods": each.pods} {
			if err := os.WriteFile(filepath.Join(notes, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := buildsSinceClean(); got != each.want {
			t.Errorf("%d builds since %q in %q, not %d", got, each.cleaner, each.pods, each.want)
		}
	}
}

func TestBeginKeepsTheTimeOfItsFirstUse(t *testing.T) {
	root = t.TempDir()
	notes = filepath.Join(root, "dind-volume")
	for _, seconds := range []int64{100, 200} {
		if err := begin(time.Unix(seconds, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"created": "100", "last_used": "200", "last_cleaned_ts": "100"} {
		if got := stamp(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
	if got := beganAt(); got != 200 {
		t.Errorf("the pod began at %d", got)
	}
}

func TestWithoutHosts(t *testing.T) {
	var to bytes.Buffer
	if err := withoutHosts(strings.NewReader(`{"hosts":["tcp://0.0.0.0:1300"],"bip":"10.0.0.1/24","debug":true}`), &to); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(to.String()); got != `{"bip":"10.0.0.1/24","debug":true}` {
		t.Errorf("the settings are %s", got)
	}
	if withoutHosts(strings.NewReader(`[]`), &to) == nil {
		t.Error("a list is accepted as settings")
	}
}

func TestLoadFailure(t *testing.T) {
	before := usage{kbTotal: 2048 * 1024, kbFree: 100 * 1024, inodesFree: 7}
	full := loadFailure(before, errors.New("write /x: no space left on device"))
	if !strings.HasPrefix(full, diskFull+": ") || !strings.Contains(full, "which has 2048 MiB, of which 100 MiB and 7 inodes were free") {
		t.Errorf("a full disk: %s", full)
	}
	if got := loadFailure(before, errors.New("refused")); got != "the tools image cannot be loaded: refused" {
		t.Errorf("another failure: %s", got)
	}
}
