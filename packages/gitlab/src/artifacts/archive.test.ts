import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { extractZip } from '../archive/zip.ts'
import { archiveArtifacts } from './archive.ts'

test('an archive has the wanted files, and does not exist without any', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-archive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of ['project/out', 'result']) mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'project/out/kept'), 'kept')
  writeFileSync(join(folder, 'project/out/left'), 'left')
  const lines: string[] = []
  const archive = (paths: readonly string[], name: string): Promise<void> =>
    archiveArtifacts({
      file: join(folder, 'archives', name),
      folder: join(folder, 'project'),
      paths,
      exclude: ['out/left'],
      untracked: false,
      env: {},
      say: (line) => void lines.push(line),
    })
  await archive(['out'], '0.zip')
  await extractZip(join(folder, 'archives/0.zip'), join(folder, 'result'))
  expect(readFileSync(join(folder, 'result/out/kept'), 'utf8')).toBe('kept')
  expect(existsSync(join(folder, 'result/out/left'))).toBe(false)
  await archive(['none'], '1.zip')
  expect(existsSync(join(folder, 'archives/1.zip'))).toBe(false)
  expect(lines.at(-1)).toBe('ERROR: No files to archive')
})
