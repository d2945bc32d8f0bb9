/** Builds whose disks are on a small file system that fills up: reported with a message, ended properly, without losing log lines. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../../support/process.ts'
import { openStage, rounds, type Stage } from './stage.ts'

/** Room for the tools image of a build and little else. */
const SIZE = '900M'

let folder = ''
let volumes = ''
let stage: Stage

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drill-disk-'))
  volumes = join(folder, 'volumes')
  await mkdir(volumes)
  await runProgram('truncate', ['--size', SIZE, join(folder, 'disk.img')])
  await runProgram('mkfs.ext4', ['-q', '-F', join(folder, 'disk.img')])
  await runProgram('mount', ['-o', 'loop', join(folder, 'disk.img'), volumes])
  stage = await openStage('drill-disk', { agentEnv: { WINDLASS_AGENT_VOLUME_DIR: volumes } })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await runProgram('umount', ['--lazy', volumes])
  await rm(folder, { recursive: true, force: true })
})

async function run(name: string, commands: readonly string[]): Promise<{ code: number; log: string; final: string }> {
  const image = stage.installation.images['TOOLS_IMAGE'] ?? ''
  const document = { version: '1.0', steps: { work: { image, commands } } }
  const file = await stage.installation.file(`${name}.json`, JSON.stringify(document))
  const { code, stdout, stderr } = await stage.installation.windlass('run', '-f', file, '--output', 'json')
  return { code, log: stderr, final: stdout }
}

test('a step that fills the disk of its build fails with the message of the file system, and its log is complete (R-14)', async () => {
  for (let round = 0; round < rounds(5); round += 1) {
    const { code, log, final } = await run('fill', [
      'for n in $(seq 1 200); do echo "before $n"; done',
      'dd if=/dev/zero of=/codefresh/volume/big bs=1M || { for n in $(seq 1 200); do echo "after $n"; done; rm -f /codefresh/volume/big; exit 7; }',
    ])
    stage.landed('disk filled by a step')
    expect(code, final + log).toBe(1)
    expect(log).toMatch(/No space left on device/)
    for (const word of ['before', 'after']) {
      const said = [...log.matchAll(new RegExp(`${word} (\\d+)$`, 'gm'))].map((match) => Number(match[1]))
      expect(said).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    }
    expect(JSON.parse(final)).toMatchObject({ status: 'error', reason: 'step-failed' })
    // Once there is room again, the same disk serves the next build without intervention.
    expect((await run('after', ['echo room again'])).code).toBe(0)
  }
})

/** Fills a folder, and takes every block that becomes free again, as a busy program on the node does. A daemon needs only a few of them. */
async function keepFull(folder: string): Promise<AsyncDisposable> {
  const filler = join(folder, 'filler')
  const fill = (blockSize: string): string => `dd if=/dev/zero bs=${blockSize} 2>/dev/null >>"$0" || true`
  await runProgram('sh', ['-c', fill('1M'), filler])
  const over = new AbortController()
  const filling = runProgram('sh', ['-c', `while sleep 0.02; do ${fill('4k')}; done`, filler], { signal: over.signal })
  filling.catch(() => undefined)
  return {
    async [Symbol.asyncDispose]() {
      over.abort()
      await filling.catch(() => undefined)
      await rm(filler, { force: true })
    },
  }
}

test('a full disk folder of a node ends a build with an infrastructure reason and the message of the file system, and recovers (R-14)', async () => {
  // The daemon of the last build removes its containers after the end of the build.
  await stage.installation.kubectl('wait', 'pods', '--for=delete', '--selector', 'windlass.io/build', '--timeout=120s')
  {
    await using _full = await keepFull(volumes)
    stage.landed("node's disk folder filled")
    const { code, final, log } = await run('no-room', [
      'for n in $(seq 1 20000); do echo "a line that needs no room on the disk $n"; done',
    ])
    console.log(`on a full disk folder: exit code ${code}, ${final.trim().slice(0, 500)}`)
    expect(`${final}${log}`).toMatch(/no space left on device/i)
    expect(code).toBe(1)
    expect(JSON.parse(final)).toMatchObject({ status: 'error', reason: 'disk-full' })
  }
  expect((await run('healed', ['echo room again'])).code).toBe(0)
})
