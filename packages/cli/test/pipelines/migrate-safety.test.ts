/** What `migrate` must not change on a server, and its interrupt. Runs the command in this process. */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { migrate } from '../../src/commands/migrate/action.ts'
import { readSettings } from '../../src/config.ts'
import type { Printer } from '../../src/printer.ts'
import { recordOutput } from '../recorded-output.ts'

interface Report {
  readonly resources: readonly {
    name: string
    outcome: string
    done?: string
    remarks: readonly { path: string; reason: string }[]
  }[]
}

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-migrate-'))
  folders.push(folder)
  return folder
}

interface Migration {
  readonly text: string
  readonly scene?: HttpScene
  readonly overwrite?: boolean
  readonly outputDir?: string
  /** Sends SIGINT in the first turn of the event loop after the command has begun, or when it prints the first resource. */
  readonly interruptAt?: 'start' | 'first-line'
}

interface Migrated {
  readonly code: number
  readonly report: Report | undefined
  /** Lines on standard error. */
  readonly notes: readonly string[]
}

async function runMigrate({ text, scene, overwrite = false, outputDir, interruptAt }: Migration): Promise<Migrated> {
  const file = join(await openFolder(), 'account.yml')
  await writeFile(file, text)
  const recorded = recordOutput()
  const { lines, notes } = recorded
  const out: Printer = {
    ...recorded,
    line(text) {
      recorded.line(text)
      if (interruptAt === 'first-line' && lines.length === 1) process.emit('SIGINT')
    },
  }
  const env = scene === undefined ? {} : { WINDLASS_URL: scene.server.url, WINDLASS_API_KEY: scene.adminToken }
  const output = interruptAt === 'first-line' ? undefined : 'json'
  const options = { from: undefined, tokenFile: undefined, outputDir, dryRun: false, overwrite, output } as const
  if (interruptAt === 'start') setImmediate(() => process.emit('SIGINT'))
  const code = await migrate({ args: [file], options, out, settings: readSettings(env) })
  const [json] = lines
  return { code, report: json === undefined || output === undefined ? undefined : JSON.parse(json), notes }
}

const registry = (name: string): string =>
  `kind: context\nmetadata: {name: ${name}, default: true}\nspec: {type: registry, data: {domain: ${name}.example.com}}\n`

test('a default context of the source does not replace the default of the server without --overwrite', async () => {
  await using scene = await openHttpScene()
  await scene.admin.contexts.create({ name: 'mine', type: 'registry', isDefault: true, data: { domain: 'mine.example.com' } })
  const text = registry('foreign')
  const first = await runMigrate({ scene, text })
  expect(first).toMatchObject({
    code: 0,
    report: { resources: [{ name: 'foreign', done: 'created', remarks: [{ path: 'metadata.default' }] }] },
  })
  expect(await scene.admin.contexts.get('mine')).toMatchObject({ isDefault: true })
  expect(await scene.admin.contexts.get('foreign')).toMatchObject({ isDefault: false })
  expect((await runMigrate({ scene, text })).report?.resources).toMatchObject([{ done: 'unchanged' }])
  expect((await runMigrate({ scene, text, overwrite: true })).report?.resources).toMatchObject([
    { done: 'configured', remarks: [] },
  ])
  expect(await scene.admin.contexts.get('mine')).toMatchObject({ isDefault: false })
  expect(await scene.admin.contexts.get('foreign')).toMatchObject({ isDefault: true })
})

const git = (data: string): string => `kind: context\nmetadata: {name: github}\nspec: {type: git, data: {${data}}}\n`

