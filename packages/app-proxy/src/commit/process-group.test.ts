import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseProcessStat } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { runGroup, type GroupCommand } from './process-group.ts'

function commandIn(folder: string, more: Partial<GroupCommand> = {}): GroupCommand {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
  return { folder, env, maxBytes: 1_000, timeoutMs: 60_000, signal: new AbortController().signal, ...more }
}

test('a program gets its input, and returns its code, output and messages', async () => {
  const script = 'cat; echo problem >&2; exit 3'
  expect(await runGroup('sh', ['-c', script], commandIn(tmpdir(), { input: 'text' }))).toEqual({
    code: 3,
    limit: undefined,
    output: Buffer.from('text'),
    errors: 'problem\n',
  })
})

test('a program that is aborted ends with those that it has started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-group-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const leaving = new AbortController()
  const running = runGroup('sh', ['-c', 'sleep 600 & echo $! > id; wait'], commandIn(folder, { signal: leaving.signal }))
  const file = join(folder, 'id')
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim()).toMatch(/^\d+$/)
  leaving.abort(new DOMException('the caller left', 'AbortError'))
  await expect(running).rejects.toThrow('the caller left')
  const stat = `/proc/${readFileSync(file, 'utf8').trim()}/stat`
  await expect
    .poll(() => (existsSync(stat) ? parseProcessStat(readFileSync(stat, 'utf8'))?.state : 'gone'))
    .toMatch(/^(?:gone|Z)$/)
})

test('a program that takes too long or prints too much is ended', async () => {
  expect(await runGroup('sleep', ['600'], commandIn(tmpdir(), { timeoutMs: 50 }))).toMatchObject({
    code: undefined,
    limit: 'time',
  })
  expect(await runGroup('yes', [], commandIn(tmpdir()))).toMatchObject({ code: undefined, limit: 'output' })
})

test('a program that does not exist, and one whose caller has left, do not start', async () => {
  await expect(runGroup('no-such-program', [], commandIn(tmpdir()))).rejects.toMatchObject({ code: 'ENOENT' })
  const left = AbortSignal.abort(new DOMException('the caller left', 'AbortError'))
  await expect(runGroup('sleep', ['600'], commandIn(tmpdir(), { signal: left }))).rejects.toThrow('the caller left')
})
