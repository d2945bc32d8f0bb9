package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

const (
	measureEvery = 5 * time.Second
	metricsPort  = ":9100"
)

// serve publishes the facts of the disk every 5 s, for the engine and for Prometheus, until it is killed.
func serve() {
	var page atomic.Pointer[string]
	daemon := openDocker(dockerSocket)
	server := http.Server{
		Addr:         metricsPort,
		ReadTimeout:  2 * time.Second,
		WriteTimeout: 2 * time.Second,
		Handler: http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Content-Type", "text/plain; version=0.0.4")
			if text := page.Load(); text != nil {
				fmt.Fprint(response, *text)
			}
		}),
	}
	go func() {
		// The engine needs the facts even if another container of the pod uses the port.
		note("serve: no metrics are published: %v", server.ListenAndServe())
	}()
	for ; ; time.Sleep(measureEvery) {
		now, err := measure()
		if err != nil {
			note("serve: the disk cannot be measured: %v", err)
			continue
		}
		if err := writeFacts(now); err != nil {
			note("serve: the facts of the disk cannot be written: %v", err)
		}
		text := metrics(now, ping(daemon) == nil)
		page.Store(&text)
	}
}

// metrics returns the metrics in the text format of Prometheus.
func metrics(now usage, isUp bool) string {
	var page strings.Builder
	labels := fmt.Sprintf("{dind_pod_name=%q,data_root_path=%q}", pod, root)
	gauge := func(name string, value any) {
		fmt.Fprintf(&page, "# TYPE %s gauge\n%s%s %v\n", name, name, labels, value)
	}
	up, containers := 0, 0
	if isUp {
		// The daemon has a folder for each container.
		folders, _ := os.ReadDir(filepath.Join(root, "containers"))
		up, containers = 1, len(folders)
	}
	gauge("docker_up", up)
	gauge("docker_containers_count", containers)
	gauge("docker_volume_kb_total", now.kbTotal)
	gauge("docker_volume_kb_available", now.kbFree)
	gauge("docker_volume_kb_usage", now.disk())
	gauge("docker_volume_inodes_total", now.inodesTotal)
	gauge("docker_volume_inodes_available", now.inodesFree)
	gauge("docker_volume_inodes_usage", now.inodes())
	gauge("docker_volume_last_cleaned_ts", stamp("last_cleaned_ts"))
	gauge("docker_volume_last_pruned_ts", stamp("last_pruned_ts"))
	for _, what := range []string{"containers", "volumes", "images", "purges"} {
		gauge("docker_volume_cleaner_agent_actions_"+what, stamp("cleaner_agent_actions_"+what))
	}
	return page.String()
}
