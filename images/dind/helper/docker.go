package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// docker is a client of the Docker API on a socket of this machine.
type docker struct{ http *http.Client }

func openDocker(socket string) docker {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return docker{&http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// awaitSocket waits until a process listens on the socket. `run` ends it if that process dies.
func awaitSocket(socket string) error {
	for {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			return connection.Close()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitDaemon waits until the daemon answers. It creates its socket long before, and a request waits there for the answer.
func awaitDaemon(socket string) (docker, error) {
	if err := awaitSocket(socket); err != nil {
		return docker{}, err
	}
	daemon := openDocker(socket)
	return daemon, daemon.do(context.Background(), "GET", "/_ping", nil, nil)
}

// refusal is an error that the daemon answered with.
type refusal struct {
	status  int
	message string
}

func (r refusal) Error() string { return r.message }

func isNotFound(err error) bool {
	var answer refusal
	return errors.As(err, &answer) && answer.status == http.StatusNotFound
}

// do sends a request without a body. `out` receives the JSON of the response, unless it is nil.
func (d docker) do(ctx context.Context, method, path string, query url.Values, out any) error {
	body, err := d.stream(ctx, method, path, query, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, body)
		return err
	}
	return json.NewDecoder(body).Decode(out)
}

// stream sends a request and returns the body of the response.
func (d docker) stream(ctx context.Context, method, path string, query url.Values, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://docker"+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/x-tar")
	}
	response, err := d.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 400 {
		return response.Body, nil
	}
	defer response.Body.Close()
	var answer struct{ Message string }
	text, _ := io.ReadAll(io.LimitReader(response.Body, 65_536))
	if json.Unmarshal(text, &answer) != nil || answer.Message == "" {
		answer.Message = fmt.Sprintf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return nil, refusal{response.StatusCode, answer.Message}
}

// loadImage loads a saved image.
func (d docker) loadImage(ctx context.Context, tar io.Reader) error {
	body, err := d.stream(ctx, "POST", "/images/load", url.Values{"quiet": {"1"}}, tar)
	if err != nil {
		return err
	}
	defer body.Close()
	for messages := json.NewDecoder(body); ; {
		var message struct{ Error string }
		if err := messages.Decode(&message); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if message.Error != "" {
			return errors.New(message.Error)
		}
	}
}

type image struct {
	ID       string `json:"Id"`
	RepoTags []string
	Created  int64
}

func (d docker) images(ctx context.Context, query url.Values) (list []image, err error) {
	return list, d.do(ctx, "GET", "/images/json", query, &list)
}

type volume struct {
	Name      string
	CreatedAt time.Time
}

func (d docker) volumes(ctx context.Context) ([]volume, error) {
	var answer struct{ Volumes []volume }
	err := d.do(ctx, "GET", "/volumes", nil, &answer)
	return answer.Volumes, err
}

// containers returns the ids of all containers, running or not.
func (d docker) containers(ctx context.Context) (ids []string, err error) {
	var list []struct{ Id string }
	err = d.do(ctx, "GET", "/containers/json", url.Values{"all": {"1"}}, &list)
	for _, each := range list {
		ids = append(ids, each.Id)
	}
	return ids, err
}

// A removal of one object, or of all of a kind that are not in use.
type removal struct {
	what, method, path string
	query              url.Values
}

func removeContainer(id string) removal {
	return removal{"container " + id, "DELETE", "/containers/" + id, url.Values{"force": {"1"}, "v": {"1"}}}
}

func removeImage(id string) removal {
	return removal{"image " + id, "DELETE", "/images/" + id, url.Values{"force": {"1"}}}
}

// removeImageOnly keeps the untagged parents of the image.
func removeImageOnly(id string) removal {
	return removal{"image " + id, "DELETE", "/images/" + id, url.Values{"force": {"1"}, "noprune": {"1"}}}
}

func removeVolume(name string) removal {
	return removal{"volume " + name, "DELETE", "/volumes/" + url.PathEscape(name), nil}
}

func pruneVolumes() removal {
	return removal{"unused volumes", "POST", "/volumes/prune", url.Values{"filters": {`{"all":["true"]}`}}}
}

func pruneNetworks() removal { return removal{"unused networks", "POST", "/networks/prune", nil} }

func pruneCache() removal {
	return removal{"build cache", "POST", "/build/prune", url.Values{"all": {"1"}}}
}

// shrinkCache keeps this many bytes of the build cache.
func shrinkCache(keepBytes string) removal {
	return removal{"build cache beyond " + keepBytes + " bytes", "POST", "/build/prune", url.Values{"keep-storage": {keepBytes}}}
}

func (d docker) remove(ctx context.Context, what removal) error {
	return d.do(ctx, what.method, what.path, what.query, nil)
}
