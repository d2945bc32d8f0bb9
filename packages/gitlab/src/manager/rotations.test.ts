import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { advanceUntil, openPair, TOKEN, turns } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { loadConfig } from '../config/config-file.ts'
import { openRotations } from './rotations.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const LIFE_MS = 3_600_000

/** Opens the rotations of a file with one runner whose token expires in an hour, and begins with it. */
async function scene() {
  const clock = manualClock(START)
  const { fake, client, log } = await openPair({ clock })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-rotations-'))
  const configFile = join(folder, 'config.toml')
  writeFileSync(
    configFile,
    `# Kept.\n[[runners]]\nname = "shop"\nurl = "${fake.url}"\nid = 7\ntoken = "${TOKEN}"\nexecutor = "kubernetes"\n` +
      'token_obtained_at = 2026-01-01T00:00:00Z\ntoken_expires_at = 2026-01-01T01:00:00Z\n[runners.kubernetes]\nnamespace = "ci"\n',
  )
  const stop = new AbortController()
  onTestFinished(() => {
    stop.abort()
    rmSync(folder, { recursive: true })
  })
  const [runner] = loadConfig(configFile).config.runners
  if (runner === undefined) throw new Error('the file has no runner')
  const rotations = openRotations({ configFile, clock, log, signal: stop.signal })
  rotations.start({ key: 'one', runnerKey: 'r', runner, coordinator: client, tls: undefined })
  return { clock, fake, rotations, text: () => readFileSync(configFile, 'utf8') }
}

test('a token is renewed before it expires, and its file keeps the rest', async () => {
  const { clock, fake, text } = await scene()
  await advanceUntil(clock, 60_000, () => !text().includes(TOKEN))
  expect(clock.now()).toBeLessThan(START + LIFE_MS)
  expect(fake.of('reset-token')).toHaveLength(1)
  expect(text()).toMatch(/^# Kept\.\n[\s\S]*token = "glrt-renewed-1"/)
})

test('the token of a runner that is not in the configuration any more is not renewed', async () => {
  const { clock, fake, rotations } = await scene()
  rotations.keep(new Set(['one', 'other']))
  rotations.keep(new Set(['other']))
  for (let n = 0; n < 70; n += 1) {
    clock.advance(60_000)
    await turns(3)
  }
  expect(fake.of('reset-token')).toEqual([])
})
