import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { decodeFrames, openJobLog } from './job-log.ts'
import { appendServiceLog } from './service-log.ts'

test('the lines of a service are frames of the log, and a log that is read again adds only what is new', async () => {
  const exchangeFolder = mkdtempSync(join(tmpdir(), 'windlass-service-log-'))
  onTestFinished(() => rmSync(exchangeFolder, { recursive: true, force: true }))
  const log = openJobLog(join(exchangeFolder, 'job.log'), () => 1)
  log.write('work', Buffer.from('before\n'))
  const lines = [
    '2026-05-03T10:00:00.000000001Z first',
    '2026-05-03T10:00:00.000000002Z second with a space ',
    'a line without a time',
    '2026-05-03T12:00:00.5+02:00 ',
  ]
  const append = (count: number): Promise<void> =>
    appendServiceLog({ exchangeFolder, service: 1, name: 'db', input: Readable.from([`${lines.slice(0, count).join('\n')}\n`]) })
  await append(1)
  await append(4)
  await append(4)
  const { frames } = decodeFrames(readFileSync(join(exchangeFolder, 'job.log')))
  expect(frames.map(({ kind, bytes }) => [kind, bytes.toString()])).toEqual([
    ['work', 'before\n'],
    ['service-1', '[service:db] first\n'],
    ['service-1', '[service:db] second with a space \n'],
    ['service-1', '[service:db] \n'],
  ])
  expect(frames.at(-1)?.at).toBe(Date.parse('2026-05-03T10:00:00.5Z') * 1_000)
  log.close()
})
