/** `import step-types` from a repository. Runs the command in this process. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { runProgram } from '../../../../e2e/support/process.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { importStepTypes } from '../../src/commands/import/action.ts'
import { readSettings } from '../../src/config.ts'
import { recordOutput } from '../recorded-output.ts'

test('a folder that does not exist is named with what to do', async () => {
  const run = importStepTypes({
    args: ['./nowhere'],
    options: { dryRun: false, overwrite: false },
    out: recordOutput(),
    settings: readSettings({}),
  })
  await expect(run).rejects.toMatchObject({ code: 'file-not-found', details: { hint: 'Check the path.' } })
})

const step = (name: string): string =>
  `version: '1.0'\nkind: step-type\nmetadata: {name: ${name}, version: 1.0.0}\nspec: {steps: {main: {image: x}}}\n`

test('loads the step types of a repository, names those that it leaves out with their paths, and leaves no file behind', async () => {
  await using scene = await openHttpScene()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-import-'))
  try {
    const [repository, temporary] = [join(folder, 'repository'), join(folder, 'temporary')]
    await mkdir(join(repository, 'a'), { recursive: true })
    await mkdir(temporary)
    await writeFile(join(repository, 'a', 'step.yaml'), step('acme/one'))
    await writeFile(join(repository, 'a', 'build.yaml'), step('build'))
    await writeFile(join(repository, 'included.yaml'), step('codefresh-run'))
    await writeFile(join(repository, 'large.yaml'), `${step('acme/large')}# ${'x'.repeat(1_048_576)}`)
    const git = (...words: string[]): Promise<string> =>
      runProgram('git', ['-C', repository, '-c', 'user.name=A', '-c', 'user.email=a@b.c', ...words])
    await git('init', '--quiet', '--initial-branch=main')
    await git('add', '.')
    await git('commit', '--quiet', '--message=steps')
    vi.stubEnv('TMPDIR', temporary)
    const out = recordOutput()
    const settings = readSettings({ ...process.env, WINDLASS_URL: scene.server.url, WINDLASS_API_KEY: scene.adminToken })
    const options = { dryRun: false, overwrite: false }
    expect(await importStepTypes({ args: [`file://${repository}`], options, out, settings })).toBe(1)
    expect(out.lines).toEqual(['step-type/acme/one:1.0.0 created'])
    expect(out.notes).toEqual([
      'skipped: a/build.yaml: "build" is a type of the pipeline language.',
      'skipped: included.yaml: "codefresh-run" is included in Windlass.',
      'skipped: large.yaml: it is larger than 1048576 bytes and is not read.',
      '1 of 4 step types are on the server, 3 skipped.',
    ])
    // What Windlass includes is nobody's loss.
    await git('rm', '--quiet', 'large.yaml')
    await git('commit', '--quiet', '--message=smaller')
    expect(await importStepTypes({ args: [`file://${repository}`], options, out: recordOutput(), settings })).toBe(0)
    expect(await readdir(temporary)).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
