import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../../../e2e/support/process.ts'
import { NODE, NODE_OPTIONS, programFile } from '../../../../e2e/support/programs.ts'

export interface AgentProcess extends AsyncDisposable {
  /** Base URL of `/livez`, `/readyz`, `/health` and `/metrics`. */
  readonly health: string
  log(): string
  kill(signal: NodeJS.Signals): void
  /** Its exit code, if it has ended. */
  ended(): Promise<number | null>
}

/** Starts the real process of an agent without the settings of this process. */
export async function startAgentProcess(env: Record<string, string>, ...args: string[]): Promise<AgentProcess> {
  const port = await freePort()
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', NODE, ...NODE_OPTIONS, programFile('agent'), ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (log += part.toString('utf8')))
  const end = once(child, 'close')
  return {
    health: `http://127.0.0.1:${port}`,
    log: () => log,
    kill: (signal) => void child.kill(signal),
    async ended() {
      await end
      return child.exitCode
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await end
    },
  }
}
