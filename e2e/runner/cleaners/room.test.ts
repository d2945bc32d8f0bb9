/** A disk without room for a build is cleaned by the pod of the daemon, before an engine can reach the daemon. */
import { statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lineOf } from '@windlass/volumes/clean'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openDindPods, type DindPods } from '../../support/dind-pods.ts'
import { mountLoopDisk, type LoopDisk } from './loop-disk.ts'

let pods: DindPods
let disk: LoopDisk | undefined
beforeAll(async () => {
  pods = await openDindPods(`room-${process.pid}`)
})
afterEach(async () => {
  await pods.remove()
  await disk?.close()
})
afterAll(() => pods.close())

/** Mounts a small disk and returns it with its volume for pods. */
async function mountDisk(megabytes: number): Promise<{ loop: LoopDisk; volume: object }> {
  disk = await mountLoopDisk(megabytes)
  return { loop: disk, volume: { hostPath: { path: disk.path } } }
}

/** Makes an image of one file. */
function importImage(name: string, bytes: number): Promise<string> {
  const tar = 'head -c $1 /dev/zero > /tmp/file && tar -C /tmp -c file && rm /tmp/file'
  return pods.run('bash', '-c', `set -o pipefail; { ${tar}; } | docker import - $0`, name, String(bytes))
}

async function used(path: string): Promise<number> {
  const { blocks, bfree, bavail } = await statfs(path)
  return (blocks - bfree) / (blocks - bfree + bavail)
}

test('removes nothing once an engine can use the daemon, and before it the least recently used images', async () => {
  const { loop, volume } = await mountDisk(1_000)
  await pods.create(volume)
  await pods.ready()
  await importImage('used:1', 30_000_000)
  await importImage('unused:1', 150_000_000)
  await pods.run('docker', 'volume', 'create', 'cache')
  await pods.end()
  const use = { kind: 'image', name: 'used:1', at: Math.floor(Date.now() / 1_000) + 60 } as const
  await writeFile(join(loop.path, 'dind-volume/events/1'), lineOf(use))
  await loop.fillTo(0.98, join(loop.path, 'volumes/cache/_data/fill'))

  await pods.create(volume)
  const host = await pods.firstAnswer()
  // What an engine finds then stays, although no container uses it yet.
  expect(await used(loop.path)).toBeLessThan(0.9)
  const status = async (path: string): Promise<number> => (await pods.call(host, path)).status
  const found = [await status('/images/used:1/json'), await status('/images/unused:1/json'), await status('/volumes/cache')]
  expect(found).toEqual([200, 404, 200])
  const body = { Image: 'used:1', Cmd: ['true'] }
  expect((await pods.call(host, '/containers/create?name=of-build', { method: 'POST', body })).status).toBe(201)
  await pods.ready()
  expect([await status('/images/used:1/json'), await status('/volumes/cache')]).toEqual([200, 200])
  expect(await status('/containers/of-build/json')).toBe(200)
})

test('makes room for the tools image on a disk that is not full', async () => {
  const { loop, volume } = await mountDisk(700)
  await pods.create(volume)
  await pods.ready()
  await pods.run('docker', 'rmi', '--force', pods.toolsImage)
  await importImage('unused:1', 330_000_000)
  await pods.end()
  expect(await used(loop.path)).toBeLessThan(0.9)

  await pods.create(volume)
  const host = await pods.ready()
  expect((await pods.call(host, `/images/${pods.toolsImage}/json`)).status).toBe(200)
  expect((await pods.call(host, '/images/unused:1/json')).status).toBe(404)
})

test('ends with the sizes of the disk and of the tools image if the image does not fit (R-14)', async () => {
  const { volume } = await mountDisk(150)
  await pods.create(volume)
  expect(await pods.exitCode()).toBe(1)
  expect(await pods.message()).toMatch(
    /^No space left on device: the tools image needs \d{3} MiB on the disk of the build, which has 1\d\d MiB, of which \d+ MiB and \d+ inodes were free/,
  )
})
