/** Containers: create, attach, start, wait, kill, remove, and archives in and out of them. */
import type { Duplex, Readable } from 'node:stream'
import { isFault } from '@windlass/kit'
import { z } from 'zod'
import { Demultiplexer, type OutputPart } from './demux.ts'
import { HEAD_MS, SHORT_CALL_MS, unreachable, type DockerHttp } from './http.ts'

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
  /** Memory of the container's own; gone when it stops. */
  | { readonly type: 'tmpfs'; readonly target: string }

export interface ContainerSpec {
  /** Name or id. */
  readonly image: string
  /** The image's own when absent; an empty list takes it away. */
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
  /** Capabilities beside the usual ones; the filters of system calls and of `/proc` are taken away with them. */
  readonly capabilities?: readonly string[] | undefined
  /** A small init is the first process; it passes signals on and reaps. */
  readonly init?: boolean | undefined
  /** Standard input is opened and closed after the first attachment. */
  readonly stdin: boolean
}

export interface ContainerState {
  readonly isRunning: boolean
  readonly exitCode: number
  readonly oomKilled: boolean
  readonly error: string
  /** Bytes; 0 without a limit. */
  readonly memoryLimit: number
}

export interface ListedContainer {
  readonly id: string
  readonly labels: Readonly<Record<string, string>>
  readonly isRunning: boolean
  /** Ports that the daemon's machine passes on. */
  readonly published: readonly { readonly port: number; readonly hostPort: number }[]
}

export interface Attachment {
  /** Pieces of output as they arrive; ends with the container. Throws `docker-unreachable` when it broke off. Unread output holds the container up. */
  readonly output: AsyncIterable<readonly OutputPart[]>
  /** Where standard input goes when the container has one. */
  readonly input: Duplex
  /** Lets go of the container; it runs on. */
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
  /** Answers the id. Throws `docker-refused` (404 without the image). */
  createContainer(spec: ContainerSpec): Promise<string>
  /** Attach before starting: nothing that the container says is missed then. */
  attachContainer(
    id: string,
    options: { readonly stdin: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<Attachment>
  /**
   * A start that fails for a reason that passes is made once more, after `beforeAgain`: the failed one ended every attachment, so whoever
   * is attached attaches again.
   */
  startContainer(id: string, beforeAgain?: () => Promise<void>): Promise<void>
  /** Resolves when the daemon watches for the next exit; `exited` then gives the exit code. */
  watchExit(id: string, signal?: AbortSignal): Promise<{ readonly exited: Promise<number> }>
  inspectContainer(id: string): Promise<ContainerState>
  /** Containers with all these labels, running or not. */
  listContainers(labels: readonly string[]): Promise<readonly ListedContainer[]>
  /** Sends a signal; a container that does not run (any more) is no error. */
  killContainer(id: string, name: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Sends the stop signal of its image, and KILL after `graceMs` (whole seconds); one that does not run is no error. */
  stopContainer(id: string, graceMs: number): Promise<void>
  /** Kills and removes, with its anonymous volumes; one that is gone is no error. */
  removeContainer(id: string): Promise<void>
  /** Unpacks a tar archive into a folder of the container, which need not run. */
  putArchive(id: string, path: string, archive: Uint8Array | Readable, signal?: AbortSignal): Promise<void>
  /** A file or folder as tar archive; undefined when it does not exist. About 40 ms: look with `statFile` (2 ms) first. */
  getArchive(id: string, path: string): Promise<Readable | undefined>
  statFile(id: string, path: string): Promise<FileStat | undefined>
}

export function containerCalls(http: DockerHttp): Containers {
  return {
    async createContainer(spec) {
      const { Id } = await http.json('POST', '/containers/create', Created, { body: toDocker(spec) })
      return Id
    },
    async attachContainer(id, { stdin, signal }) {
      const query = { stream: true, stdout: true, stderr: true, ...(stdin && { stdin: true }) }
      const socket = await http.hijack(`/containers/${id}/attach`, { query, signal })
      return { output: readOutput(http, socket), input: socket, close: () => socket.destroy() }
    },
    async startContainer(id, beforeAgain) {
      try {
        await http.done('POST', `/containers/${id}/start`)
      } catch (error) {
        // About one start in 130 fails this way in dind (runc loses its own socket); the next one works.
        if (!isFault(error, 'docker-refused') || !/runc create failed.*connection reset by peer/.test(error.message)) throw error
        await beforeAgain?.()
        await http.done('POST', `/containers/${id}/start`)
      }
    },
    async watchExit(id, signal) {
      const response = await http.stream('POST', `/containers/${id}/wait`, {
        query: { condition: 'next-exit' },
        signal,
        timeoutMs: HEAD_MS,
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
    killContainer: (id, name) => ignoring([404, 409], http.done('POST', `/containers/${id}/kill`, { query: { signal: name } })),
    removeContainer: (id) => ignoring([404, 409], http.done('DELETE', `/containers/${id}`, { query: { force: true, v: true } })),
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

function toListed({ Id, Labels, State, Ports }: z.output<typeof Listed>[number]): ListedContainer {
  const published = (Ports ?? []).flatMap(({ PrivatePort, PublicPort }) =>
    PublicPort === undefined ? [] : [{ port: PrivatePort, hostPort: PublicPort }],
  )
  return {
    id: Id,
    labels: Labels ?? {},
    isRunning: State === 'running' || State === 'restarting',
    // A port is listed once for each family of addresses.
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
  if (!demultiplexer.isWhole) throw unreachable(http.endpoint, new Error('the output of a container broke off'))
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

/** The HTTP status of a refusal by the daemon, undefined for other errors. */
export function refusalStatus(error: unknown): number | undefined {
  const status = isFault(error, 'docker-refused') ? error.details['dockerStatus'] : undefined
  return typeof status === 'number' ? status : undefined
}

/** The result of a call, or undefined when the daemon refused it with one of these statuses. */
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
    ...(spec.entrypoint !== undefined && { Entrypoint: spec.entrypoint }),
    ...(spec.command !== undefined && { Cmd: spec.command }),
    Env: spec.environment,
    ...(spec.workingDirectory !== undefined && { WorkingDir: spec.workingDirectory }),
    ...(spec.user !== undefined && { User: spec.user }),
    ...(spec.hostname !== undefined && { Hostname: spec.hostname }),
    Labels: spec.labels,
    ...(spec.stdin && { OpenStdin: true, StdinOnce: true, AttachStdin: true }),
    HostConfig: {
      Mounts: spec.mounts.map(toDockerMount),
      NetworkMode: spec.network,
      ...(spec.init === true && { Init: true }),
      ...(spec.capabilities !== undefined && {
        CapAdd: spec.capabilities,
        SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
        MaskedPaths: [],
        ReadonlyPaths: [],
      }),
      // The output is taken by attaching; a log that the daemon keeps as well costs 2 s per 81 MB. A connection that breaks off loses
      // bytes for good then, which ends the attempt as `dind-lost`.
      LogConfig: { Type: 'none' },
    },
  }
}

function toDockerMount(mount: ContainerMount): object {
  if (mount.type === 'tmpfs') return { Type: 'tmpfs', Target: mount.target }
  const common = { Type: mount.type, Source: mount.source, Target: mount.target, ReadOnly: mount.readOnly }
  if (mount.type === 'bind') return common
  return { ...common, VolumeOptions: { NoCopy: true, ...(mount.subpath !== undefined && { Subpath: mount.subpath }) } }
}
