import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ensureImages } from '../support/images.ts'
import { noteImages } from '../support/leftovers.ts'
import { removeLocalRuns } from '../support/local-runs.ts'
import { WINDLASS } from '../support/programs.ts'

const root = join(import.meta.dirname, '../..')
const examples = readdirSync(join(root, 'examples')).filter((name) => existsSync(join(root, 'examples', name, 'expected.json')))

const Expected = z.object({ branch: z.string().optional(), status: z.string(), steps: z.record(z.string(), z.string()) })
const Final = z.object({ status: z.string(), steps: z.array(z.object({ name: z.string(), status: z.string() })) })

let folder = ''
let removeBuilt = async (): Promise<void> => undefined
beforeAll(async () => {
  const images = await ensureImages('shell', 'debian', 'node', 'tools')
  folder = await mkdtemp(join(tmpdir(), 'windlass-examples-'))
  // A copy: the volume of a run is named after the place of its document, and that of the clone may be in use.
  await cp(join(root, 'examples'), join(folder, 'examples'), { recursive: true })
  removeBuilt = await noteImages('example/')
  await writeFile(
    join(folder, 'images.env'),
    Object.entries(images)
      .map(([name, image]) => `${name}=${image}\n`)
      .join(''),
  )
})
afterAll(async () => {
  await removeLocalRuns(folder)
  await removeBuilt()
  await rm(folder, { recursive: true, force: true })
})

test.each(examples)('the example %s ends as its expected.json says', async (name) => {
  const expected = Expected.parse(JSON.parse(readFileSync(join(root, 'examples', name, 'expected.json'), 'utf8')))
  const file = join(folder, 'examples', name, 'codefresh.yml')
  const branch = expected.branch === undefined ? [] : ['--branch', expected.branch]
  const args = ['run', '--local', '--file', file, '--var-file', join(folder, 'images.env'), '--output', 'json', ...branch]
  // Less than the time limit of a test, so that a run that hangs ends with it.
  const child = spawn(WINDLASS, args, { cwd: folder, timeout: 540_000, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(stdout, stderr).not.toBe('')
  const final = Final.parse(JSON.parse(stdout))
  const steps = Object.fromEntries(final.steps.map((step) => [step.name, step.status]))
  expect({ status: final.status, steps }, stderr).toEqual({ status: expected.status, steps: expected.steps })
})