test.each([
  {
    title: 'removes the stored password if the URL changes',
    data: 'url: https://evil.example.com, username: bot',
    isKept: false,
  },
  {
    title: 'removes the stored password if the user name changes',
    data: 'url: https://github.com, username: other',
    isKept: false,
  },
  {
    title: 'removes the stored password if the host keys change',
    data: 'url: https://github.com, username: bot, sshKnownHosts: x',
    isKept: false,
  },
  { title: 'removes the stored password if the URL is masked', data: "url: '*****', username: bot", isKept: false },
  {
    title: 'keeps the stored password for the same URL and user name',
    data: 'url: https://github.com, username: bot',
    isKept: true,
  },
])('migrate --overwrite $title', async ({ data, isKept }) => {
  await using scene = await openHttpScene()
  const stored = { url: 'https://github.com', username: 'bot', password: 'real' }
  await scene.admin.contexts.create({ name: 'github', type: 'git', isDefault: true, data: stored })
  const { report } = await runMigrate({ scene, text: git(`${data}, password: '*****'`), overwrite: true })
  const removed = report?.resources[0]?.remarks.filter(({ reason }) =>
    reason.startsWith('The stored value of "password" is removed'),
  )
  expect(report?.resources).toMatchObject([{ name: 'github', done: 'configured' }])
  expect(removed).toHaveLength(isKept ? 0 : 1)
  const pipeline = "version: '1.0'\nsteps: {c: {type: git-clone, repo: a/b, git: github}}\n"
  const { engine } = await scene.start({ document: pipeline })
  expect(engine.claimed.git[0]?.password).toBe(isKept ? 'real' : '')
})

test('migrate --overwrite keeps the secrets of the server that a file has empty', async () => {
  await using scene = await openHttpScene()
  const stored = { url: 'https://github.com', username: 'bot', password: 'real' }
  await scene.admin.contexts.create({ name: 'github', type: 'git', isDefault: true, data: stored })
  const text = git("url: https://github.com, username: bot, password: ''").replace('github}', 'github, default: true}')
  const { report } = await runMigrate({ scene, text, overwrite: true })
  expect(report?.resources).toMatchObject([{ done: 'unchanged', remarks: [{ path: 'spec.data.password' }] }])
  const pipeline = "version: '1.0'\nsteps: {c: {type: git-clone, repo: a/b, git: github}}\n"
  const { engine } = await scene.start({ document: pipeline })
  expect(engine.claimed.git[0]?.password).toBe('real')
})

test('names the triggers that start no builds', async () => {
  await using scene = await openHttpScene()
  const text = `kind: pipeline\nmetadata: {name: app}\nspec:\n  cronTriggers: [{name: nightly, expression: '0 3 * * *', branch: main}]\n  steps: {a: {image: alpine}}\n`
  const { report } = await runMigrate({ scene, text })
  expect(report?.resources).toMatchObject([{ name: 'app', done: 'created', remarks: [{ path: 'spec.cronTriggers[0]' }] }])
  expect(report?.resources[0]?.remarks[0]?.reason).toMatch(/^The trigger "nightly" starts no builds: .*\.$/)
})

const pipelines = (count: number, steps: number): string =>
  Array.from(
    { length: count },
    (_, n) => `---\nkind: pipeline\nmetadata: {name: p${n}}\nspec:\n  steps:\n${stepLines(steps)}`,
  ).join('')

const stepLines = (count: number): string =>
  Array.from({ length: count }, (_, n) => `    s${n}: {image: alpine, commands: [a, b]}\n`).join('')

test('an interrupt ends migrate with 130 between two documents, before anything is written', async () => {
  const outputDir = join(await openFolder(), 'moved')
  const interrupted = runMigrate({ text: pipelines(10, 200), outputDir, interruptAt: 'start' })
  expect(await interrupted).toEqual({ code: 130, report: undefined, notes: [] })
  expect(existsSync(outputDir)).toBe(false)
})

test('an interrupt while migrate writes ends it with 130 and a report of what is written', async () => {
  const outputDir = join(await openFolder(), 'moved')
  const { code, notes } = await runMigrate({ text: pipelines(3, 1), outputDir, interruptAt: 'first-line' })
  expect(code).toBe(130)
  expect(notes).toEqual(['1 resource moved (0 with remarks), 0 left.', 'Interrupted: 2 of 3 documents are not in this report.'])
  expect(await readdir(join(outputDir, 'pipelines'))).toEqual(['p0.yaml'])
})
