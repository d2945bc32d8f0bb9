/** A server whose data folder, or only its log folder, is on a disk that is temporarily full. */
import { engineCalls } from '@windlass/client/engine'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isFault, manualClock, systemClock } from '@windlass/kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openHttpScene } from '../../packages/server/test/support/http-scene.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

let folder = ''

beforeEach(async () => {
  folder = await mountSmallDisk('6m')
})

afterEach(() => unmountSmallDisk(folder))

/** Fills the rest of the disk. Returns a function that frees it. */
async function fillDisk(): Promise<() => Promise<void>> {
  const file = join(folder, 'filler')
  await expect(writeFile(file, Buffer.alloc(8_000_000, 'x'))).rejects.toMatchObject({ code: 'ENOSPC' })
  return () => rm(file)
}

test('calls of a running engine wait for disk space, and its attempt continues', async () => {
  await using scene = await openHttpScene({ dataDir: folder })
  const { build, engine } = await scene.start()
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  const free = await fillDisk()
  const answers = new Set<string>()
  const note = (error: unknown): void => void answers.add(isFault(error) ? `${error.code} ${error.retryable}` : String(error))
  const events = [{ type: 'notice', level: 'info', message: 'x'.repeat(8000), seq: 3, at: 1 }]
  for (let n = 0; n < 50; n += 1) {
    await engineCalls(engine.client)
      .sendEvents({ events: events.map((event) => ({ ...event, seq: 3 + n })) })
      .catch(note)
    await engineCalls(engine.client).heartbeat({}).catch(note)
    await scene.admin.builds.get(build.id).catch(note)
  }
  await engine.log('step/hello', 'a line\n').catch(note)
  expect([...answers]).toEqual(['storage-full true'])
  await free()
  expect(await engine.log('step/hello', 'a line\n')).toBe(7)
  const { attempts } = await scene.admin.builds.get(build.id)
  expect(attempts).toMatchObject([{ number: 1, status: 'running' }])
})

test('new builds are refused while the log disk is short of inodes, and running builds wait for space', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-inodes-'))
  const logs = await mountSmallDisk('50m', 200)
  await symlink(logs, join(dataDir, 'logs'))
  try {
    const clock = manualClock(systemClock.now())
    await using scene = await openHttpScene({ dataDir, minFreeShare: 0.05, clock })
    const { build, engine } = await scene.start()
    await engine.log('step/hello', 'first\n')
    const fillers: string[] = []
    for (let isFull = false; !isFull;) {
      const file = join(logs, `filler-${fillers.length}`)
      isFull = await writeFile(file, '').then(
        () => false,
        () => true,
      )
      if (!isFull) fillers.push(file)
    }
    clock.advance(10_000)
    await expect(scene.submit()).rejects.toMatchObject({
      code: 'storage-full',
      message: 'Only 0.0 % of the inodes are free; new builds need 5.0 %.',
    })
    await expect(engine.log('step/hello', 'second\n')).rejects.toMatchObject({ code: 'storage-full', retryable: true })
    expect(await scene.admin.text('GET', '/metrics')).toContain('windlass_inodes_free_ratio 0\n')
    for (const file of fillers) await rm(file)
    clock.advance(10_000)
    expect(await engine.log('step/hello', 'second\n')).toBe(13)
    await scene.submit()
    expect((await scene.admin.builds.get(build.id)).attempts).toMatchObject([{ status: 'running' }])
  } finally {
    await unmountSmallDisk(logs)
    await rm(dataDir, { recursive: true })
  }
})
