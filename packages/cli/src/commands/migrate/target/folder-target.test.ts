import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Resource } from '../judge/verdict.ts'
import { fileOf, openFolderTarget } from './folder-target.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-migrate-'))
  folders.push(folder)
  return folder
}

const project = (text: string): Resource => ({
  kind: 'project',
  name: 'demo',
  text,
  body: { name: 'demo', variables: {} },
  masked: [],
})

test('every name has a file of its own inside the folder', () => {
  expect(fileOf({ kind: 'pipeline', name: 'demo/app' })).toBe(join('pipelines', 'demo%2Fapp.yaml'))
  expect(fileOf({ kind: 'step-type', name: 'acme/greet:1.0.0' })).toBe(join('step-types', 'acme%2Fgreet%3A1.0.0.yaml'))
  for (const name of ['a/../../b', '../x', '..', '/etc/passwd', 'a\\..\\b']) {
    const file = fileOf({ kind: 'pipeline', name })
    expect(normalize(file)).toBe(file)
    expect(file).toMatch(/^pipelines[/\\][^/\\]+\.yaml$/)
  }
  const similar = ['App', 'app', 'APP', `a${'/'.repeat(140)}b`, `a${'/'.repeat(140)}c`].map((name) =>
    fileOf({ kind: 'pipeline', name }).toLowerCase(),
  )
  expect(new Set(similar).size).toBe(similar.length)
  for (const file of similar) expect(file.length).toBeLessThan(255)
})

test('writes a file once, says when it is unchanged, and replaces another one only with --overwrite', async () => {
  const folder = openFolder()
  const plain = openFolderTarget(folder, { dryRun: false, overwrite: false })
  const file = join(folder, 'projects', 'demo.yaml')
  expect(await openFolderTarget(folder, { dryRun: true, overwrite: false }).write(project('a\n'))).toEqual({
    done: 'created',
    remarks: [],
  })
  expect(existsSync(file)).toBe(false)
  expect(await plain.write(project('a\n'))).toEqual({ done: 'created', remarks: [] })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await plain.write(project('a\n'))).toEqual({ done: 'unchanged', remarks: [] })
  await expect(plain.write(project('b\n'))).rejects.toMatchObject({ code: 'conflict', message: `${file} has other content.` })
  expect(await openFolderTarget(folder, { dryRun: false, overwrite: true }).write(project('b\n'))).toEqual({
    done: 'configured',
    remarks: [],
  })
  expect(readFileSync(file, 'utf8')).toBe('b\n')
  expect(readdirSync(join(folder, 'projects'))).toEqual(['demo.yaml'])
})

test('a folder that cannot be written is a fault with the file', async () => {
  const folder = openFolder()
  writeFileSync(join(folder, 'projects'), '')
  const target = openFolderTarget(folder, { dryRun: false, overwrite: false })
  await expect(target.write(project('a\n'))).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('demo.yaml cannot be written'),
  })
})
