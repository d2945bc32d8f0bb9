package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Builds with the Docker socket can put anything on the disk, also into the folder of notes. Therefore links are not followed, pipes do not block, and a
// note has a maximum size.
const (
	noteFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	maxNote   = 1 << 20
	maxEvents = 64 << 20
)

// noteFolder is the folder of notes as a file system of regular files and folders.
type noteFolder string

func (f noteFolder) Open(name string) (fs.File, error) {
	return openNote(filepath.Join(string(f), name), os.O_RDONLY)
}

// openNote opens a regular file or a folder.
func openNote(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|noteFlags, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// readTrimmed returns the text of a note, or an empty string.
func readTrimmed(path string) string {
	file, err := openNote(path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxNote))
	return strings.TrimSpace(string(text))
}

// write writes a note. It replaces whatever else has its name.
func write(name, text string) error { return writeNote(filepath.Join(notes, name), []byte(text)) }

func writeNote(path string, text []byte) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	file, err := openNote(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if failure := file.Close(); err == nil {
		err = failure
	}
	return err
}

// makeNotes creates the folder of notes and that of events.
func makeNotes() error {
	for _, folder := range []string{notes, filepath.Join(notes, "events")} {
		if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
			ignore(os.Remove(folder))
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}
