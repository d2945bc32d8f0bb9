/** Calls for the disk cleaner: all objects of a daemon, their use, and events. */
import { z } from 'zod'
import { ignoring } from './containers.ts'
import type { DockerHttp } from './http.ts'

export interface HeldContainer {
  readonly id: string
  readonly isRunning: boolean
  readonly exited: boolean
  readonly imageId: string
  /** Names of its volumes. */
  readonly volumes: readonly string[]
  readonly labels: Readonly<Record<string, string>>
}

export interface HeldImage {
  readonly id: string
  readonly parentId: string
  readonly names: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** Epoch seconds. */
  readonly createdAt: number
}

export interface HeldVolume {
  readonly name: string
  readonly createdAt: number | undefined
}

export interface Housekeeping {
  listHeldContainers(): Promise<readonly HeldContainer[]>
  /** Returns all images, including intermediate ones. */
  listHeldImages(): Promise<readonly HeldImage[]>
  listHeldVolumes(): Promise<readonly HeldVolume[]>
  /** Returns the folder of the daemon's data on its own machine. */
  readDataRoot(): Promise<string>
  /** Removes an image with all its names. Returns false if it is in use or missing. */
  dropImage(id: string): Promise<boolean>
  /** Prunes the build cache down to `keepBytes`. */
  pruneBuildCache(keepBytes: number): Promise<void>
  /** Yields one line of JSON for each event since `since` (epoch seconds). Ends with the connection or the signal. */
  followEvents(options: {
    readonly since: number
    readonly actions: readonly string[]
    readonly signal: AbortSignal
  }): AsyncGenerator<string>
}

const Labels = z.record(z.string(), z.string()).nullish()
const Containers = z.array(
  z.looseObject({
    Id: z.string(),
    State: z.string().optional(),
    ImageID: z.string().default(''),
    Labels,
    Mounts: z.array(z.looseObject({ Type: z.string().optional(), Name: z.string().optional() })).nullish(),
  }),
)
const Images = z.array(
  z.looseObject({
    Id: z.string(),
    ParentId: z.string().nullish(),
    RepoTags: z.array(z.string()).nullish(),
    RepoDigests: z.array(z.string()).nullish(),
    Labels,
    Created: z.number().default(0),
  }),
)
const Volumes = z.looseObject({
  Volumes: z.array(z.looseObject({ Name: z.string(), CreatedAt: z.string().nullish() })).nullish(),
})
const Info = z.looseObject({ DockerRootDir: z.string() })
/** Removing a large cache is slow. Milliseconds. */
const PRUNE_MS = 600_000

export function housekeepingCalls(http: DockerHttp): Housekeeping {
  return {
    async listHeldContainers() {
      const found = await http.json('GET', '/containers/json', Containers, { query: { all: true } })
      return found.map(({ Id, State = '', ImageID, Mounts, Labels: labels }) => ({
        id: Id,
        isRunning: State === 'running' || State === 'restarting' || State === 'paused',
        exited: State === 'exited' || State === 'dead',
        imageId: ImageID,
        volumes: (Mounts ?? []).flatMap(({ Type, Name }) => (Type === 'volume' && Name !== undefined ? [Name] : [])),
        labels: labels ?? {},
      }))
    },
    async listHeldImages() {
      const found = await http.json('GET', '/images/json', Images, { query: { all: true } })
      return found.map(({ Id, ParentId, RepoTags, RepoDigests, Labels: labels, Created }) => ({
        id: Id,
        parentId: ParentId ?? '',
        names: [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter((name) => !name.startsWith('<none>')),
        labels: labels ?? {},
        createdAt: Created,
      }))
    },
    async listHeldVolumes() {
      const found = await http.json('GET', '/volumes', Volumes)
      return (found.Volumes ?? []).map(({ Name, CreatedAt }) => ({ name: Name, createdAt: toSeconds(CreatedAt) }))
    },
    async readDataRoot() {
      return (await http.json('GET', '/info', Info)).DockerRootDir
    },
    async dropImage(id) {
      const call = http.done('DELETE', `/images/${encodeURIComponent(id)}`, { query: { force: true, noprune: true } })
      return (
        (await ignoring(
          [404, 409],
          call.then(() => true),
        )) ?? false
      )
    },
    async pruneBuildCache(keepBytes) {
      const query = { all: true, 'keep-storage': Math.floor(keepBytes) }
      await ignoring([404], http.done('POST', '/build/prune', { query, timeoutMs: PRUNE_MS }))
    },
    async *followEvents({ since, actions, signal }) {
      const filters = JSON.stringify({ event: actions, type: ['container', 'image', 'volume'] })
      const response = await http.stream('GET', '/events', { query: { since: Math.floor(since), filters }, signal })
      let rest = ''
      response.setEncoding('utf8')
      for await (const chunk of response) {
        const lines = `${rest}${chunk}`.split('\n')
        rest = lines.pop() ?? ''
        yield* lines
      }
    },
  }
}

function toSeconds(time: string | null | undefined): number | undefined {
  const at = Date.parse(time ?? '')
  return Number.isNaN(at) ? undefined : at / 1000
}
