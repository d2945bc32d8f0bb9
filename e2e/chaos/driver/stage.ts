/** The processes of a run: servers on fixed ports that survive their deaths, and one agent. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerOptions, Timings } from '@windlass/server'
import { freePort } from '../../support/process.ts'
import { describeChild, type Child } from '../processes/child.ts'

/** Every period shortened alike, so that a minute sees what else takes an hour. */
export const FAST: Partial<Timings> = {
  heartbeatMs: 400,
  suspectMs: 1_500,
  deadMs: 2_500,
  agentLeaseMs: 3_000,
  taskLeaseMs: 2_000,
  sweepMs: 200,
  terminatingMs: 8_000,
  terminatingSilentMs: 4_000,
  taskBackoffMs: 100,
}

export interface StageOptions {
  readonly folder: string
  readonly replicas: number
  readonly databaseUrl?: string
  readonly advertisedUrl: string
}

export interface ServerProcess {
  readonly child: Child
  readonly port: number
}

/** Starts the servers one after the other (the first makes the tables). On PostgreSQL they share one data folder, as documented. */
export async function startServers(options: StageOptions): Promise<ServerProcess[]> {
  const dataDir = join(options.folder, 'server-0')
  await mkdir(dataDir, { mode: 0o700 })
  const servers: ServerProcess[] = []
  for (let n = 0; n < options.replicas; n += 1) {
    const port = await freePort()
    const settings: Omit<ServerOptions, 'clock' | 'log'> = {
      dataDir,
      databaseUrl: options.databaseUrl,
      port,
      advertisedUrl: options.advertisedUrl,
      timings: FAST,
      minFreeShare: 0,
    }
    const entry = join(import.meta.dirname, '../processes/server.ts')
    const logFile = join(options.folder, `server-${n}.log`)
    const child = describeChild({
      name: `server ${n}`,
      command: process.execPath,
      args: [entry, JSON.stringify(settings)],
      logFile,
    })
    await child.start()
    servers.push({ child, port })
  }
  return servers
}

export async function startAgentProcess(options: {
  server: string
  token: string
  cluster: string
  folder: string
}): Promise<Child> {
  const { folder, ...settings } = options
  const entry = join(import.meta.dirname, '../processes/agent.ts')
  const args = [entry, JSON.stringify(settings)]
  const child = describeChild({ name: 'agent', command: process.execPath, args, logFile: join(folder, 'agent.log') })
  await child.start()
  return child
}
