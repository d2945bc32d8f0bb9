/** Additional processes in running containers, each with a terminal. */
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { ignoring } from './containers.ts'
import { isAnswerLost, type DockerHttp } from './http.ts'

export interface ExecSpec {
  readonly command: readonly string[]
  /** `NAME=VALUE` entries in addition to those of the container. */
  readonly environment: readonly string[]
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface Exec {
  /** Input and output of the terminal. Not multiplexed. Ends with the process. */
  readonly terminal: Duplex
  /** Resizes the terminal. Ignores an ended process. */
  resize(size: TerminalSize): Promise<void>
  /** Returns undefined while the process runs. */
  exitCode(): Promise<number | undefined>
}

export interface Execs {
  /** Starts a process in a running container. Throws `docker-refused` (404, or 409 if the container has stopped). */
  execTerminal(container: string, spec: ExecSpec): Promise<Exec>
}

const Created = z.looseObject({ Id: z.string() })
const Inspected = z.looseObject({ Running: z.boolean(), ExitCode: z.int().nullish() })

export function execCalls(http: DockerHttp): Execs {
  return {
    async execTerminal(container, { command, environment }) {
      const { Id } = await http.json('POST', `/containers/${container}/exec`, Created, {
        body: { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: true, Cmd: command, Env: environment },
      })
      const terminal = await start(http, Id)
      return {
        terminal,
        async resize({ columns, rows }) {
          await ignoring([400, 404, 409, 500], http.done('POST', `/exec/${Id}/resize`, { query: { w: columns, h: rows } }))
        },
        async exitCode() {
          const { Running, ExitCode } = await http.json('GET', `/exec/${Id}/json`, Inspected)
          return Running ? undefined : (ExitCode ?? 0)
        },
      }
    },
  }
}

/** Starts the process. If the connection closes before the response, it is started only if it was not: the output of a started one is lost. */
async function start(http: DockerHttp, id: string): Promise<Duplex> {
  const call = (): Promise<Duplex> => http.hijack(`/exec/${id}/start`, { body: { Detach: false, Tty: true }, isOnce: true })
  try {
    return await call()
  } catch (error) {
    if (!isAnswerLost(error)) throw error
    const { Running, ExitCode } = await http.json('GET', `/exec/${id}/json`, Inspected)
    if (Running || typeof ExitCode === 'number') throw error
    return call()
  }
}
