import { mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { openTraceSpool, spoolOf } from './trace-spool.ts'
import { keptLog } from '../../../../e2e/gitlab/support/coordinator-pair.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-spool-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('any part can be read again, and the checksum is that of all bytes (G026)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 10 }),
      fc.nat(400),
      fc.nat(400),
      async (chunks, offset, length) => {
        const spool = openTraceSpool(folder, keptLog())
        for (const chunk of chunks) spool.append(chunk)
        const whole = Buffer.concat(chunks)
        expect(spool.size).toBe(whole.length)
        expect(spool.checksum).toBe(crc32(whole))
        expect(Buffer.compare(await spool.read(offset, length), whole.subarray(offset, offset + length))).toBe(0)
        await spool.close()
      },
    ),
    { numRuns: 50 },
  )
})

test('the file has no name once it is open', async () => {
  const spool = openTraceSpool(folder, keptLog())
  spool.append(Buffer.from('secret'))
  expect(readdirSync(folder)).toEqual([])
  await spool.close()
})

test('bytes that the disk does not take stay in memory', async () => {
  const log = keptLog()
  const full = spoolOf(openSync('/dev/full', 'r+'), log)
  full.append(Buffer.from('one, '))
  full.append(Buffer.from('two'))
  expect((await full.read(0, 100)).toString()).toBe('one, two')
  expect((await full.read(3, 4)).toString()).toBe(', tw')
  expect(log.lines).toHaveLength(1)
  // The memory grows by doubling, so the bytes are not copied for each line.
  const lines = Array.from({ length: 20_000 }, (_, n) => Buffer.from(`line ${n}\n`))
  for (const line of lines) full.append(line)
  const whole = Buffer.concat([Buffer.from('one, two'), ...lines])
  expect(full.size).toBe(whole.length)
  expect(full.checksum).toBe(crc32(whole))
  expect((await full.read(0, whole.length + 1)).equals(whole)).toBe(true)
  await full.close()
})
