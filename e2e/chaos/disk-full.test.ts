import { join } from 'node:path'
import { openJournal, type Journal } from '@windlass/journal'
import { faults, systemClock } from '@windlass/kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { diskObjects } from '../../packages/server/src/logs/objects/objects.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

let folder = ''

beforeEach(async () => {
  folder = await mountSmallDisk('1m')
})

afterEach(() => unmountSmallDisk(folder))

test('a log object that does not fit on the disk is refused and not stored partially', async () => {
  const objects = diskObjects(folder)
  const parts = Array.from({ length: 8 }, (_, n) => Buffer.alloc(300_000, n))
  await expect(objects.put('2026/a', parts)).rejects.toThrow()
  expect(await objects.head('2026/a')).toBeUndefined()
  await objects.put('2026/b', [Buffer.alloc(200_000, 7)])
  expect(await objects.head('2026/b')).toEqual({ bytes: 200_000 })
})

interface Note {
  readonly seq: number
  readonly at: number
  readonly text: string
}

const Note = z.object({ seq: z.int(), at: z.number(), text: z.string() })

function openSpool(): Promise<Journal<Note>> {
  return openJournal<Note>({
    dir: join(folder, 'spool'),
    clock: systemClock,
    limitBytes: 1e9,
    decode: (value) => Note.parse(value),
  })
}

test('a spool on a full disk throws, and every byte that it accepted can be read', async () => {
  const journal = await openSpool()
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 30; n += 1) await journal.stream('step/test').write(Buffer.alloc(100_003, 'x'))
    await journal.totals()
  }
  await expect(fill()).rejects.toThrow(faults['spool-full'].text)
  let read = 0
  for (
    let frame = await journal.readFrame('step/test', 65_536);
    frame !== undefined;
    frame = await journal.readFrame('step/test', 65_536)
  ) {
    expect(Buffer.from(frame.bytes).equals(Buffer.alloc(frame.bytes.byteLength, 'x'))).toBe(true)
    read += frame.bytes.byteLength
    await journal.acknowledge('step/test', read)
  }
  expect(read).toBeGreaterThan(0)
  await journal.close()
})

test('an event that does not fit on the disk is refused, and the next process reads all earlier events', async () => {
  const journal = await openSpool()
  let last = 0
  const fill = (): void => {
    for (let n = 0; n < 1_000; n += 1) last = journal.append({ text: 'y'.repeat(4_003) }).seq
  }
  expect(fill).toThrow(faults['spool-full'].text)
  await journal.close().catch(() => undefined)
  const next = await openSpool()
  expect(next.foundEvents).toBe(last)
  await next.close()
})
