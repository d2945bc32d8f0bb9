/** Container calls: create, attach, start, wait, kill, remove, and archives in and out. */
import { randomBytes } from 'node:crypto'
import type { Duplex, Readable } from 'node:stream'
import { defined, fault, isFault, systemClock, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { Demultiplexer, type OutputPart } from './demux.ts'
import { HEADERS_MS, isAnswerLost, SHORT_CALL_MS, unreachable, type DockerHttp } from './http.ts'

export type ContainerMount =
  /** `subpath` needs API 1.45. */
  | {
      readonly type: 'volume'
      readonly source: string
      readonly target: string
      readonly readOnly: boolean
      readonly subpath?: string | undefined
    }
  | { readonly type: 'bind'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  /** Memory of the container, freed when it stops. */
  | { readonly type: 'tmpfs'; readonly target: string }

export interface ContainerSpec {
  /** Name or id. */
  readonly image: string
  /** Default: that of the image. An empty list removes it. */
  readonly entrypoint?: readonly string[] | undefined
  readonly command?: readonly string[] | undefined
  /** `NAME=VALUE` entries. */
  readonly environment: readonly string[]
  readonly workingDirectory?: string | undefined
  readonly user?: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly mounts: readonly ContainerMount[]
  /** `bridge`, `none` or `container:<id>`. */
  readonly network: string
  readonly hostname?: string | undefined
  /** Names and their addresses in `/etc/hosts`. Containers that join the network of this one have them as well. */
  readonly hosts?: Readonly<Record<string, string>> | undefined
  /** Additional capabilities. They also disable the system call filters and the masking of `/proc`. */
  readonly capabilities?: readonly string[] | undefined
  /** All rights on the machine of the daemon, for Docker in Docker. */
  readonly privileged?: boolean | undefined
  /** Run a small init as first process, which forwards signals and reaps. */
  readonly init?: boolean | undefined
  /** Standard input is open and closes after the first attachment. */
  readonly stdin: boolean
}

export interface ContainerState {
  readonly isRunning: boolean
  readonly exitCode: number
  readonly oomKilled: boolean
  readonly error: string
  /** Bytes. 0 without a limit. */
  readonly memoryLimit: number
}

export interface ListedContainer {
  readonly id: string
  readonly labels: Readonly<Record<string, string>>
  readonly isRunning: boolean
  /** Ports published on the daemon's machine. */
  readonly published: readonly { readonly port: number; readonly hostPort: number }[]
}

export interface Attachment {
  /**
   * Chunks of output as they arrive. Ends with the container. Throws `docker-unreachable` if the connection is lost. Unread output blocks the
   * container.
   */
  readonly output: AsyncIterable<readonly OutputPart[]>
  /** Standard input of the container, if it has one. */
  readonly input: Duplex
  /** Detaches from the container, which continues to run. */
  close(): void
}

export interface FileStat {
  readonly size: number
  readonly linkTarget: string
}

const Created = z.looseObject({ Id: z.string() })
const Waited = z.looseObject({ StatusCode: z.int(), Error: z.looseObject({ Message: z.string() }).nullish() })
const Inspected = z.looseObject({
  State: z.looseObject({ Running: z.boolean(), ExitCode: z.int(), OOMKilled: z.boolean(), Error: z.string() }),
  HostConfig: z.looseObject({ Memory: z.number() }),
})
const Started = z.looseObject({ State: z.looseObject({ StartedAt: z.string(), Error: z.string() }) })
/** `StartedAt` of a container that was not started. */
const NEVER = '0001-01-01'
const Port = z.looseObject({ PrivatePort: z.int(), PublicPort: z.int().optional(), IP: z.string().optional() })
const Listed = z.array(
  z.looseObject({
    Id: z.string(),
    Labels: z.record(z.string(), z.string()).nullish(),
    State: z.string().optional(),
    Ports: z.array(Port).nullish(),
  }),
)
const Stat = z.looseObject({ size: z.number(), linkTarget: z.string() })

export interface Containers {
  /** Returns the id. Creates one container even if the response is lost. Throws `docker-refused` (404 without the image). */
  createContainer(spec: ContainerSpec): Promise<string>
  /** Attaches to a container. Attach before the start, so that no output is lost. */
  attachContainer(
    id: string,
    options: { readonly stdin: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<Attachment>
  /**
   * Starts a container, once even if the response is lost. Retries a transient failure once unless `tries` is 1. A failed start ends every attachment, so an attached caller must create
   * a new container.
   */
  startContainer(id: string, options?: { readonly tries: 1 | 2 }): Promise<void>
  /** Resolves when the daemon watches for the next exit; `exited` then resolves with the exit code. */
  watchExit(id: string, signal?: AbortSignal): Promise<{ readonly exited: Promise<number> }>
  inspectContainer(id: string): Promise<ContainerState>
  /** Returns the containers with all these labels, running or not. */
  listContainers(labels: readonly string[]): Promise<readonly ListedContainer[]>
  /** Sends a signal. Ignores containers that do not run. */
  killContainer(id: string, name: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Freezes the processes of a container. Throws `docker-refused`: 409 if it does not run or is paused, others if the daemon cannot do that. */
  pauseContainer(id: string): Promise<void>
  /** Lets the processes of a container go on. Ignores containers that are not paused. */
  unpauseContainer(id: string): Promise<void>
  /** Sends the stop signal of the image, and KILL after `graceMs` (whole seconds). Ignores containers that do not run. */
  stopContainer(id: string, graceMs: number): Promise<void>
  /** Kills and removes a container with its anonymous volumes. Ignores missing containers. */
  removeContainer(id: string): Promise<void>
  /** Unpacks a tar archive into a folder of the container, which does not have to run. */
  putArchive(id: string, path: string, archive: Uint8Array | Readable, signal?: AbortSignal): Promise<void>
  /** Returns a file or folder as tar archive, or undefined if it does not exist. Takes about 40 ms; check with `statFile` (2 ms) first. */
  getArchive(id: string, path: string): Promise<Readable | undefined>
  statFile(id: string, path: string): Promise<FileStat | undefined>
}

export function containerCalls(http: DockerHttp, clock: Clock = systemClock): Containers {
  return {
    async createContainer(spec) {
      const name = `windlass-${randomBytes(8).toString('hex')}`
      const call = { query: { name }, body: toDocker(spec), isOnce: true }
      const create = (): Promise<z.output<typeof Created>> => http.json('POST', '/containers/create', Created, call)
      try {
        return (await create()).Id
      } catch (error) {
        if (!isAnswerLost(error)) throw error
        // The name is taken (409) if the daemon has created the container.
        return (await ignoring([409], create()))?.Id ?? (await awaitCreated(http, { name, clock }))
      }
    },
    async attachContainer(id, { stdin, signal }) {
      const query = { stream: true, stdout: true, stderr: true, ...(stdin && { stdin: true }) }
      const socket = await http.hijack(`/containers/${id}/attach`, { query, signal })
      return { output: readOutput(http, socket), input: socket, close: () => socket.destroy() }
    },
    async startContainer(id, { tries } = { tries: 2 }) {
      try {
        await start(http, id)
      } catch (error) {
        if (tries === 1 || !isTransientStart(error)) throw error
        http.onRetry?.({ operation: 'start container', error, delayMs: 0 })
        await start(http, id)
      }
    },
    async watchExit(id, signal) {
      const response = await http.stream('POST', `/containers/${id}/wait`, {
        query: { condition: 'next-exit' },
        signal,
        timeoutMs: HEADERS_MS,
      })
      return { exited: readExit(http, response) }
    },
    async inspectContainer(id) {
      const { State, HostConfig } = await http.json('GET', `/containers/${id}/json`, Inspected)
      return {
        isRunning: State.Running,
        exitCode: State.ExitCode,
        oomKilled: State.OOMKilled,
        error: State.Error,
        memoryLimit: HostConfig.Memory,
      }
    },
    async listContainers(labels) {
      const found = await http.json('GET', '/containers/json', Listed, {
        query: { all: true, filters: JSON.stringify({ label: labels }) },
      })
      return found.map(toListed)
    },
    stopContainer: (id, graceMs) =>
      ignoring(
        [404, 409],
        http.done('POST', `/containers/${id}/stop`, {
          query: { t: Math.ceil(graceMs / 1000) },
          timeoutMs: graceMs + SHORT_CALL_MS,
        }),
      ),
    pauseContainer: (id) => http.done('POST', `/containers/${id}/pause`),
    // 500: older daemons answer so for a container that is not paused.
    unpauseContainer: (id) => ignoring([404, 409, 500], http.done('POST', `/containers/${id}/unpause`)),
    killContainer: (id, name) => ignoring([404, 409], http.done('POST', `/containers/${id}/kill`, { query: { signal: name } })),
    removeContainer: (id) => removeContainer(http, { id, clock }),
    putArchive: (id, path, archive, signal) =>
      http.done('PUT', `/containers/${id}/archive`, { query: { path }, body: archive, signal, timeoutMs: undefined }),
    getArchive: (id, path) => ignoring([404], http.stream('GET', `/containers/${id}/archive`, { query: { path } })),
    async statFile(id, path) {
      const response = await ignoring([404], http.stream('HEAD', `/containers/${id}/archive`, { query: { path } }))
      response?.resume()
      const header = response?.headers['x-docker-container-path-stat']
      return typeof header === 'string' ? Stat.parse(JSON.parse(Buffer.from(header, 'base64').toString('utf8'))) : undefined
    },
  }
}

/** Number of tries to remove a container whose files the daemon could not remove, and the wait after the first one, which doubles. Milliseconds. */
const REMOVALS = 6
const REMOVAL_WAIT_MS = 100

/**
 * Removes a container. The daemon sometimes fails to remove the root filesystem, because something still had it open, and keeps the container as dead; a later
 * call removes it.
 */
async function removeContainer(http: DockerHttp, { id, clock }: { id: string; clock: Clock }): Promise<void> {
  for (let n = 1; ; n += 1) {
    try {
      await ignoring([404, 409], http.done('DELETE', `/containers/${id}`, { query: { force: true, v: true } }))
      return
    } catch (error) {
      const isKept =
        refusalStatus(error) === 500 &&
        error instanceof Error &&
        /failed to remove|directory not empty|resource busy/i.test(error.message)
      if (!isKept || n >= REMOVALS) throw error
      const delayMs = REMOVAL_WAIT_MS * 2 ** (n - 1)
      http.onRetry?.({ operation: 'remove container', error, delayMs })
      await clock.sleep(delayMs)
    }
  }
}

/** Maximum time between the reservation of a name by the daemon and the registration of its container. Milliseconds. */
const CREATION_MS = 10_000

/** Returns the id of a container whose name is taken. The daemon finds it only when it has finished the creation. */
async function awaitCreated(http: DockerHttp, { name, clock }: { name: string; clock: Clock }): Promise<string> {
  for (const deadline = clock.monotonic() + CREATION_MS; clock.monotonic() < deadline; await clock.sleep(200)) {
    const found = await ignoring([404], http.json('GET', `/containers/${name}/json`, Created))
    if (found !== undefined) return found.Id
  }
  throw unreachable(http.endpoint, new Error(`the container ${name} is still being created`))
}

/**
 * Starts a container once. If the connection closes before the response, the state tells whether the daemon has started it: the same call for a
 * container that has ended would run it again.
 */
async function start(http: DockerHttp, id: string): Promise<void> {
  const call = (): Promise<void> => http.done('POST', `/containers/${id}/start`, { isOnce: true })
  try {
    await call()
  } catch (error) {
    if (!isAnswerLost(error)) throw error
    // The daemon answers this after a start that is under way.
    const { State } = await http.json('GET', `/containers/${id}/json`, Started)
    if (!State.StartedAt.startsWith(NEVER)) return
    if (State.Error !== '') throw fault('docker-refused', { message: State.Error })
    await call()
  }
}

/** About one start in 130 fails like this in dind, because runc loses its own socket. The next start works. */
export function isTransientStart(error: unknown): boolean {
  return isFault(error, 'docker-refused') && /runc create failed.*connection reset by peer/.test(error.message)
}

function toListed({ Id, Labels, State, Ports }: z.output<typeof Listed>[number]): ListedContainer {
  const published = (Ports ?? []).flatMap(({ PrivatePort, PublicPort }) =>
    PublicPort === undefined ? [] : [{ port: PrivatePort, hostPort: PublicPort }],
  )
  return {
    id: Id,
    labels: Labels ?? {},
    isRunning: State === 'running' || State === 'restarting',
    // A port is listed once for each address family.
    published: published.filter(
      (one, index) => published.findIndex(({ port, hostPort }) => port === one.port && hostPort === one.hostPort) === index,
    ),
  }
}

async function* readOutput(http: DockerHttp, socket: Duplex): AsyncGenerator<readonly OutputPart[]> {
  const demultiplexer = new Demultiplexer()
  try {
    for await (const chunk of socket) {
      const parts = demultiplexer.push(chunk)
      if (parts.length > 0) yield parts
    }
  } catch (error) {
    throw unreachable(http.endpoint, error)
  } finally {
    socket.destroy()
  }
  if (!demultiplexer.isWhole) throw unreachable(http.endpoint, new Error('the output stream of a container ended early'))
}

async function readExit(http: DockerHttp, response: AsyncIterable<Buffer>): Promise<number> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response) chunks.push(chunk)
    const { StatusCode, Error: failure } = Waited.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')))
    if (failure?.Message) throw new Error(failure.Message)
    return StatusCode
  } catch (error) {
    throw unreachable(http.endpoint, error)
  }
}

/** Returns the HTTP status of a refusal by the daemon, or undefined for other errors. */
export function refusalStatus(error: unknown): number | undefined {
  const status = isFault(error, 'docker-refused') ? error.details['dockerStatus'] : undefined
  return typeof status === 'number' ? status : undefined
}

/** Returns true for a call that the daemon refused because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return isFault(error, 'docker-refused') && error.message.includes('no space left on device')
}

/** Returns true for a call that the daemon refused because it does not have the image. */
export function isImageGone(error: unknown): boolean {
  return refusalStatus(error) === 404 && error instanceof Error && /No such image/i.test(error.message)
}

/** Resolves with the result of a call, or with undefined if the daemon refused it with one of these statuses. */
export async function ignoring<T>(statuses: readonly number[], call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    const status = refusalStatus(error)
    if (status !== undefined && statuses.includes(status)) return undefined
    throw error
  }
}

function toDocker(spec: ContainerSpec): object {
  return {
    Image: spec.image,
    ...defined({ Entrypoint: spec.entrypoint, Cmd: spec.command }),
    Env: spec.environment,
    ...defined({ WorkingDir: spec.workingDirectory, User: spec.user, Hostname: spec.hostname }),
    Labels: spec.labels,
    ...(spec.stdin && { OpenStdin: true, StdinOnce: true, AttachStdin: true }),
    HostConfig: {
      Mounts: spec.mounts.map(toDockerMount),
      NetworkMode: spec.network,
      ...(spec.hosts !== undefined && { ExtraHosts: Object.entries(spec.hosts).map(([name, address]) => `${name}:${address}`) }),
      ...(spec.privileged === true && { Privileged: true }),
      ...(spec.init === true && { Init: true }),
      ...(spec.capabilities !== undefined && {
        CapAdd: spec.capabilities,
        SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
        MaskedPaths: [],
        ReadonlyPaths: [],
      }),
      // The engine reads output through attachments; a second copy in the daemon's log costs 2 s per 81 MB. A lost connection then loses bytes, so it
      // ends the attempt as `dind-lost`.
      LogConfig: { Type: 'none' },
    },
  }
}

function toDockerMount(mount: ContainerMount): object {
  if (mount.type === 'tmpfs') return { Type: 'tmpfs', Target: mount.target }
  const common = { Type: mount.type, Source: mount.source, Target: mount.target, ReadOnly: mount.readOnly }
  if (mount.type === 'bind') return common
  return { ...common, VolumeOptions: { NoCopy: true, ...defined({ Subpath: mount.subpath }) } }
}
