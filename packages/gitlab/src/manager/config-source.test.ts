import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { keptLog, turns } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { openConfigSource } from './config-source.ts'

const FILE = `concurrent = 1
[[runners]]
name = "shop"
url = "https://gitlab.test"
token = "t"
executor = "kubernetes"
prepare_timeout = "5m"
[runners.kubernetes]
namespace = "jobs"
`

test('each warning about the configuration is logged once, with its place and what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-source-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'config.toml')
  writeFileSync(file, FILE)
  const [clock, log] = [manualClock(), keptLog()]
  const source = openConfigSource(file, { clock, log })
  expect(source.load().concurrent).toBe(1)
  expect(log.lines).toMatchObject([
    {
      level: 'warn',
      fields: { file, line: 7, key: 'runners[0].prepare_timeout', runner: 'shop', hint: expect.stringContaining('poll_timeout') },
      message: 'the key "prepare_timeout" has no effect: the time for the pod to start has one limit',
    },
  ])
  const stop = new AbortController()
  const configs: number[] = []
  const watching = source.watch(() => void configs.push(source.load().concurrent), stop.signal)
  await turns()
  expect(configs).toEqual([])
  writeFileSync(file, FILE.replace('concurrent = 1', 'concurrent = 25'))
  clock.advance(3_000)
  await turns()
  expect(configs).toEqual([25])
  expect(log.lines).toHaveLength(1)
  expect(source.isCurrent()).toBe(true)
  clock.advance(63_000)
  expect(source.isCurrent()).toBe(false)
  stop.abort()
  await watching
})
