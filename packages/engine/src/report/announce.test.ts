import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openJournal, type Journal } from '@windlass/journal'
import { systemClock } from '@windlass/kit'
import { EngineEvent } from '@windlass/protocol'
import { lengthsOf } from './announce.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'announce-'))
  folders.push(folder)
  return folder
}

function open(dir: string): Promise<Journal<EngineEvent>> {
  return openJournal<EngineEvent>({ dir, clock: systemClock, limitBytes: 1e9, decode: (value) => EngineEvent.parse(value) })
}

test('announces stream lengths that another process finds on the disk', async () => {
  const dir = newFolder()
  const journal = await open(dir)
  await journal.stream('step/a').write(Buffer.alloc(700_000, 'x'))
  await journal.stream('step/a').write(Buffer.from('last line\n'))
  await journal.stream('step/a.services').write(Buffer.from('ready\n'))
  const lengths = await lengthsOf(journal, 'a')
  // The service continues to write.
  await journal.stream('step/a.services').write(Buffer.from('more\n'))
  // What a process killed at this point leaves.
  const left = newFolder()
  cpSync(dir, left, { recursive: true })
  const next = await open(left)
  expect(lengths).toEqual({ 'step/a': 700_010, 'step/a.services': 6 })
  for (const [name, bytes] of Object.entries(lengths)) expect(next.extent(name).written).toBeGreaterThanOrEqual(bytes)
  expect(await lengthsOf(journal, 'silent')).toEqual({})
  await Promise.all([journal.close(), next.close()])
})
