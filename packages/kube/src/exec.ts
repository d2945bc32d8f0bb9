/** Runs commands in containers, and attaches to running ones. */
import type { Readable, Writable } from 'node:stream'
import { defined, fault, type Clock } from '@windlass/kit'
import type { WebSocket } from 'ws'
import { z } from 'zod'
import { openChannels, PROTOCOLS, type Channels, type TerminalSize } from './channels.ts'
import { pathOf, type ObjectRef } from './objects.ts'
import type { SocketRequest } from './websocket.ts'

export interface AttachOptions {
  /** Default: the container that the annotation `kubectl.kubernetes.io/default-container` names, or the only one. */
  readonly container?: string | undefined
  /** Whether to send stdin. Default: false. */
  readonly stdin?: boolean | undefined
  /** Whether a terminal is allocated; to attach, whether the container has one. All output then comes on stdout. Default: false. */
  readonly tty?: boolean | undefined
  /** Disconnects. The command is not ended by that: it continues until it uses a stream that is gone. */
  readonly signal?: AbortSignal | undefined
}

export interface ExecOptions extends AttachOptions {
  /** Program and arguments. No shell is involved. */
  readonly command: readonly string[]
}

/**
 * The streams of a container. Both outputs share one connection, which is paused while one of them is not read, so read both or destroy the one
 * that is not needed. If the connection is lost, all are destroyed with an error: an output that ends without one is complete.
 */
export interface ContainerStreams {
  /**
   * Destroyed without the option `stdin`, and when the command ends. Ending it needs Kubernetes 1.30; before that, the connection fails with
   * `cluster-refused`, and a command has to know the length of its input (`head -c`).
   */
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Sets the size of the terminal. */
  resize(size: TerminalSize): void
}

export interface Execution extends ContainerStreams {
  /**
   * Resolves with the exit code when the command has ended and all output has arrived. Rejects with `cluster-refused` if the command could not be
   * started, with `cluster-unreachable` if the connection was lost, which says nothing about the command, or with the reason of the signal.
   */
  readonly exit: Promise<number>
}

export interface Attachment extends ContainerStreams {
  /** Resolves when the container has ended and all output has arrived; its exit code is in the status of the pod. Rejects like `Execution.exit`. */
  readonly ended: Promise<void>
}

type Open = (request: SocketRequest) => Promise<WebSocket>

/** Starts a command in a container. */
export async function execute(open: Open, clock: Clock, pod: ObjectRef, options: ExecOptions): Promise<Execution> {
  const channels = await connect({ open, clock, path: `${pathOf(pod)}/exec` }, options, options.command)
  const exit = channels.result.then(exitCodeOf)
  exit.catch(() => undefined)
  return { ...streamsOf(channels), exit }
}

/** Attaches to the main process of a container. Output from before is not sent. */
export async function attach(open: Open, clock: Clock, pod: ObjectRef, options: AttachOptions): Promise<Attachment> {
  const channels = await connect({ open, clock, path: `${pathOf(pod)}/attach` }, options, [])
  const ended = channels.result.then((result) => void exitCodeOf(result))
  ended.catch(() => undefined)
  return { ...streamsOf(channels), ended }
}

async function connect(
  target: { readonly open: Open; readonly clock: Clock; readonly path: string },
  options: AttachOptions,
  command: readonly string[],
): Promise<Channels> {
  const { container, stdin = false, tty = false, signal } = options
  const query = new URLSearchParams({ stdin: String(stdin), stdout: 'true', stderr: String(!tty), tty: String(tty) })
  if (container !== undefined) query.set('container', container)
  for (const argument of command) query.append('command', argument)
  const socket = await target.open({ path: `${target.path}?${query.toString()}`, protocols: PROTOCOLS, signal })
  return openChannels({ socket, stdin, signal, clock: target.clock })
}

function streamsOf(channels: Channels): ContainerStreams {
  const { stdin, stdout, stderr } = channels
  return { stdin, stdout, stderr, resize: (size) => channels.resize(size) }
}

const Result = z.looseObject({
  status: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
  details: z
    .looseObject({ causes: z.array(z.looseObject({ reason: z.string().optional(), message: z.string().optional() })).nullish() })
    .nullish(),
})

/** Returns the exit code in a `Status`. Throws `cluster-refused` if it has none. */
function exitCodeOf(result: unknown): number {
  const { status, message, reason, code, details } = Result.catch({}).parse(result)
  if (status === 'Success') return 0
  const exitCode = Number(details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message ?? Number.NaN)
  if (reason === 'NonZeroExitCode' && Number.isInteger(exitCode)) return exitCode
  throw fault('cluster-refused', {
    message: message ?? `The Kubernetes API sent a result that is not a status: ${JSON.stringify(result).slice(0, 200)}`,
    ...defined({ kubeReason: reason, httpStatus: code }),
  })
}
