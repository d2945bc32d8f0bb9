import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findLeftovers } from './local-runs.ts'
import { thisProcess, type ProcessIdentity } from './process-identity.ts'

const DAY_MS = 86_400_000
const NOW = Date.now()

let stateDir = ''
beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'windlass-runs-'))
})
afterAll(() => rm(stateDir, { recursive: true, force: true }))

let runs = 0

/** Creates the folder of a run that started `days` ago. Returns its id. */
async function createRun(days: number, file?: readonly [name: string, text: string]): Promise<string> {
  runs += 1
  const seconds = Math.floor((NOW - days * DAY_MS) / 1000)
  const id = seconds.toString(16).padStart(8, '0') + String(runs).padStart(16, '0')
  await mkdir(join(stateDir, id))
  if (file !== undefined) await writeFile(join(stateDir, id, file[0]), file[1])
  return id
}

const ownedBy = (owner: ProcessIdentity): readonly [string, string] => ['owner.json', JSON.stringify(owner)]

test('treats a run as a leftover if its process is gone, or if its state has been unknown for three days', async () => {
  const me = await thisProcess()
  const faraway = ownedBy({ ...me, host: 'far-away', machine: 'far-away', boot: 'of far-away' })
  const ended = spawnSync('true').pid
  await createRun(0, ownedBy(me))
  await createRun(9, ownedBy(me))
  const killed = await createRun(0, ownedBy({ ...me, pid: ended }))
  const renamed = await createRun(0, ownedBy({ ...me, machine: 'john.fritz.box', pid: ended }))
  await createRun(2, faraway)
  const forgotten = await createRun(4, faraway)
  // From an older version: the process number does not identify the machine.
  await createRun(0, ['pid', String(ended)])
  const older = await createRun(4, ['pid', String(process.pid)])
  // It has created its folder but not its owner file.
  await createRun(0)
  const unwritten = await createRun(4)
  await mkdir(join(stateDir, '00000000-notes'))
  await writeFile(join(stateDir, '000000000000000000000000.txt'), '')
  const found = await findLeftovers(stateDir, NOW)
  expect(found.toSorted()).toEqual([killed, renamed, forgotten, older, unwritten].toSorted())
})
