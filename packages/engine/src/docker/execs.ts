/** Further processes in running containers, each with a terminal of its own. */
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import { ignoring } from './containers.ts'
import type { DockerHttp } from './http.ts'

export interface ExecSpec {
  readonly command: readonly string[]
  /** `NAME=VALUE` entries, beside those of the container. */
  readonly environment: readonly string[]
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface Exec {
  /** What the terminal shows, and where keys go. Not multiplexed; ends with the process. */
  readonly terminal: Duplex
  /** A process that has ended is no error. */
  resize(size: TerminalSize): Promise<void>
  /** Undefined while the process runs. */
  exitCode(): Promise<number | undefined>
}

export interface Execs {
  /** Starts a process in a container that runs. Throws `docker-refused` (404, 409 when it does not run any more). */
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
      const terminal = await http.hijack(`/exec/${Id}/start`, { body: { Detach: false, Tty: true } })
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
