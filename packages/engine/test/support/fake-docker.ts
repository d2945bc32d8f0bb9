/** A Docker daemon in memory for unit tests. */
import { Readable } from 'node:stream'
import type { Docker } from '../../src/docker/docker.ts'

/** The tools image of fake daemons. */
export const IMAGE = { id: 'sha256:t', environment: [], workingDirectory: '', repoDigests: [], labels: {}, sizeBytes: 1 }

/** Returns a daemon with one image, whose containers print nothing and exit with 0. `answers` replaces calls. */
export function fakeDocker(answers: Readonly<Record<string, unknown>>): Docker {
  let containers = 0
  const all: Record<string, unknown> = {
    version: '29',
    api: '1.51',
    hasApi: () => true,
    inspectImage: async () => IMAGE,
    listContainers: async () => [],
    listNetworks: async () => [],
    listVolumes: async () => [],
    listUnusedVolumes: async () => [],
    createVolume: async (name: string) => ({ name, mountpoint: `/var/lib/docker/volumes/${name}/_data`, labels: {} }),
    createContainer: async () => `container-${++containers}`,
    inspectContainer: async () => ({ isRunning: true, exitCode: 0, oomKilled: false, error: '', memoryLimit: 0 }),
    attachContainer: async () => ({
      output: Readable.from([]),
      input: { end: () => undefined, write: () => true },
      close: () => undefined,
    }),
    watchExit: async () => ({ exited: Promise.resolve(0) }),
    ...answers,
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- calls without an answer return nothing
  return new Proxy({}, { get: (_, name) => all[String(name)] ?? (async () => undefined) }) as Docker
}
