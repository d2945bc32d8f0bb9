import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { requireOwnFolder } from './take-artifacts.ts'

function workTree(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'windlass-artifacts-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, '.git'))
  mkdirSync(join(root, 'plain'))
  symlinkSync('.', join(root, 'link'))
  symlinkSync('../..', join(root, 'plain/up'))
  return root
}

test.each(['link', 'link/out', 'plain/up', 'plain/up/out', '.', '.git/..'])(
  'artifacts are not copied to %s of a repository',
  (folder) => {
    const root = workTree()
    expect(() => requireOwnFolder(root, join(root, folder))).toThrow(expect.objectContaining({ code: 'request-invalid' }))
  },
)

test('artifacts are copied to a folder of the repository, and to one outside of it', () => {
  const root = workTree()
  for (const folder of ['plain', 'plain/new', 'new']) requireOwnFolder(root, join(root, folder))
  requireOwnFolder(root, tmpdir())
})
