/** Documents without a clone, run with a work tree. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, type Sandbox } from '../../cli/test/support.ts'
import { runProgram } from '../../../e2e/support/process.ts'

let sandbox: Sandbox
let root: string

beforeAll(async () => {
  sandbox = await openSandbox()
  root = join(sandbox.folder, 'shop')
  await mkdir(root)
  await runProgram('git', ['init', '--quiet', '--initial-branch=main', root])
  await writeFile(join(root, 'price'), 'four\n')
  await runProgram('git', ['-C', root, 'add', 'price'])
  await runProgram('git', ['-C', root, '-c', 'user.name=A', '-c', 'user.email=a@b.c', 'commit', '--quiet', '--message=price'])
  await writeFile(join(root, 'price'), 'five\n')
})

afterAll(() => sandbox[Symbol.asyncDispose]())

async function write(): Promise<string> {
  const path = join(root, 'pipeline.yml')
  await writeFile(
    path,
    `version: '1.0'\nsteps:\n  look:\n    image: ${sandbox.images['SHELL_IMAGE']}\n    commands: [pwd, cat price]\n`,
  )
  return path
}

const environment = {
  env: {
    get XDG_DATA_HOME() {
      return sandbox.folder
    },
  },
}

test('with --source the steps start in the uncommitted work tree, as after main_clone', async () => {
  const path = await write()
  const { code, stdout, stderr } = await sandbox.run(['run', '--local', '-f', path, '--source', root], environment)
  expect(code, stdout + stderr).toBe(0)
  expect(stdout).toContain('Clone the repository')
  expect(stdout).toMatch(/^\/codefresh\/volume\/shop$/m)
  expect(stdout).toMatch(/^five$/m)
})
