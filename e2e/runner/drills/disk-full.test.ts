/** Disks of builds on a file system that is small and gets full: told with words, ended properly, and nothing that was said is lost. */
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

test('R-14: a step that fills the disk of its build fails with the words of the file system, and its log is whole', async () => {
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
    // Once there is room again the same disk serves the next build, without anybody helping.
    expect((await run('after', ['echo room again'])).code).toBe(0)
  }
})

test("R-14: a node whose disk folder is full ends a build with an infrastructure reason and the file system's words, and heals by itself", async () => {
  const filler = join(volumes, 'filler')
  await runProgram('sh', ['-c', 'dd if=/dev/zero of="$0" bs=1M 2>/dev/null || true', filler])
  try {
    stage.landed("node's disk folder filled")
    const { code, final, log } = await run('no-room', [
      'for n in $(seq 1 20000); do echo "a line that needs no room on the disk $n"; done',
    ])
    console.log(`on a full disk folder: exit code ${code}, ${final.trim().slice(0, 500)}`)
    expect(`${final}${log}`).toMatch(/no space left on device/i)
    expect(code).toBe(1)
  } finally {
    await rm(filler, { force: true })
  }
  expect((await run('healed', ['echo room again'])).code).toBe(0)
})
