/** The processes of a run: servers on fixed ports that stay the same across restarts, and one agent. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Retention, ServerOptions, Timings } from '@windlass/server'
import { freePort } from '../../support/process.ts'
import { NODE_OPTIONS, programFile } from '../../support/programs.ts'
import { chaosConfig } from '../config.ts'
import { describeChild, type Child } from '../processes/child.ts'
import { RETAIN_MS, type RetentionLimits } from './retention.ts'

/**
 * All periods, shortened by the same factor, so that a minute covers what otherwise takes an hour. The retry delays of engines are not shortened: the
 * longest one of a claim is 5 s, and the engine must not time out in that period.
 */
export const FAST: Partial<Timings> = {
  heartbeatMs: 1_000,
  suspectMs: 3_000,
  deadMs: 6_000,
  agentLeaseMs: 3_000,
  taskLeaseMs: 2_000,
  // The passes of an idle server are what takes its processor time: about a hundred statements a second with 200 ms.
  sweepMs: chaosConfig.thorough ? 200 : 400,
  terminatingMs: 8_000,
  terminatingSilentMs: 4_000,
  taskBackoffMs: 100,
}

export type Apart = Required<Pick<ServerOptions, 'logsUrl' | 'environment' | 's3Limits' | 'masterKey' | 'bootstrapCode'>>

export interface StageOptions {
  readonly folder: string
  readonly replicas: number
  readonly databaseUrl?: string
  readonly advertisedUrl: string
  /** The default periods, or `FAST` if absent. */
  readonly timings?: Partial<Timings>
  /** Ages from which the servers delete logs and builds. Default: the periods of an installation, which no run reaches. */
  readonly retention?: RetentionLimits
  /** How far the clock of each server is ahead. Milliseconds, default 0. */
  readonly skewMs?: readonly number[]
  /** What servers on machines of their own share instead of a data folder: logs in a bucket, the master key, the code of the first admin. */
  readonly apart?: Apart
  /** Program of the servers. Default: that of this version. */
  readonly program?: string
}

export interface ServerProcess {
  readonly child: Child
  readonly port: number
  /** Selects the program of the next start. */
  use(program: string): void
}

/** The data folder of a server. Those of a run share the first one, unless they are apart. */
export function dataDirOf(folder: string, server = 0): string {
  return join(folder, `server-${server}`)
}

/** Starts the servers one after the other; the first one creates the tables. On PostgreSQL they share one data folder, as documented. */
export async function startServers(options: StageOptions): Promise<ServerProcess[]> {
  const servers: ServerProcess[] = []
  for (let n = 0; n < options.replicas; n += 1) {
    const dataDir = dataDirOf(options.folder, options.apart === undefined ? 0 : n)
    await mkdir(dataDir, { mode: 0o700, recursive: true })
    const port = await freePort()
    const settings: Omit<ServerOptions, 'clock' | 'log'> = {
      dataDir,
      databaseUrl: options.databaseUrl,
      port,
      advertisedUrl: options.advertisedUrl,
      timings: { ...(options.timings ?? FAST), ...(options.retention && { retainMs: RETAIN_MS }) },
      retention: options.retention && toRetention(options.retention),
      minFreeShare: 0,
      ...options.apart,
    }
    const logFile = join(options.folder, `server-${n}.log`)
    let program = options.program ?? programFile('chaos-server')
    const child = describeChild({
      name: `server ${n}`,
      command: process.execPath,
      // Read at each start.
      get args() {
        return [...NODE_OPTIONS, program, JSON.stringify({ ...settings, skewMs: options.skewMs?.[n] ?? 0 })]
      },
      logFile,
    })
    await child.start()
    servers.push({ child, port, use: (file) => (program = file) })
  }
  return servers
}

/** Tasks are deleted like logs, and log files soon after the last row that refers to them. */
function toRetention({ logMs, buildMs }: RetentionLimits): Partial<Retention> {
  const logDays = logMs / DAY_MS
  return { logDays, buildDays: buildMs / DAY_MS, taskDays: logDays, unusedLogHours: logMs / 4 / HOUR_MS }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export async function startAgentProcess(options: {
  server: string
  token: string
  cluster: string
  folder: string
  name: string
}): Promise<Child> {
  const { folder, name, ...settings } = options
  const args = [...NODE_OPTIONS, programFile('chaos-agent'), JSON.stringify(settings)]
  const child = describeChild({ name, command: process.execPath, args, logFile: join(folder, `${name}.log`) })
  await child.start()
  return child
}
