import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, silentLog, systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { watchToken } from './token-source.ts'

test('each token is reported once, also one that came before the watch began', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'token')
  writeFileSync(file, 'second\n')
  const clock = manualClock()
  const over = new AbortController()
  const seen: string[] = []
  const watched = watchToken({ file, token: 'first' }, { clock, log: silentLog, signal: over.signal }, (token) =>
    seen.push(token),
  )
  const look = async (): Promise<void> => {
    await systemClock.sleep(0)
    clock.advance(2_000)
    await systemClock.sleep(0)
  }
  await look()
  expect(seen).toEqual(['second'])
  rmSync(file)
  await look()
  writeFileSync(file, 'third')
  await look()
  await look()
  expect(seen).toEqual(['second', 'third'])
  over.abort()
  await watched
})
