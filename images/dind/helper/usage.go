package main

import "syscall"

// usage is the use of the file system of the disk, as df counts it. A file system that does not count inodes has 0.
type usage struct {
	kbTotal, kbUsed, kbFree             uint64
	inodesTotal, inodesUsed, inodesFree uint64
}

func measure() (usage, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(root, &fs); err != nil {
		return usage{}, err
	}
	kb := func(blocks uint64) uint64 { return blocks * uint64(fs.Frsize) / 1024 }
	return usage{
		kbTotal: kb(fs.Blocks), kbUsed: kb(fs.Blocks - fs.Bfree), kbFree: kb(fs.Bavail),
		inodesTotal: fs.Files, inodesUsed: fs.Files - fs.Ffree, inodesFree: fs.Ffree,
	}, nil
}

func (u usage) disk() float64   { return share(u.kbUsed, u.kbFree) }
func (u usage) inodes() float64 { return share(u.inodesUsed, u.inodesFree) }

func (u usage) exceeds(disk, inodes float64) bool { return u.disk() > disk || u.inodes() > inodes }

func share(used, free uint64) float64 {
	if used+free == 0 {
		return 0
	}
	return float64(used) / float64(used+free)
}
