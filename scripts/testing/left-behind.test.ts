import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { awaitNothingLeft, leftBehind, newUnnamedImages, orphans } from './left-behind.ts'

const before = new Set(['container 1 web nginx', 'image debian:12 aa', 'network 5 bridge'])

test('ignores earlier objects and the images of scripts/images', () => {
  const after = new Set([...before, 'image windlass/tools:1 bb', 'network 9 bridge'])
  expect(leftBehind(before, after, ['windlass/tools:1'])).toEqual([])
})

test('names new containers, images, volumes, networks, builders and cluster objects', () => {
  const came = [
    'builder x',
    'container 2 job shell',
    'image <none>:<none> cc',
    'namespace/left',
    'network 7 steps',
    'volume disk',
  ]
  expect(leftBehind(before, new Set([...before, ...came]), ['windlass/tools:1'])).toEqual(came)
})

test('finds the new images without a name', () => {
  const after = new Set([...before, 'image <none>:<none> cc', 'image shell:1 dd', 'volume <none>'])
  expect(newUnnamedImages(new Set([...before, 'image <none>:<none> bb']), new Set([...after, 'image <none>:<none> bb']))).toEqual(
    ['cc'],
  )
})

test.each(['namespace/going', 'container 2 job shell'])('waits for %s to go', async (thing) => {
  const looks = [new Set([...before, thing]), before]
  expect(await awaitNothingLeft(before, () => Promise.resolve(looks.shift() ?? before), [])).toEqual([])
})

test('names a container that stays', async () => {
  const container = new Set([...before, 'container 2 job shell'])
  expect(await awaitNothingLeft(before, () => Promise.resolve(container), [], 0)).toEqual(['container 2 job shell'])
})

test('names a process that has lost its parent, but no child of this one, and none with a pid file', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'left-behind-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await once(spawn('sh', ['-c', 'sleep 300 & echo $! >pid'], { cwd: folder, stdio: 'ignore' }), 'exit')
  const pid = readFileSync(join(folder, 'pid'), 'utf8').trim()
  onTestFinished(() => void process.kill(Number(pid), 'SIGKILL'))
  const child = spawn('sleep', ['301'], { cwd: folder, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await expect.poll(() => readFileSync(`/proc/${child.pid}/comm`, 'utf8')).toBe('sleep\n')
  // Until it has begun its program, it has the name of the shell.
  await expect.poll(() => orphans(folder)).toEqual([`process ${pid} sleep 300`])
  expect(orphans(folder, new Set([pid]))).toEqual([])
  expect(orphans(join(folder, 'other'))).toEqual([])
})
