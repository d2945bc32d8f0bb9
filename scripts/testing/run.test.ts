import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { endAll, readText, run } from './run.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-run-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('records output, exit code and time of a program', async () => {
  const log = join(folder, 'said')
  const ended = await run(['bash', '-c', 'echo out; echo error >&2; echo "$GIVEN"; exit 3'], { log, env: { GIVEN: 'yes' } })
  expect(ended).toMatchObject({ code: 3, isLate: false, seconds: expect.any(Number), cpuSeconds: expect.any(Number) })
  expect(readText(log)).toBe('out\nerror\nyes\n')
})

test('stopping a run kills a program and its children', async () => {
  const log = join(folder, 'stopped')
  const running = run(['bash', '-c', 'sleep 300 & echo $!; wait'], { log })
  await expect.poll(() => readText(log)).toMatch(/^\d+\n$/)
  endAll()
  expect((await running).code).not.toBe(0)
  const child = Number(readText(log))
  await expect.poll(() => isAlive(child)).toBe(false)
})

test('kills a program that exceeds its time limit', async () => {
  const ended = await run(['sleep', '300'], { log: join(folder, 'late'), limitSeconds: 0.2 })
  expect(ended.code).not.toBe(0)
  expect(ended.isLate).toBe(true)
})

function isAlive(pid: number): boolean {
  // A child of nobody is a zombie until init takes it.
  return /^State:\s+[^ZX]/m.test(readText(`/proc/${pid}/status`))
}
