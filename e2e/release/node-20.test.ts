/** The npm package of the command, installed on a machine that has Node 20 and nothing of this clone. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { VERSION } from '@windlass/plan'
import { makeNpmPackage } from '../../scripts/release/npm-package.ts'
import { writeArchive } from '../../scripts/release/tar.ts'
import { ensureImages } from '../support/images.ts'
import { openBareMachine, type BareMachine } from './bare-machine.ts'

const images = await ensureImages('shell', 'tools')
/** The charts in the package pin images, which this test does not pull. */
const DIGEST = `sha256:${'0'.repeat(64)}`

let folder: string
let archive: string
let machine: BareMachine

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'windlass-package-'))
  archive = join(folder, `windlass-cli-${VERSION}.tgz`)
  const { entries } = await makeNpmPackage(VERSION, { windlass: DIGEST, dind: DIGEST })
  await writeArchive(archive, entries)
  machine = await openBareMachine()
})

afterAll(async () => {
  await machine?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

test('the command installs from its file on Node 20 and runs without other packages and variables (R005)', async () => {
  const once = await machine.run('npx', ['--offline', '--yes', '--package', archive, 'windlass', 'version'])
  expect(once).toMatchObject({ code: 0, text: expect.stringContaining(`windlass ${VERSION} (Node 20.`) })
  const prefix = await machine.install(archive)
  const document = join(machine.folder, 'hello.yml')
  const steps = `  hello: { image: '${images['SHELL_IMAGE'] ?? ''}', commands: [echo hello from a step, cf_export NAME=kept] }
  use: { image: '${images['SHELL_IMAGE'] ?? ''}', commands: ['echo "got $NAME"'] }`
  await writeFile(document, `version: '1.0'\nsteps:\n${steps}\n`)
  expect(await machine.run('windlass', ['version'])).toMatchObject({ code: 0, text: expect.stringContaining(VERSION) })
  expect(await machine.run('windlass', ['validate', document])).toMatchObject({ code: 0 })
  expect(await machine.run('windlass', ['plan', '-f', document])).toMatchObject({
    code: 0,
    text: expect.stringContaining('hello'),
  })
  const build = await machine.run('windlass', ['run', '--local', '-f', document])
  expect(build.text).toMatch(/hello from a step\n[^]*got kept\n/)
  expect(build.code).toBe(0)
  const server = await machine.run('windlass', ['up'])
  expect(server).toMatchObject({ code: 2, text: expect.stringContaining('Use Node 24 or later for this command') })
  expect(await readFile(join(prefix, 'share/man/man1/windlass.1'), 'utf8')).toContain('.B windlass run [pipeline] [options]\n')
})
