/** Builds whose disks are on a small file system that fills up: reported with a message, ended properly, without losing log lines. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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

function run(commands: readonly string[]): ReturnType<Stage['installation']['run']> {
  const steps = { work: { image: stage.installation.images['TOOLS_IMAGE'], commands } }
  return stage.installation.run({ document: JSON.stringify({ version: '1.0', steps }) })
}

test('a step that fills the disk of its build fails with the message of the file system, and its log is complete (R-14)', async () => {
  for (let round = 0; round < rounds(5); round += 1) {
    const { build, log } = await run([
      'for n in $(seq 1 200); do echo "before $n"; done',
      'dd if=/dev/zero of=/codefresh/volume/big bs=1M || { for n in $(seq 1 200); do echo "after $n"; done; rm -f /codefresh/volume/big; exit 7; }',
    ])
    stage.landed('disk filled by a step')
    expect(build, log).toMatchObject({ status: 'error', reason: 'step-failed' })
    expect(log).toMatch(/No space left on device/)
    for (const word of ['before', 'after']) {
      const said = [...log.matchAll(new RegExp(`${word} (\\d+)$`, 'gm'))].map((match) => Number(match[1]))
      expect(said).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    }
    // Once there is room again, the same disk serves the next build without intervention.
    expect((await run(['echo room again'])).build.status).toBe('success')
  }
})

/** Appends to a file for as long as there is room, again and again, and says when there is none for the first time. */
const FILL = `
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
block = bytes(1 << 20)
isFull = False
while True:
    try: os.write(file, block)
    except OSError:
        # A large block is refused while there is room for small ones.
        if len(block) > 4096:
            block = bytes(4096)
            continue
        if not isFull: print('full', flush=True)
        isFull = True
        time.sleep(0.005)
`

/** Fills a folder, and takes every block that becomes free again, as a busy program on the node does. A daemon needs only a few of them. */
async function keepFull(folder: string): Promise<AsyncDisposable> {
  const filler = join(folder, 'filler')
  const filling = spawn('python3', ['-c', FILL, filler], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(filling, 'exit')
  await once(filling.stdout, 'data')
  return {
    async [Symbol.asyncDispose]() {
      filling.kill('SIGKILL')
      await ended
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
    const { build, log } = await run(['for n in $(seq 1 20000); do echo "a line that needs no room on the disk $n"; done'])
    const told = JSON.stringify(build)
    console.log(`on a full disk folder: ${told.slice(0, 500)}`)
    expect(`${told}${log}`).toMatch(/no space left on device/i)
    expect(build).toMatchObject({ status: 'error', reason: 'disk-full' })
  }
  expect((await run(['echo room again'])).build.status).toBe('success')
})
