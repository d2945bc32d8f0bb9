/** Memory of idle Windlass processes, compared with an idle Node process. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { programFile } from '../../../e2e/support/programs.ts'
import { bareNodeMiB, rssMiB } from '../../floors/processes.ts'
import { MissingPartError, single, spread, type Line, type Row, type Spread } from '../../row.ts'
import { openProcessStack } from '../../stack/cluster.ts'
import { openFakeStack } from '../../stack/fake.ts'
import { toDocument } from '../../stack/local.ts'

const SETTLE_MS = 5_000
const GOALS = { server: 150, agent: 130, engine: 110 } as const

/** Resident memory. The server alone, on SQLite; agent and engine as they run on the cluster, if it is up. */
export const idleMemory: Line = { name: 'idle-memory', measure }

async function measure(): Promise<Row[]> {
  const floor = { what: 'a Node process that only waits', value: single(await bareNodeMiB()) }
  const row = (who: keyof typeof GOALS, value: Spread, what: string): Row => ({
    name: `idle-${who}`,
    figure: `resident memory of ${what}`,
    unit: 'MiB',
    value,
    warmUp: 0,
    floor,
    goal: GOALS[who],
  })
  const rows = [row('server', await idleServer(), 'the server on SQLite with one agent connected')]
  try {
    const { agent, engine } = await clusterProcesses()
    rows.push(row('agent', agent, 'the agent on Kubernetes, before its first build'))
    rows.push(row('engine', engine, 'the engine in its pod while its step sleeps'))
  } catch (error) {
    if (!(error instanceof MissingPartError)) throw error
    console.error(`idle-memory: agent and engine NOT MEASURED: ${error.message}`)
  }
  return rows
}

async function idleServer(): Promise<Spread> {
  await using stack = await openFakeStack()
  await sleep(SETTLE_MS)
  return single(await rssMiB(stack.server.pid ?? 0))
}

async function clusterProcesses(): Promise<{ agent: Spread; engine: Spread }> {
  await using stack = await openProcessStack()
  const { installation, client } = stack
  await sleep(SETTLE_MS)
  const agent = single(await rssMiB(await findProcess(programFile('agent'), process.pid)))
  const image = installation.images['TOOLS_IMAGE'] ?? ''
  const { id } = await client.builds.create({ document: toDocument({ wait: { image, command: 'sleep 25' } }) })
  await sleep(12_000)
  const engine = spread([await rssMiB(await findProcess('dist/engine.js'))])
  await client.builds.terminate(id)
  await stack.empty()
  return { agent, engine }
}

/** Returns the youngest process whose command line names a file, and which is a child of `parent` if given. */
async function findProcess(file: string, parent?: number): Promise<number> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    const isNode = /(^|\/)node\0/.test(command)
    if (isNode && command.includes(file) && (parent === undefined || (await parentOf(name)) === parent)) found.push(Number(name))
  }
  const youngest = found.toSorted((a, b) => b - a)[0]
  if (youngest === undefined) throw new Error(`no process runs ${file}`)
  return youngest
}

async function parentOf(pid: string): Promise<number> {
  return Number((await promisify(execFile)('ps', ['-o', 'ppid=', '-p', pid])).stdout)
}
