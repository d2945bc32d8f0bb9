/** The facts that the daemon's pod reports of its disk, by its own program on a small file system. */
import { appendFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { readDiskFacts } from '@windlass/volumes/clean'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureImages } from '../../support/images.ts'
import { runProgram } from '../../support/process.ts'
import { mountLoopDisk, type LoopDisk } from './loop-disk.ts'

let disk: LoopDisk
beforeEach(async () => {
  disk = await mountLoopDisk(64)
})
afterEach(() => disk.close())

async function begin(pod: string, variables: Record<string, string> = {}): Promise<string> {
  const { DIND_IMAGE: image = '' } = await ensureImages('dind')
  const env = Object.entries({ POD_NAME: pod, ...variables }).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const volume = ['--volume', `${disk.path}:/var/lib/docker`]
  await runProgram('docker', ['run', '--rm', '--network', 'none', ...env, ...volume, image, 'dind-helper', 'begin'])
  return readlink(join(disk.path, 'dind-volume/facts'))
}

test('counts builds from the one that cleaned the disk, and passes settings on (R104)', async () => {
  expect(readDiskFacts(await begin('dind-1'))).toMatchObject({ pod: 'dind-1', buildsSince: 0, leftOver: false, variables: {} })
  await begin('dind-2')
  const third = await begin('dind-3', { CLEAN_PERIOD_BUILDS: '7', CLEANER_DRY_RUN: 'a/b', HOME: '/root' })
  expect(readDiskFacts(third)).toMatchObject({ pod: 'dind-3', buildsSince: 2, variables: { CLEAN_PERIOD_BUILDS: '7' } })
})

test('reports the use of a disk that is completely full', async () => {
  const before = readDiskFacts(await begin('dind-1', { CLEAN_PERIOD_BUILDS: '7' }))
  await disk.fillTo(0.9, join(disk.path, 'fill'))
  for (const bytes of [65_536, 512]) await expect(writeUntilFull(bytes)).rejects.toThrow('ENOSPC')
  const now = readDiskFacts(await begin('dind-1'), before)
  expect(now).toMatchObject({ pod: 'dind-1', variables: { CLEAN_PERIOD_BUILDS: '7' } })
  expect(now?.usage.disk).toBeGreaterThan(0.98)
})

async function writeUntilFull(bytes: number): Promise<never> {
  for (;;) await appendFile(join(disk.path, `rest-${bytes}`), Buffer.alloc(bytes), { flush: true })
}
