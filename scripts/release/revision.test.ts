import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readRevision, requireSignable } from './revision.ts'

test('a changed and an untracked file make a revision dirty, and a dirty one is not signed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-revision-'))
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.test', ...args], { cwd: folder, stdio: 'pipe' })
  try {
    git('init', '--quiet')
    writeFileSync(join(folder, '.gitignore'), '*.log\n')
    git('add', '.')
    git('commit', '--quiet', '--message', 'first')
    writeFileSync(join(folder, 'build.log'), '')
    const clean = readRevision(folder)
    expect(clean).toMatch(/^[0-9a-f]{40}$/)
    requireSignable(clean)
    writeFileSync(join(folder, 'left.yaml'), 'a: 1\n')
    expect(readRevision(folder)).toBe(`${clean}-dirty`)
    expect(() => requireSignable(readRevision(folder))).toThrow('untracked files')
    rmSync(join(folder, 'left.yaml'))
    writeFileSync(join(folder, '.gitignore'), '')
    expect(readRevision(folder)).toBe(`${clean}-dirty`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
