import { spawn, spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { livenessOf, thisProcess, type Liveness, type ProcessIdentity } from './process-identity.ts'

const { platform } = process

afterEach(() => {
  vi.unstubAllEnvs()
  Object.defineProperty(process, 'platform', { value: platform })
})

/** Sets the platform. Linux and the others all have `ps`. */
function setPlatform(name: NodeJS.Platform): void {
  Object.defineProperty(process, 'platform', { value: name })
}

async function check(owner: ProcessIdentity): Promise<Liveness> {
  const now = Date.now()
  return livenessOf(owner, now - 1000, now)
}

/** Returns a process number that is not in use: that of a process that has just ended. */
function freePid(): number {
  return spawnSync('true').pid
}

describe.each(['linux', 'darwin'] as const)('on %s', (system) => {
  test('reports a running process as alive, and an ended one or one with a reused number as dead', async () => {
    setPlatform(system)
    const me = await thisProcess()
    expect(await check(me)).toBe('alive')
    expect(await check({ ...me, pid: freePid() })).toBe('dead')
    expect(await check({ ...me, startedAt: 'long ago' })).toBe('dead')
  })

  test('recognizes a process of the same boot after the host was renamed', async () => {
    setPlatform(system)
    const me = await thisProcess()
    const renamed = { ...me, machine: me.machine.replace(hostname(), 'john.fritz.box') }
    expect(await check(renamed)).toBe('alive')
    expect(await check({ ...renamed, pid: freePid() })).toBe('dead')
    expect(await check({ ...renamed, boot: 'of another machine' })).toBe('unknown')
    expect(await check({ ...renamed, space: 'pid:[1]' })).toBe('unknown')
  })
})

test('ignores the time zone and the language of the terminal on systems other than Linux', async () => {
  setPlatform('darwin')
  const me = await thisProcess()
  vi.stubEnv('TZ', 'Asia/Tokyo')
  vi.stubEnv('LC_ALL', 'de_DE.UTF-8')
  expect(await check(me)).toBe('alive')
  // Another time zone would change it by hours.
  expect(Math.abs(Date.parse((await thisProcess()).startedAt) - Date.parse(me.startedAt))).toBeLessThan(10_000)
})

test('accepts a difference of a second in the start time from ps, but not of a minute', async () => {
  setPlatform('darwin')
  const me = await thisProcess()
  const later = (ms: number): string => new Date(Date.parse(`${me.startedAt} UTC`) + ms).toUTCString().replace(' GMT', '')
  expect(await check({ ...me, startedAt: later(1_000) })).toBe('alive')
  expect(await check({ ...me, startedAt: later(60_000) })).toBe('dead')
})

test('without ps, reports only a process that does not exist as dead', async () => {
  setPlatform('darwin')
  const child = spawn('sleep', ['60'])
  const before = await thisProcess()
  vi.stubEnv('PATH', '/nonexistent')
  const none = await thisProcess()
  expect(none.startedAt).toBe('')
  for (const owner of [before, none, { ...none, pid: child.pid ?? 0 }]) expect(await check(owner)).toBe('unknown')
  const ended = Promise.withResolvers<void>()
  child.on('exit', () => ended.resolve())
  child.kill()
  await ended.promise
  expect(await check({ ...none, pid: child.pid ?? 0 })).toBe('dead')
  vi.unstubAllEnvs()
  // Its start time was not recorded, so the number may belong to another process.
  expect(await check(none)).toBe('unknown')
})

test('reports a process from before a reboot as dead, unless its boot is unknown', async () => {
  const me = await thisProcess()
  const longAgo = 0
  expect(await livenessOf({ ...me, boot: 'before' }, longAgo, Date.now())).toBe('dead')
  expect(await livenessOf({ ...me, boot: '' }, longAgo, Date.now())).toBe('unknown')
})
